"""The estimate. Sources: synapse.md ("How the task is decided"), routing.md ("Task", auto-classify)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.calls.estimate import Prompt, measure, tokens
from appliance.dialects.chat import Chat, Format, Image, Message, Role, Text, Tool, ToolCall


def said(role: Role, text: str) -> Message:
    return Message(role, (Text(text),))


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
            said("system", "s" * 10),
            said("user", "u" * 20),
            said("assistant", "a" * 30),
            said("system", "d" * 40),
            said("user", ""),
        )
    )
    assert measure(chat) == Prompt(characters=100, system_characters=50)


@pytest.mark.parametrize(
    ("text", "points"), [("é", 1), ("e\u0301", 2), ("😀", 1), ("👩‍👩‍👧", 5), ("a\x00b", 3), ("", 0)]
)
def test_characters_are_unicode_code_points(text: str, points: int):
    assert measure(Chat((said("user", text),))).characters == points


def test_each_tool_counts_as_compact_json():
    tool = Tool("météo", parameters={"type": "object"})
    written = '{"type":"function","function":{"name":"météo","parameters":{"type":"object"}}}'
    chat = Chat((said("user", "hi"),), tools=(tool, tool))
    assert measure(chat) == Prompt(characters=2 + 2 * len(written), tools=2)


def test_calls_and_results_in_the_conversation_are_seen_and_counted():
    call = Message("assistant", tool_calls=(ToolCall("call_1", "f", "{}"),))
    result = Message("tool", (Text("sunny"),), tool_call_id="call_1", tool_name="f")
    assert measure(Chat((said("user", "hi"), call))) == Prompt(characters=4, tool_turns=True)
    assert measure(Chat((said("user", "hi"), call, result))) == Prompt(characters=9, tool_turns=True)


def test_a_structured_answer_is_json_mode_and_a_picture_has_no_text():
    picture = Message("user", (Text("hi"), Image(b"x" * 1000, "image/png")))
    assert measure(Chat((picture,), format=Format())) == Prompt(characters=2, json_mode=True)
    assert measure(Chat((picture,), format=Format({"type": "object"}))).json_mode


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text())))
def test_how_text_is_spread_over_messages_does_not_matter(turns):
    chat = Chat(tuple(said(role, text) for role, text in turns))
    assert measure(chat).characters == len("".join(text for _, text in turns))
    assert measure(chat).system_characters == len("".join(text for role, text in turns if role == "system"))
