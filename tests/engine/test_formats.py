"""`format`. Source: Ollama 0.32 for what is taken and the sentence for what is not; recordings 17 and 18."""

import json

import pytest

from appliance.engine.formats import grammar_of
from appliance.engine.refusal import Refused
from tests.engine.gbnf_reader import Reader
from tests.engine.recordings import exchange


@pytest.mark.parametrize("form", [None, ""])
def test_what_asks_for_nothing(form: object):
    assert grammar_of(form) is None


def test_json_means_an_object():
    grammar = grammar_of("json")
    assert grammar is not None
    assert grammar.trigger == ""
    assert Reader(grammar.text).accepts('{"a": [1]}')
    assert not Reader(grammar.text).accepts("[1]")


@pytest.mark.parametrize("form", [{}, {"title": "anything"}])
def test_a_schema_that_says_nothing_means_an_object_too(form: object):
    grammar = grammar_of(form)
    assert grammar is not None
    assert not Reader(grammar.text).accepts("1")


@pytest.mark.parametrize("name", ["17-chat-format-json", "18-chat-format-schema"])
def test_recorded_answers_are_sentences_of_the_grammar(name: str):
    recorded = exchange(name)
    grammar = grammar_of(json.loads(recorded.request_body)["format"])
    assert grammar is not None
    assert Reader(grammar.text).accepts(recorded.objects[0]["message"]["content"])


@pytest.mark.parametrize(
    ("form", "quoted"),
    [("xml", r'"\"xml\""'), (3, '"3"'), (True, '"true"'), (["json"], r'"[\"json\"]"'), (1.5, '"1.5"')],
)
def test_what_is_no_format_gets_ollamas_sentence(form: object, quoted: str):
    with pytest.raises(Refused) as caught:
        grammar_of(form)
    assert caught.value.status == 500
    assert caught.value.message == f'invalid format: {quoted}; expected "json" or a valid JSON Schema object'


def test_a_schema_that_cannot_be_honoured_is_refused_and_named():
    with pytest.raises(Refused) as caught:
        grammar_of({"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}})
    assert caught.value.status == 400
    assert caught.value.message == (
        'the schema in format cannot be honoured: #/properties/a uses "uniqueItems", which the engine cannot enforce'
    )
