"""Reading how an answer shall be. Sources: dialects.md §1.1; OpenAI's own types."""

from typing import get_args

import pytest
from openai.types.shared import ReasoningEffort

from appliance.dialects.chat import DialectError, Effort, Format, Sampling
from appliance.dialects.fields import Fields
from appliance.dialects.openai import wishes

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def sampling(**fields: object) -> Sampling:
    return wishes.sampling(Fields(fields))


def read_all(fields: Fields) -> None:
    for read in (wishes.sampling, wishes.choices, wishes.effort, wishes.response_format):
        read(fields)


def refused(**fields: object) -> DialectError:
    with pytest.raises(DialectError) as error:
        read_all(Fields(fields))
    assert error.value.param
    assert f"`{error.value.param}`" in error.value.message
    return error.value


class TestSampling:
    def test_nothing_is_said(self):
        names = ("temperature", "top_p", "seed", "stop", "max_tokens", "max_completion_tokens", "logprobs")
        assert sampling() == sampling(**dict.fromkeys(names)) == Sampling()

    @pytest.mark.parametrize(
        ("name", "low", "high"),
        [("temperature", 0, 2), ("top_p", 0, 1), ("frequency_penalty", -2, 2), ("presence_penalty", -2, 2)],
    )
    def test_numbers(self, name: str, low: int, high: int):
        for value in (low, high, (low + high) / 2):
            assert getattr(sampling(**{name: value}), name) == value
        for value in (low - 0.01, high + 0.01, 1e300, True, "1", [1], {}):
            error = refused(**{name: value})
            assert error.param == name
            assert error.message == f"`{name}` must be a number between {low} and {high}."

    @pytest.mark.parametrize("seed", [0, 7, -1, 2**63 - 1, -(2**63)])
    def test_seed(self, seed: int):
        assert sampling(seed=seed).seed == seed

    @pytest.mark.parametrize("seed", [2**63, -(2**63) - 1, 2**70, True, "7", 1.5])
    def test_a_seed_that_does_not_fit(self, seed: object):
        error = refused(seed=seed)
        assert error.param == "seed"
        assert "an integer" in error.message

    @pytest.mark.parametrize(
        ("stop", "expected"),
        [
            ("\n", ("\n",)),
            (["a", "b"], ("a", "b")),
            ([], ()),
            ("", ()),
            (["a", ""], ("a",)),
            (list("abcdef"), tuple("abcdef")),
        ],
    )
    def test_stop(self, stop: object, expected: tuple[str, ...]):
        assert sampling(stop=stop).stop == expected

    @pytest.mark.parametrize("stop", [1, True, {}, [1], ["a", None], [["a"]]])
    def test_a_wrong_stop(self, stop: object):
        assert refused(stop=stop).param == "stop"

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            # dialects.md §1.1: either, the newer wins; ≤ 0 or null is unset.
            ({"max_tokens": 40}, 40),
            ({"max_completion_tokens": 40}, 40),
            ({"max_tokens": 10, "max_completion_tokens": 40}, 40),
            ({"max_tokens": 10, "max_completion_tokens": None}, 10),
            ({"max_tokens": 10, "max_completion_tokens": 0}, 10),
            ({"max_tokens": -1}, None),
            ({"max_tokens": 0}, None),
            ({}, None),
        ],
    )
    def test_output_ceiling(self, fields: dict[str, object], expected: int | None):
        assert sampling(**fields).max_tokens == expected

    @pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
    @pytest.mark.parametrize("value", [True, "40", 1.5, [], {}])
    def test_a_wrong_ceiling(self, name: str, value: object):
        error = refused(**{name: value})
        assert (error.param, error.message) == (name, f"`{name}` must be an integer.")

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({"logprobs": True}, 0),
            ({"logprobs": True, "top_logprobs": None}, 0),
            ({"logprobs": True, "top_logprobs": 0}, 0),
            ({"logprobs": True, "top_logprobs": 20}, 20),
            ({"logprobs": False}, None),
            ({"logprobs": False, "top_logprobs": 0}, None),
            ({"top_logprobs": 0}, None),
        ],
    )
    def test_chances(self, fields: dict[str, object], expected: int | None):
        assert sampling(**fields).top_logprobs == expected

    @pytest.mark.parametrize(
        ("fields", "param"),
        [
            ({"top_logprobs": 2}, "top_logprobs"),
            ({"logprobs": False, "top_logprobs": 2}, "top_logprobs"),
            ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
            ({"logprobs": True, "top_logprobs": -1}, "top_logprobs"),
            ({"logprobs": True, "top_logprobs": True}, "top_logprobs"),
            # As the older completions have it.
            ({"logprobs": 5}, "logprobs"),
        ],
    )
    def test_wrong_chances(self, fields: dict[str, object], param: str):
        assert refused(**fields).param == param


class TestChoices:
    @pytest.mark.parametrize(("fields", "count"), [({}, 1), ({"n": None}, 1), ({"n": 1}, 1), ({"n": 8}, 8)])
    def test_how_many(self, fields: dict[str, object], count: int):
        assert wishes.choices(Fields(fields)) == count

    @pytest.mark.parametrize("n", [0, -1, 9, True, "2", 1.5, []])
    def test_more_and_other_are_refused(self, n: object):
        assert refused(n=n).param == "n"


class TestEffort:
    def test_the_words_are_those_of_openai(self):
        literal = next(one for one in get_args(ReasoningEffort) if one is not type(None))
        assert set(get_args(Effort)) == set(get_args(literal))

    @pytest.mark.parametrize("effort", get_args(Effort))
    def test_both_places(self, effort: str):
        assert wishes.effort(Fields({"reasoning_effort": effort})) == effort
        assert wishes.effort(Fields({"reasoning": {"effort": effort, "summary": "auto"}})) == effort

    @pytest.mark.parametrize("fields", [{}, {"reasoning": {}}, {"reasoning": None, "reasoning_effort": None}])
    def test_nothing_is_said(self, fields: dict[str, object]):
        assert wishes.effort(Fields(fields)) is None

    @pytest.mark.parametrize(
        ("fields", "param"),
        [
            ({"reasoning_effort": "enormous"}, "reasoning_effort"),
            ({"reasoning_effort": ""}, "reasoning_effort"),
            ({"reasoning_effort": 5}, "reasoning_effort"),
            ({"reasoning_effort": "low", "reasoning": {"effort": "x"}}, "reasoning.effort"),
            ({"reasoning": "low"}, "reasoning"),
        ],
    )
    def test_unknown_words_are_refused(self, fields: dict[str, object], param: str):
        assert refused(**fields).param == param


class TestFormat:
    @pytest.mark.parametrize(
        ("wanted", "form"),
        [
            (None, None),
            ({"type": "text"}, None),
            ({"type": "json_object"}, Format()),
            ({"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}}, Format(SCHEMA)),
            # `llm` leaves `strict` out (dialects.md §3).
            ({"type": "json_schema", "json_schema": {"schema": SCHEMA}}, Format(SCHEMA)),
            ({"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}, Format({})),
            ({"type": "json_object", "schema": SCHEMA}, Format(SCHEMA)),
        ],
    )
    def test_forms(self, wanted: object, form: Format | None):
        assert wishes.response_format(Fields({"response_format": wanted})) == form

    @pytest.mark.parametrize("described", [{"name": "x"}, {"name": "x", "schema": None}, {"name": "x", "strict": True}])
    def test_a_schema_may_be_left_out_as_in_the_api_reference(self, described: dict[str, object]):
        wanted = {"type": "json_schema", "json_schema": described}
        assert wishes.response_format(Fields({"response_format": wanted})) == Format()

    @pytest.mark.parametrize(
        ("wanted", "where"),
        [
            ("json", ""),
            ({}, ".type"),
            ({"type": "grammar"}, ".type"),
            ({"type": 5}, ".type"),
            ({"type": "json_schema"}, ".json_schema"),
            ({"type": "json_schema", "json_schema": SCHEMA}, ".json_schema.schema"),
            ({"type": "json_schema", "json_schema": {"schema": None}}, ".json_schema.schema"),
            ({"type": "json_schema", "json_schema": {"schema": []}}, ".json_schema.schema"),
            ({"type": "json_schema", "json_schema": {"schema": {"type": "text"}}}, ".json_schema.schema"),
            ({"type": "json_schema", "json_schema": {"schema": {"$ref": "http://x/y"}}}, ".json_schema.schema"),
            ({"type": "json_object", "schema": {"type": "text"}}, ".schema"),
        ],
    )
    def test_others_are_refused_by_name(self, wanted: object, where: str):
        assert refused(response_format=wanted).param == f"response_format{where}"
