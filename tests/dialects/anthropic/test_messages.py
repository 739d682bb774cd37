"""Reading turns. Sources: dialects.md §1.2 ("Blocks"); the types of PyPI `anthropic` 2.14.0."""

import base64
import json
from typing import Any

import pytest

from appliance.dialects.anthropic.blocks import Gaps
from appliance.dialects.anthropic.messages import BILLING, MAX_MESSAGES, system, turns
from appliance.dialects.chat import DialectError, Image, Message, Text, ToolCall
from appliance.dialects.fields import Fields

HI = {"role": "user", "content": "hi"}
SAID = Message("user", (Text("hi"),), joint="\n")
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 8
PICTURE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/gif", "data": base64.b64encode(PNG).decode()},
}
Json = dict[str, Any]


def read(*messages: object) -> tuple[Message, ...]:
    gaps = Gaps()
    found = turns(Fields({"messages": json.loads(json.dumps(messages))}), gaps)
    assert gaps.unsaid is None
    return found


def one(**fields: object) -> Message:
    before, found, after = read(HI, fields, HI)
    assert before == after == SAID
    return found


def refused(*messages: object) -> str:
    with pytest.raises(DialectError) as error:
        read(*messages)
    assert error.value.param
    assert f"`{error.value.param}`" in error.value.message
    return error.value.param


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def call(call_id: str = "t1", name: str = "f", **fields: object) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}, **fields}


def result(call_id: str = "t1", **fields: object) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, **fields}


class TestSystem:
    @staticmethod
    def read(value: object) -> tuple[Message, ...]:
        return system(Fields({} if value is None else {"system": value}), Gaps())

    @pytest.mark.parametrize("value", [None, "", [], [text(f"{BILLING} cc_version=2.1; cch=5f3a1;")]])
    def test_where_nothing_is_said_there_is_none(self, value: object):
        assert self.read(value) == ()

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (" be terse\n", " be terse\n"),
            ([text("a"), {**text("b"), "cache_control": {"type": "ephemeral"}}], "a\nb"),
            ([text(f"{BILLING} cc_version=2.1.197.0df;"), text("a")], "a"),
            ([text("a"), text(f"{BILLING} x"), text("b")], "a\nb"),
            # Only a block that begins with it is for accounts.
            ([text(f"What is an {BILLING}?")], f"What is an {BILLING}?"),
        ],
    )
    def test_its_blocks_are_one_text_with_a_newline_between_them(self, value: object, said: str):
        (message,) = self.read(value)
        assert (message.role, message.text) == ("system", said)

    def test_the_blocks_stay_apart(self):
        (message,) = self.read([text("a"), text("b")])
        assert message.parts == (Text("a"), Text("b"))

    @pytest.mark.parametrize(
        ("value", "param"), [(5, "system"), ([5], "system[0]"), ([{"text": "x"}], "system[0].type")]
    )
    def test_anything_else_is_refused_by_name(self, value: object, param: str):
        with pytest.raises(DialectError) as error:
            self.read(value)
        assert error.value.param == param


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("user", SAID),
        ("assistant", Message("assistant", (Text("hi"),))),
        ("system", Message("system", (Text("hi"),), joint="\n")),
    ],
)
def test_roles(role: str, expected: Message):
    assert one(role=role, content="hi") == expected


@pytest.mark.parametrize("role", [None, "", "developer", "tool", "User", 5, ["user"]])
def test_there_are_no_others(role: object):
    assert refused(HI, {"role": role, "content": "x"}) == "messages[1].role"


def test_a_refused_role_is_told_which_there_are():
    with pytest.raises(DialectError, match=r"^`messages\[0\].role` must be one of user, assistant and system\.$"):
        read({"role": "tool", "content": "x"})


def test_order_and_text_are_kept():
    said = [("user", " a\n"), ("assistant", "b\x00"), ("system", "é😀"), ("user", "again"), ("user", "and again")]
    messages = read(*({"role": role, "content": content} for role, content in said))
    assert [(message.role, message.text) for message in messages] == said


def test_there_may_be_as_many_as_a_conversation_has():
    assert len(read(*[HI] * MAX_MESSAGES)) == MAX_MESSAGES
    assert refused(*[HI] * (MAX_MESSAGES + 1)) == "messages"
    assert refused() == "messages"


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
@pytest.mark.parametrize("content", [5, True, {"type": "text", "text": "x"}])
def test_content_is_text_or_blocks(role: str, content: object):
    assert refused(HI, {"role": role, "content": content}) == "messages[1].content"


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
@pytest.mark.parametrize("content", [None, "", []])
def test_a_turn_may_say_nothing(role: Any, content: object):
    message = one(role=role, content=content)
    assert (message.role, message.parts, message.text) == (role, (), "")


@pytest.mark.parametrize(("message", "param"), [("hi", "messages[1]"), (None, "messages[1]"), ([HI], "messages[1]")])
def test_a_message_is_an_object(message: object, param: str):
    assert refused(HI, message) == param


class TestUser:
    def test_texts_and_pictures_keep_their_order_and_texts_are_read_apart(self):
        message = one(role="user", content=[text("what is"), PICTURE, text("this, and"), PICTURE])
        picture = Image(PNG, "image/png")
        assert message.parts == (Text("what is"), picture, Text("this, and"), picture)
        assert message.text == "what is\nthis, and"

    @pytest.mark.parametrize(
        ("block", "where"),
        [
            ({"type": "text"}, ".text"),
            ({"type": "text", "text": 5}, ".text"),
            ({"text": "x"}, ".type"),
            ({"type": 5}, ".type"),
            ("x", ""),
            (None, ""),
        ],
    )
    def test_a_block_that_cannot_be_read_is_refused_by_name(self, block: object, where: str):
        for role in ("user", "assistant", "system"):
            assert refused({"role": role, "content": [text("a"), block]}) == "messages[0].content[1]" + where


class TestResults:
    CALLED: Json = {"role": "assistant", "content": [call("t1", "f"), call("t2", "g")]}  # noqa: RUF012

    def read(self, *blocks: Json) -> tuple[Message, ...]:
        return read(HI, self.CALLED, {"role": "user", "content": [*blocks]})[2:]

    def test_each_is_a_turn_and_the_rest_comes_after_them(self):
        found = self.read(text("a"), result("t2", content="12:00"), text("b"), result("t1", content="21 C"), PICTURE)
        assert found == (
            Message("tool", (Text("12:00"),), tool_call_id="t2", tool_name="g", joint="\n"),
            Message("tool", (Text("21 C"),), tool_call_id="t1", tool_name="f", joint="\n"),
            Message("user", (Text("a"), Text("b"), Image(PNG, "image/png")), joint="\n"),
        )

    def test_without_a_rest_there_is_no_turn_of_the_user(self):
        assert [message.role for message in self.read(result(content="x"))] == ["tool"]

    @pytest.mark.parametrize(
        ("content", "parts"),
        [
            (None, ()),
            ("", ()),
            ([], ()),
            ("21 C", (Text("21 C"),)),
            ([text("a"), PICTURE, text("b")], (Text("a"), Image(PNG, "image/png"), Text("b"))),
            ([{"type": "tool_reference", "tool_name": "mcp__x"}], (Text("mcp__x"),)),
            ([{"type": "document", "title": "t", "source": {"type": "text", "data": "d"}}], (Text("t"), Text("d"))),
            ([{"type": "search_result", "title": "t", "source": "s", "content": [text("c")]}], tuple(map(Text, "tsc"))),
        ],
    )
    def test_what_it_may_hold(self, content: object, parts: tuple[object, ...]):
        assert self.read(result(content=content))[0].parts == parts

    @pytest.mark.parametrize(
        ("fields", "failed"),
        [({}, False), ({"is_error": None}, False), ({"is_error": False}, False), ({"is_error": True}, True)],
    )
    def test_one_of_a_call_that_failed_says_so(self, fields: Json, failed: bool):
        (message,) = self.read(result(content="x", **fields))
        assert message.failed is failed
        assert message.text == "x"
        # dialects.md §1.2: "Error: " before it, where there is no other way to say so.
        assert message.told.text == ("Error: x" if failed else "x")

    @pytest.mark.parametrize(
        ("block", "param"),
        [
            ({"type": "tool_result", "content": "x"}, "tool_use_id"),
            (result(content=5), "content"),
            (result(content={"a": 1}), "content"),
            (result(content="x", is_error="yes"), "is_error"),
            (
                result(content=[{"type": "image", "source": {"type": "url", "url": "http://h/x.png"}}]),
                "content[0].source.url",
            ),
        ],
    )
    def test_what_cannot_be_read_is_refused_by_name(self, block: Json, param: str):
        with pytest.raises(DialectError) as error:
            self.read(block)
        assert error.value.param == f"messages[2].content[0].{param}"

    def test_the_name_is_that_of_the_last_call_with_its_id(self):
        answer = {"role": "user", "content": [result(content="x")]}
        found = read(
            {"role": "user", "content": [result(content="x")]},
            {"role": "assistant", "content": [call("t1", "f")]},
            answer,
            {"role": "assistant", "content": [call("t1", "g")]},
            answer,
        )
        assert [message.tool_name for message in found if message.role == "tool"] == ["", "f", "g"]


class TestAssistant:
    def test_text_calls_and_thoughts(self):
        content = [
            {"type": "thinking", "thinking": "Hm. ", "signature": "s" * 40},
            {"type": "redacted_thinking", "data": "encrypted"},
            text("I look. "),
            {"type": "thinking", "thinking": "So.", "signature": ""},
            call("t1", "f", input={"z": "é", "a": [1.5, None]}),
            text("And again."),
            call("t2", "g", input=None),
        ]
        calls = (ToolCall("t1", "f", '{"z":"é","a":[1.5,null]}'), ToolCall("t2", "g", "{}"))
        expected = Message("assistant", (Text("I look. "), Text("And again.")), calls, reasoning="Hm. So.")
        assert one(role="assistant", content=content) == expected

    def test_its_texts_are_one_without_a_separator(self):
        # The model wrote them one after the other.
        assert one(role="assistant", content=[text("a"), text("b")]).text == "ab"

    def test_what_its_provider_did_is_text(self):
        asked = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "é"}}
        found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"title": "t", "n": 1.0}]}
        message = one(role="assistant", content=[asked, found])
        assert [json.loads(part.text) for part in message.parts if isinstance(part, Text)] == [asked, found]
        assert message.tool_calls == ()

    @pytest.mark.parametrize(
        ("block", "param"),
        [
            ({"type": "thinking"}, "thinking"),
            ({"type": "tool_use", "name": "f", "input": {}}, "id"),
            ({"type": "tool_use", "id": "t1", "input": {}}, "name"),
            (call(input="{}"), "input"),
            (call(input=[]), "input"),
            (call(id=5), "id"),
        ],
    )
    def test_what_cannot_be_read_is_refused_by_name(self, block: Json, param: str):
        assert refused(HI, {"role": "assistant", "content": [block]}) == f"messages[1].content[0].{param}"


@pytest.mark.parametrize(
    ("role", "block"),
    [
        ("user", {"type": "container_upload", "file_id": "f"}),
        ("user", {"type": "thinking", "thinking": "x", "signature": "s"}),
        ("user", call()),
        ("assistant", PICTURE),
        ("assistant", {"type": "document"}),
        ("assistant", result()),
        ("assistant", {"type": "x" * 100}),
        ("system", call()),
    ],
)
def test_a_block_that_no_chat_can_say_is_noted_by_name(role: str, block: Json):
    gaps = Gaps()
    found = turns(Fields({"messages": [HI, {"role": role, "content": [text("a"), block]}]}), gaps)
    assert found[1].text == "a"
    assert gaps.unsaid is not None
    assert gaps.unsaid.param == "messages[1].content[1]"
    assert block["type"][:40] in gaps.unsaid.message
    assert len(gaps.unsaid.message) < 200
