"""The estimate. Sources: synapse.md ("How the task is decided"), routing.md ("Task", auto-classify)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.calls.estimate import Prompt, measure, tokens
from appliance.dialects.chat import Chat, Message


@pytest.mark.parametrize(
    ("characters", "expected"), [(0, 0), (1, 1), (4, 1), (5, 2), (1996, 499), (1997, 500), (2000, 500), (2001, 501)]
)
def test_a_quarter_of_the_characters_rounded_up(characters: int, expected: int):
    assert tokens(characters) == expected


@given(st.integers(0, 10**9))
def test_never_less_than_a_quarter_and_less_than_one_more(characters: int):
    assert characters <= 4 * tokens(characters) < characters + 4


def test_counts_the_callers_text_in_system_and_messages():
    chat = Chat(
        (
            Message("system", "s" * 10),
            Message("user", "u" * 20),
            Message("assistant", "a" * 30),
            Message("system", "d" * 40),
            Message("user", ""),
        )
    )
    assert measure(chat) == Prompt(characters=100, system_characters=50)


@pytest.mark.parametrize(
    ("text", "points"), [("é", 1), ("e\u0301", 2), ("😀", 1), ("👩‍👩‍👧", 5), ("a\x00b", 3), ("", 0)]
)
def test_characters_are_unicode_code_points(text: str, points: int):
    assert measure(Chat((Message("user", text),))).characters == points


def test_each_tool_counts_as_compact_json():
    tool = {"type": "function", "function": {"name": "météo", "parameters": {"type": "object"}}}
    written = '{"type":"function","function":{"name":"météo","parameters":{"type":"object"}}}'
    chat = Chat((Message("user", "hi"),))
    assert json.loads(written) == tool
    assert measure(chat, tools=[tool, tool]) == Prompt(characters=2 + 2 * len(written), tools=2)


def test_what_is_not_text_is_carried_along():
    prompt = measure(Chat((Message("user", "hi"),)), tool_turns=True, json_mode=True)
    assert prompt == Prompt(characters=2, tool_turns=True, json_mode=True)


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text())))
def test_how_text_is_spread_over_messages_does_not_matter(turns):
    chat = Chat(tuple(Message(role, text) for role, text in turns))
    assert measure(chat).characters == len("".join(text for _, text in turns))
    assert measure(chat).system_characters == len("".join(text for role, text in turns if role == "system"))
