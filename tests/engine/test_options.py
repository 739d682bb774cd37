"""`options`. Source: Ollama's documented defaults, and recording 39 for a value of the wrong type."""

import pytest

from appliance.engine.options import MAX_INT, Options, parse_options
from appliance.engine.refusal import Refused


def test_ollamas_defaults_not_llama_cpps():
    assert parse_options({}) == Options(
        num_ctx=None,
        num_predict=None,
        seed=None,
        temperature=0.8,
        top_k=40,
        top_p=0.9,
        min_p=0.0,
        typical_p=1.0,
        repeat_penalty=1.0,
        repeat_last_n=64,
        presence_penalty=0.0,
        frequency_penalty=0.0,
        stop=(),
    )


def test_everything_that_is_given_arrives():
    given = {
        "num_ctx": 2048,
        "num_predict": 12,
        "seed": 42,
        "temperature": 0,
        "top_k": 7,
        "top_p": 0.5,
        "min_p": 0.25,
        "typical_p": 0.75,
        "repeat_penalty": 1.5,
        "repeat_last_n": -1,
        "presence_penalty": 1.25,
        "frequency_penalty": -1.0,
        "stop": ["a", "b"],
    }
    assert parse_options(given) == Options(**given | {"stop": ("a", "b")})


def test_null_is_absent_and_unknown_options_are_ignored():
    assert parse_options({"temperature": None, "stop": None, "mirostat_galore": "x", "num_gqa": []}) == Options()


def test_what_is_usual_holds_where_nothing_is_said():
    usual = {"temperature": 0.0}
    assert parse_options({}, usual).temperature == 0
    assert parse_options({"temperature": None}, usual).temperature == 0
    assert parse_options({"temperature": 0.5}, usual).temperature == 0.5


@pytest.mark.parametrize("value", [0, -1, -2])
def test_no_limit(value: int):
    assert parse_options({"num_ctx": value}) == Options()
    assert parse_options({"num_predict": value}) == Options(num_predict=MAX_INT)


def test_a_negative_seed_is_a_random_one():
    assert parse_options({"seed": -1}).seed is None
    assert parse_options({"seed": 0}).seed == 0


def test_a_fraction_is_cut_and_a_large_number_is_bounded():
    assert parse_options({"top_k": 3.9}).top_k == 3
    assert parse_options({"top_k": 10**18}).top_k == MAX_INT
    assert parse_options({"top_k": -(10**18)}).top_k == -MAX_INT
    assert parse_options({"num_predict": 1e300}).num_predict == MAX_INT


@pytest.mark.parametrize(
    ("option", "value", "kind"),
    [
        *((name, "hot", "float32") for name in ("temperature", "top_p", "min_p", "typical_p", "repeat_penalty")),
        *((name, True, "float32") for name in ("presence_penalty", "frequency_penalty")),
        *((name, "1", "integer") for name in ("num_ctx", "num_predict", "num_keep", "seed", "top_k", "repeat_last_n")),
        *((name, [], "integer") for name in ("num_batch", "num_gpu", "main_gpu", "num_thread", "draft_num_predict")),
        ("seed", False, "integer"),
        ("use_mmap", 1, "boolean"),
        ("stop", "word", "array"),
        ("stop", {}, "array"),
    ],
)
def test_a_value_of_the_wrong_type_is_500_as_recorded(option: str, value: object, kind: str):
    with pytest.raises(Refused) as caught:
        parse_options({option: value})
    assert (caught.value.status, caught.value.message) == (500, f'option "{option}" must be of type {kind}')


def test_a_stop_that_is_not_a_text():
    with pytest.raises(Refused) as caught:
        parse_options({"stop": ["a", 1]})
    assert (caught.value.status, caught.value.message) == (500, 'option "stop" must be of an array of strings')
