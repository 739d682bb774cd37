from dataclasses import replace

from appliance.cluster.addresses import at_url
from appliance.cluster.contexts import DEFAULT_CONTEXT, Contexts
from appliance.cluster.machine import Model

MODEL = Model("m:latest", "digest", 1, frozenset({"completion"}), remote=False, context_length=131_072)
MACHINE = replace(at_url("http://127.0.0.1:1"), models=(MODEL,))


def test_what_is_loaded_is_not_loaded_again():
    assert Contexts().of(replace(MACHINE, loaded={"m": 4096}), MODEL) == 4096


def test_a_model_that_is_not_loaded_gets_the_default_as_far_as_it_can():
    assert Contexts().of(MACHINE, MODEL) == DEFAULT_CONTEXT
    assert Contexts().of(MACHINE, replace(MODEL, context_length=2048)) == 2048
    assert Contexts().of(MACHINE, replace(MODEL, context_length=None)) == DEFAULT_CONTEXT
    assert Contexts().of(replace(MACHINE, loaded={"m": 0}), MODEL) == DEFAULT_CONTEXT


def test_an_administrator_s_least_is_had_as_far_as_the_model_can():
    contexts = Contexts(32_768)
    assert contexts.of(MACHINE, MODEL) == 32_768
    assert Contexts(32_768).of(replace(MACHINE, loaded={"m": 4096}), MODEL) == 32_768
    assert Contexts(32_768).of(replace(MACHINE, loaded={"m": 65_536}), MODEL) == 65_536
    assert Contexts(32_768).of(MACHINE, replace(MODEL, context_length=2048)) == 2048


def test_it_never_changes_once_it_is_chosen():
    contexts = Contexts()
    assert contexts.of(MACHINE, MODEL) == DEFAULT_CONTEXT
    assert contexts.of(replace(MACHINE, loaded={"m": 4096}), MODEL) == DEFAULT_CONTEXT


def test_each_machine_and_each_version_of_a_model_has_its_own():
    contexts = Contexts()
    contexts.of(MACHINE, MODEL)
    other = replace(at_url("http://127.0.0.1:2"), loaded={"m": 16_384})
    assert contexts.of(other, MODEL) == 16_384
    assert contexts.of(replace(MACHINE, loaded={"m": 1024}), replace(MODEL, digest="new")) == 1024


def test_to_ask_what_a_call_would_get_chooses_nothing():
    contexts = Contexts()
    assert contexts.expected(MACHINE, MODEL) == DEFAULT_CONTEXT
    assert contexts.of(replace(MACHINE, loaded={"m": 4096}), MODEL) == 4096
    assert contexts.expected(MACHINE, MODEL) == 4096


def test_what_a_server_of_another_kind_says_is_expected_of_it():
    server = replace(MACHINE, kind="openai-compatible")
    assert Contexts(32_768).expected(server, MODEL) == Contexts(32_768).of(server, MODEL) == 131_072
    assert Contexts().expected(server, replace(MODEL, context_length=None)) == 0
