"""Grammars in llama.cpp's notation. Source: llama.cpp's grammar guide; RFC 8259 for JSON."""

import json
import random

import pytest

from appliance.engine.gbnf import (
    COMPACT_SPACE,
    MAX_RULES,
    PRETTY_SPACE,
    Rules,
    TooLarge,
    json_grammar,
    json_literal,
    literal,
    repeated,
)
from tests.engine.gbnf_reader import Reader

OBJECTS = [
    "{}",
    '{"city": "Paris"}',
    '{\n  "a": [1, -2.5e+3, "é\\n\\u00e9\\"", true, false, null],\n  "b": {"c": {}}\n}',
    '{"a":1,"a":2}',
]


@pytest.mark.parametrize("text", OBJECTS)
def test_any_json_object(text: str):
    json.loads(text)
    assert Reader(json_grammar().text).accepts(text)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '"a"', "1", "{", '{"a"}', '{"a":01}', '{"a":.5}', "{'a':1}", '{"a":"\n"}', '{"a":1,}', '{"a":1} x'],
)
def test_nothing_else(text: str):
    assert not Reader(json_grammar().text).accepts(text)


def test_every_sentence_is_json():
    reader = Reader(json_grammar().text)
    chance = random.Random(1)
    for _ in range(200):
        assert isinstance(json.loads(reader.sentence(chance)), dict)


def test_blanks_are_bounded():
    reader = Reader(json_grammar().text)
    assert reader.accepts("{\n\n" + " " * 20 + '"a": 1}')
    assert not reader.accepts("{" + "\n" * 5 + "}")


@pytest.mark.parametrize("text", ["plain", 'a "quoted" \\ word', "line\nline", "\x00\x1f\x7f", "été 日本"])
def test_a_literal_is_itself_alone(text: str):
    rules = Rules(COMPACT_SPACE)
    reader = Reader(rules.grammar(literal(text)).text)
    assert reader.accepts(text)
    assert not reader.accepts(text + "x")


@pytest.mark.parametrize("value", ["a\nb", 'q"', 3, -1.5, True, None, {"a": [1, "é"]}])
def test_a_json_value_in_one_way(value: object):
    reader = Reader(Rules(PRETTY_SPACE).grammar(json_literal(value)).text)
    sentence = reader.sentence(random.Random(1))
    assert json.loads(sentence) == value
    assert reader.accepts(sentence)


def test_how_often():
    assert repeated("x", 0, None) == "x*"
    assert repeated("x", 2, None) == "x{2,}"
    assert repeated("x", 0, 3) == "x{0,3}"


def test_a_rule_may_refer_to_itself():
    rules = Rules(COMPACT_SPACE)
    name = rules.reserve("list")
    rules.define(name, f'"x" {name}?')
    reader = Reader(rules.grammar(name).text)
    assert reader.accepts("xxx")
    assert not reader.accepts("")


def test_a_grammar_has_an_end():
    rules = Rules(COMPACT_SPACE)
    with pytest.raises(TooLarge):
        [rules.add("x", '"x"') for _ in range(MAX_RULES + 1)]


def test_a_trigger_is_kept():
    assert Rules(COMPACT_SPACE).grammar('"x"', trigger="x").trigger == "x"
    assert json_grammar().trigger == ""
