"""Reading messages. Sources: dialects.md §1.1 ("Messages") and §4.5; OpenAI's own types."""

import base64
import json
from typing import Any

import pytest

from appliance.dialects.chat import DialectError, Image, Message, Text, ToolCall
from appliance.dialects.fields import Fields
from appliance.dialects.openai.messages import MAX_MESSAGES, parse

HI = {"role": "user", "content": "hi"}
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 8
PNG_URL = "data:image/png;base64," + base64.b64encode(PNG).decode()


def read(*messages: object) -> tuple[Message, ...]:
    return parse(Fields({"messages": json.loads(json.dumps(messages))}))


def one(**fields: object) -> Message:
    return read(HI, fields, HI)[1]


def refused(*messages: object) -> DialectError:
    with pytest.raises(DialectError) as error:
        read(*messages)
    assert f"`{error.value.param}`" in error.value.message
    return error.value


def called(**function: object) -> dict[str, object]:
    return {"id": "c1", "type": "function", "function": function}


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("system", "system"),
        ("developer", "system"),
        ("user", "user"),
        ("assistant", "assistant"),
        ("tool", "tool"),
        ("function", "tool"),
    ],
)
def test_roles(role: str, expected: Any):
    assert read({"role": role, "content": "x"}) == (Message(expected, (Text("x"),)),)


def test_order_and_text_are_kept():
    turns = [("system", " be terse\n"), ("user", "a\x00b"), ("assistant", ""), ("user", "é😀"), ("user", "again")]
    messages = read(*({"role": role, "content": text} for role, text in turns))
    assert [(message.role, message.text) for message in messages] == turns


class TestParts:
    @pytest.mark.parametrize(
        ("content", "text"),
        [
            ([{"type": "text", "text": "a"}], "a"),
            ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "text", "text": ""}], "ab"),
            ([{"type": "text", "text": "a\n", "cache_control": {}}, {"type": "text", "text": "b"}], "a\nb"),
            ([], ""),
        ],
    )
    @pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
    def test_text_in_parts_has_nothing_added(self, role: str, content: object, text: str):
        assert one(role=role, content=content).text == text

    def test_text_and_pictures_keep_their_order(self):
        content = [
            {"type": "text", "text": "what is"},
            {"type": "image_url", "image_url": {"url": PNG_URL, "detail": "low"}},
            {"type": "text", "text": "this, and"},
            {"type": "image_url", "image_url": PNG_URL},
        ]
        picture = Image(PNG, "image/png")
        assert one(role="user", content=content).parts == (Text("what is"), picture, Text("this, and"), picture)

    def test_a_tool_may_give_a_picture(self):
        content = [{"type": "image_url", "image_url": {"url": PNG_URL}}]
        assert one(role="tool", content=content).parts == (Image(PNG, "image/png"),)

    @pytest.mark.parametrize(
        ("part", "where"),
        [
            ({"type": "image_url", "image_url": {"url": "http://127.0.0.1/x.png"}}, ".image_url.url"),
            ({"type": "image_url", "image_url": "/etc/passwd"}, ".image_url"),
            ({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}, ".image_url.url"),
            ({"type": "image_url", "image_url": {}}, ".image_url.url"),
            ({"type": "image_url", "image_url": None}, ".image_url"),
            ({"type": "image_url", "image_url": 5}, ".image_url"),
            ({"type": "image_url"}, ".image_url"),
            *(({"type": kind, kind: {}}, "") for kind in ("input_audio", "file", "input_file", "video_url", "refusal")),
            ({"type": "input_text", "text": "x"}, ""),
            ({"type": "input_image", "image_url": PNG_URL}, ""),
            (None, ""),
            (5, ""),
            ({"text": "x"}, ".type"),
            ({"type": 5}, ".type"),
            ({"type": "text"}, ".text"),
            ({"type": "text", "text": 1}, ".text"),
        ],
    )
    def test_what_cannot_be_read_is_refused_by_name(self, part: object, where: str):
        error = refused(HI, {"role": "user", "content": [{"type": "text", "text": "x"}, part]})
        assert error.param == "messages[1].content[1]" + where

    @pytest.mark.parametrize("role", ["system", "developer", "assistant"])
    def test_no_pictures_but_from_users_and_tools(self, role: str):
        part = {"type": "image_url", "image_url": {"url": PNG_URL}}
        assert refused({"role": role, "content": [part]}).param == "messages[0].content[0]"

    def test_texts_alone_are_parts_too(self):
        assert one(role="user", content=["a", {"type": "text", "text": "b"}]).parts == (Text("a"), Text("b"))

    @pytest.mark.parametrize("role", ["user", "system", "assistant", "tool"])
    def test_a_turn_that_said_nothing_is_played_back_as_null(self, role: str):
        assert one(role=role, content=None).parts == ()

    @pytest.mark.parametrize("content", [1, {"type": "text", "text": "x"}, True])
    @pytest.mark.parametrize("role", ["user", "system", "developer"])
    def test_content_is_needed(self, role: str, content: object):
        assert refused(HI, {"role": role, "content": content}).param == "messages[1].content"
        assert refused(HI, {"role": role}).param == "messages[1].content"


class TestAssistant:
    @pytest.mark.parametrize(
        ("message", "text"),
        [
            ({"content": None}, ""),
            ({}, ""),
            ({"content": ""}, ""),
            ({"content": "hi", "refusal": None, "audio": None, "function_call": None, "tool_calls": None}, "hi"),
            ({"content": "hi", "tool_calls": [], "annotations": []}, "hi"),
            ({"content": None, "refusal": "I will not."}, "I will not."),
            ({"content": [{"type": "text", "text": "Hm. "}, {"type": "refusal", "refusal": "No."}]}, "Hm. No."),
        ],
    )
    def test_a_turn_as_clients_play_it_back(self, message: dict[str, object], text: str):
        read = one(role="assistant", **message)
        assert (read.text, read.tool_calls, read.reasoning) == (text, (), "")

    @pytest.mark.parametrize(
        "fields",
        [
            {"reasoning": "Hm."},
            {"reasoning_content": "Hm."},
            {"reasoning": "Hm.", "reasoning_content": "Hm."},
            {"reasoning": None, "reasoning_content": "Hm."},
        ],
    )
    def test_reasoning_is_played_back(self, fields: dict[str, object]):
        assert one(role="assistant", content="8", **fields).reasoning == "Hm."

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ('{"city": "Paris"}', '{"city": "Paris"}'),
            ("", ""),
            # Broken histories (litellm#33678): kept, and never an error.
            ('{"city": "Par', '{"city": "Par'),
            ('{"a":1}{"b":2}', '{"a":1}{"b":2}'),
            ("not JSON", "not JSON"),
            (None, ""),
            ({"city": "Paris", "b": [1]}, '{"city":"Paris","b":[1]}'),
            ([], "[]"),
        ],
    )
    def test_arguments_are_kept_as_they_are(self, arguments: object, text: str):
        call = called(name="f", arguments=arguments)
        assert one(role="assistant", content=None, tool_calls=[call]).tool_calls == (ToolCall("c1", "f", text),)

    def test_several_calls_in_order(self):
        calls = [called(name="f", arguments="{}"), {"function": {"name": "g"}}, {**called(name="h"), "id": None}]
        assert one(role="assistant", tool_calls=calls).tool_calls == (
            ToolCall("c1", "f", "{}"),
            ToolCall("", "g", ""),
            ToolCall("", "h", ""),
        )

    def test_the_older_word_for_a_call(self):
        message = one(role="assistant", content=None, function_call={"name": "f", "arguments": "{}"})
        assert message.tool_calls == (ToolCall("", "f", "{}"),)

    @pytest.mark.parametrize(
        ("message", "param"),
        [
            ({"audio": {"id": "a1"}}, "audio"),
            ({"refusal": 1}, "refusal"),
            ({"reasoning": 1}, "reasoning"),
            ({"tool_calls": {}}, "tool_calls"),
            ({"tool_calls": ["f"]}, "tool_calls[0]"),
            ({"tool_calls": [{"function": {"name": 5}}]}, "tool_calls[0].function.name"),
            ({"tool_calls": [{"id": 5, "function": {"name": "f"}}]}, "tool_calls[0].id"),
            ({"tool_calls": [{"type": "custom", "custom": {"name": "f", "input": "x"}}]}, "tool_calls[0].type"),
            ({"function_call": "f"}, "function_call"),
        ],
    )
    def test_what_has_no_meaning_is_refused_by_name(self, message: dict[str, object], param: str):
        assert refused(HI, {"role": "assistant", "content": "x", **message}).param == f"messages[1].{param}"

    @pytest.mark.parametrize(
        "call",
        [{"id": "c1"}, {"id": "c1", "function": {}}, {"id": "c1", "function": {"name": None, "arguments": "{}"}}],
    )
    def test_a_broken_call_of_a_history_is_kept_as_it_is(self, call: dict[str, object]):
        (kept,) = one(role="assistant", content=None, tool_calls=[call]).tool_calls
        assert (kept.id, kept.name) == ("c1", "")


class TestToolResults:
    @pytest.mark.parametrize(
        ("content", "text"),
        [
            ({"temperature": 21}, '{"temperature":21}'),
            (21, "21"),
            (True, "true"),
            ([{"a": 1}, 2], '[{"a":1},2]'),
            (["a", "b"], "ab"),
            ([], ""),
        ],
    )
    def test_a_result_that_is_no_text_is_its_json(self, content: object, text: str):
        assert one(role="tool", tool_call_id="c1", content=content).text == text

    def test_the_name_is_that_of_the_call(self):
        calls = [called(name="get_weather"), {"id": "c2", "function": {"name": "get_time"}}]
        messages = read(
            HI,
            {"role": "assistant", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "c2", "content": "12:00"},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "21 C"}]},
        )
        assert messages[2:] == (
            Message("tool", (Text("12:00"),), tool_call_id="c2", tool_name="get_time"),
            Message("tool", (Text("21 C"),), tool_call_id="c1", tool_name="get_weather"),
        )

    def test_the_last_call_of_an_id_wins(self):
        result = {"role": "tool", "tool_call_id": "c1", "content": "x"}
        first, second = called(name="f"), called(name="g")
        messages = read(
            {"role": "assistant", "tool_calls": [first]}, result, {"role": "assistant", "tool_calls": [second]}, result
        )
        assert [message.tool_name for message in messages if message.role == "tool"] == ["f", "g"]

    @pytest.mark.parametrize(
        ("fields", "tool_call_id", "tool_name"),
        [
            ({"tool_call_id": "unknown"}, "unknown", ""),
            ({"tool_call_id": "unknown", "name": "f"}, "unknown", "f"),
            ({}, "", ""),
            ({"name": "f"}, "", "f"),
        ],
    )
    def test_a_result_of_an_unknown_call(self, fields: dict[str, object], tool_call_id: str, tool_name: str):
        message = one(role="tool", content="x", **fields)
        assert (message.tool_call_id, message.tool_name) == (tool_call_id, tool_name)

    def test_the_older_word_for_a_result(self):
        assert one(role="function", name="f", content="x") == Message("tool", (Text("x"),), tool_name="f")

    @pytest.mark.parametrize("content", [None, "", []])
    def test_a_tool_that_said_nothing(self, content: object):
        assert one(role="tool", tool_call_id="c1", content=content).text == ""

    @pytest.mark.parametrize(
        ("fields", "param"),
        [
            ({"content": "x", "tool_call_id": 5}, "tool_call_id"),
            ({"content": "x", "name": []}, "name"),
        ],
    )
    def test_wrong_types_are_named(self, fields: dict[str, object], param: str):
        assert refused(HI, {"role": "tool", **fields}).param == f"messages[1].{param}"


class TestThereMustBeMessages:
    @pytest.mark.parametrize("messages", [None, [], {}, "hi", 0])
    def test_a_list_with_one_at_least(self, messages: object):
        with pytest.raises(DialectError) as error:
            parse(Fields({"messages": messages}))
        assert error.value.param == "messages"

    @pytest.mark.parametrize("value", ["hi", [{"role": "user", "content": "hi"}], []])
    def test_a_body_of_the_responses_api_is_told_what_to_change(self, value: object):
        with pytest.raises(DialectError) as error:
            parse(Fields({"model": "x", "input": value}))
        assert error.value.param == "messages"
        assert "Responses API" in error.value.message
        assert "Chat Completions API" in error.value.message

    @pytest.mark.parametrize(
        ("message", "param"),
        [
            ("hi", "messages[1]"),
            (None, "messages[1]"),
            ([], "messages[1]"),
            ({"content": "x"}, "messages[1].role"),
            ({"role": 1, "content": "x"}, "messages[1].role"),
            ({"role": "martian", "content": "x"}, "messages[1].role"),
            ({"role": "User", "content": "x"}, "messages[1].role"),
        ],
    )
    def test_wrong_messages_are_named(self, message: object, param: str):
        assert refused(HI, message).param == param

    def test_no_more_of_them_than_any_conversation_has(self):
        assert refused(*[HI] * (MAX_MESSAGES + 1)).param == "messages"
        assert len(parse(Fields({"messages": [HI] * MAX_MESSAGES}))) == MAX_MESSAGES
