"""Grammars in llama.cpp's notation. Source: llama.cpp's grammar guide; RFC 8259 for JSON."""

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.engine.gbnf import (
    COMPACT_SPACE,
    MAX_CHARACTERS,
    MAX_REPEATS,
    MAX_RULES,
    MAX_STEPS,
    MAX_WIDTH,
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


def test_work_has_an_end():
    rules = Rules(COMPACT_SPACE)
    rules.spend(MAX_STEPS)
    with pytest.raises(TooLarge):
        rules.spend(1)


def test_the_text_has_an_end():
    rules = Rules(COMPACT_SPACE)
    with pytest.raises(TooLarge):
        rules.add("x", "x" * (MAX_CHARACTERS + 1))
    with pytest.raises(TooLarge):
        Rules(COMPACT_SPACE).one_of(["x" * MAX_CHARACTERS, "y"])


def test_a_rule_has_no_more_alternatives_open_than_a_token_can_be_held_against():
    rules = Rules(COMPACT_SPACE)
    name = rules.add("x", '"x"', MAX_WIDTH)
    assert rules.width(name) == MAX_WIDTH
    assert rules.width("string") == 1
    with pytest.raises(TooLarge):
        rules.add("x", '"x"', MAX_WIDTH + 1)


@given(st.lists(st.text(st.sampled_from('ab"\\1'), max_size=6), min_size=1))
def test_one_of_some_texts_is_each_of_them_and_nothing_else(texts: list[str]):
    rules = Rules(COMPACT_SPACE)
    reader = Reader(rules.grammar(rules.one_of(texts)).text)
    tried = {*texts, *(text[:-1] for text in texts), *(text + "a" for text in texts), *(text[1:] for text in texts)}
    assert {text for text in tried if reader.accepts(text)} == set(texts)


def test_texts_that_begin_alike_are_open_once():
    rules = Rules(COMPACT_SPACE)
    assert rules.width(rules.one_of([f"value-{number:04d}" for number in range(4000)])) == 10
    assert rules.width(rules.one_of(["a" * size for size in range(1, 100)])) > 10  # groups end somewhere
    with pytest.raises(TooLarge):
        rules.one_of([chr(0x4E00 + number) for number in range(MAX_WIDTH + 1)])


LARGE = 3 * MAX_REPEATS + 7


@pytest.mark.parametrize(
    ("least", "most"),
    [
        (0, 5),
        (2, None),
        (0, MAX_REPEATS - 1),
        (0, MAX_REPEATS),
        (0, LARGE),
        (5, LARGE),
        (MAX_REPEATS, MAX_REPEATS),
        (LARGE, None),
        (LARGE, LARGE),
        (LARGE, LARGE + 1),
        (MAX_REPEATS + 1, 2 * LARGE),
    ],
)
def test_a_count_holds_to_the_letter_and_no_repetition_is_too_large_for_llama_cpp(least: int, most: int | None):
    rules = Rules(COMPACT_SPACE)
    text = rules.grammar(rules.repeat('"x"', least, most)).text
    assert max(int(number) for number in re.findall(r"\d+(?=[,}])", text)) < 2000
    reader = Reader(text)
    edges = {0, 1, MAX_REPEATS - 1, MAX_REPEATS, MAX_REPEATS + 1, least - 1, least, least + 1, least + MAX_REPEATS}
    edges |= {2 * LARGE + 1} if most is None else {most - 1, most, most + 1, most - MAX_REPEATS, most + MAX_REPEATS}
    for size in (edge for edge in edges if edge >= 0):
        assert reader.accepts("x" * size) == (least <= size and (most is None or size <= most)), size


def test_repetitions_count_as_what_llama_cpp_makes_of_them():
    rules = Rules(COMPACT_SPACE)
    assert rules.repeat("char", 0, 900) == rules.repeat("char", 0, 900)
    with pytest.raises(TooLarge):
        [rules.repeat(f'"{number}"', 0, 900) for number in range(MAX_CHARACTERS // 900 + 1)]


def test_rules_can_be_taken_back():
    rules = Rules(COMPACT_SPACE)
    kept = rules.add("kept", '"a"')
    mark = rules.mark()
    repeat = rules.repeat('"x"', 0, 5)
    rules.add("large", "x" * (MAX_CHARACTERS // 2))
    rules.take_back(mark)
    assert kept in rules.grammar(kept).text
    assert repeat not in rules.grammar(kept).text
    rules.add("large", "x" * (MAX_CHARACTERS // 2))
    again = rules.repeat('"x"', 0, 5)
    assert f"{again} ::= " in rules.grammar(again).text
