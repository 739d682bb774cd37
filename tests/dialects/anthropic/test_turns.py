"""Turns as Anthropic takes them. Sources: dialects.md §1.2 ("To real Anthropic") and §4; `anthropic_rules`."""

import base64
import time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.anthropic.turns import CANCELLED, OPENING, Conversation, conversation
from appliance.dialects.chat import DialectError, Image, Message, Role, Text, ToolCall
from tests.upstreams.anthropic_rules import problem

PNG = Image(b"\x89PNG\r\n\x1a\n\x00", "image/png")


def said(role: Role, *texts: str) -> Message:
    return Message(role, tuple(Text(text) for text in texts))


def call(*calls: tuple[str, str], text: str = "", arguments: str = "{}") -> Message:
    parts = (Text(text),) if text else ()
    return Message("assistant", parts, tuple(ToolCall(call_id, name, arguments) for call_id, name in calls))


def result(call_id: str, text: str, name: str = "") -> Message:
    return Message("tool", (Text(text),) if text else (), tool_call_id=call_id, tool_name=name)


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def use(call_id: str, name: str = "f", value: object = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": value or {}}


def answer(call_id: str, *texts: str) -> dict[str, Any]:
    content = {"content": [text(one) for one in texts]} if texts else {}
    return {"type": "tool_result", "tool_use_id": call_id, **content}


def cancelled(call_id: str) -> dict[str, Any]:
    return {**answer(call_id, CANCELLED), "is_error": True}


def converted(*messages: Message) -> Conversation:
    """What the API would be sent, which it would take."""
    made = conversation(messages)
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    body = {"model": "m", "max_tokens": 1, "system": made.system, "messages": made.messages, "tools": tools}
    assert problem(orjson.loads(orjson.dumps(body))) is None
    return made


def turns(*messages: Message) -> list[tuple[str, list[Any]]]:
    written = orjson.loads(orjson.dumps(converted(*messages).messages))
    return [(message["role"], message["content"]) for message in written]


class TestRoles:
    def test_system_messages_leave_the_turns_wherever_they_stand(self):
        made = converted(
            said("system", "a"), said("user", "x"), said("system", "b\n"), said("assistant", "y"), said("user", "z")
        )
        assert made.system == [text("a"), text("b\n")]
        assert [message["role"] for message in made.messages] == ["user", "assistant", "user"]

    def test_turns_of_one_role_are_merged_block_by_block(self):
        assert turns(said("user", "a"), said("user", "b"), said("assistant", "c"), said("assistant", "d")) == [
            ("user", [text("a"), text("b")]),
            ("assistant", [text("c"), text("d")]),
        ]

    def test_the_user_opens(self):
        assert turns(said("assistant", "Hello!"), said("user", "Hi.")) == [
            ("user", [text(OPENING)]),
            ("assistant", [text("Hello!")]),
            ("user", [text("Hi.")]),
        ]

    def test_an_instruction_alone_is_the_turn_of_the_user(self):
        made = converted(said("system", "Write a poem."), said("user", " "))
        assert (made.system, made.messages) == ([], [{"role": "user", "content": [text("Write a poem.")]}])


class TestContent:
    def test_pictures_stay_between_their_texts(self):
        ((_, content),) = turns(Message("user", (Text("what is "), PNG, Text("this"))))
        source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG.data).decode()}
        assert content == [text("what is "), {"type": "image", "source": source}, text("this")]

    def test_a_gif_is_a_picture_too(self):
        ((_, (picture,)),) = turns(Message("user", (Image(b"GIF89a", "image/gif"),)))
        assert picture["source"] == {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"}

    def test_neighbouring_texts_keep_the_blanks_between_them(self):
        assert turns(said("user", "a", " \n", "b")) == [("user", [text("a \nb")])]

    @pytest.mark.parametrize("blank", [(), ("",), (" \n",)])
    def test_blank_text_is_left_out(self, blank: tuple[str, ...]):
        """hermes-agent#11906: an empty text block is a 400."""
        assert turns(said("user", "a"), said("assistant", *blank), said("system", *blank), said("user", "b")) == [
            ("user", [text("a"), text("b")])
        ]

    @pytest.mark.parametrize("role", ["assistant", "system"])
    def test_pictures_are_of_users_and_tools(self, role: Role):
        with pytest.raises(DialectError) as refused:
            conversation([said("user", "a"), Message(role, (PNG,))])
        assert refused.value.param == "messages[1].content"

    def test_reasoning_that_is_not_signed_is_left_out(self):
        """CLIProxyAPI#2172: the API refuses thinking that it did not sign itself."""
        thought = Message("assistant", (Text("b"),), reasoning="hm")
        assert turns(said("user", "a"), thought, said("user", "c"))[1] == ("assistant", [text("b")])

    def test_the_last_words_of_an_assistant_end_without_whitespace(self):
        """forgecode#1872; earlier turns keep theirs."""
        made = turns(said("user", "a "), said("assistant", "b "), said("user", "c"), said("assistant", " d", " \n"))
        assert [content[0]["text"] for _, content in made] == ["a ", "b ", "c", " d"]


class TestNothingToAnswer:
    def test_no_text_at_all(self):
        with pytest.raises(DialectError) as refused:
            conversation([said("user", ""), said("assistant", " ")])
        assert refused.value.param == "messages"

    def test_a_blank_last_turn_does_not_let_the_model_go_on_with_its_own(self):
        with pytest.raises(DialectError) as refused:
            conversation([said("user", "a"), said("assistant", "b"), said("user", " ")])
        assert refused.value.param == "messages[2].content"
        assert "`messages[2].content`" in refused.value.message


class TestCalls:
    def test_calls_and_results_in_order_of_the_results(self):
        made = turns(
            said("user", "go"),
            call(("c1", "f"), ("c2", "g"), text="Looking.", arguments='{"a": 1}'),
            result("c2", "two"),
            result("c1", "one"),
            said("user", "well?"),
        )
        assert made[1:] == [
            ("assistant", [text("Looking."), use("c1", "f", {"a": 1}), use("c2", "g", {"a": 1})]),
            ("user", [answer("c2", "two"), answer("c1", "one"), text("well?")]),
        ]

    def test_results_come_before_what_the_user_said_meanwhile(self):
        made = turns(said("user", "go"), call(("c1", "f")), said("user", "hurry"), result("c1", "one"))
        assert made[2] == ("user", [answer("c1", "one"), text("hurry")])

    def test_a_result_that_comes_late_is_what_the_user_says(self):
        """Moved up to its call it would leave the assistant with the last word, and no answer would come."""
        made = turns(
            said("user", "go"), call(("c1", "f")), said("user", "?"), said("assistant", "wait"), result("c1", "one")
        )
        assert made[2] == ("user", [cancelled("c1"), text("?")])
        assert made[4] == ("user", [text("one")])

    def test_so_is_a_second_result_that_comes_late(self):
        made = turns(
            said("user", "go"), call(("c1", "f")), result("c1", "one"), said("assistant", "so"), result("c1", "more")
        )
        assert [content for _, content in made[2:]] == [[answer("c1", "one")], [text("so")], [text("more")]]

    def test_a_call_without_result_is_cancelled(self):
        made = turns(said("user", "go"), call(("c1", "f"), ("c2", "f")), result("c1", "one"), said("user", "and?"))
        assert made[2] == ("user", [answer("c1", "one"), cancelled("c2"), text("and?")])

    def test_a_call_at_the_end_is_cancelled_too(self):
        assert turns(said("user", "go"), call(("c1", "f")))[2] == ("user", [cancelled("c1")])

    def test_calls_come_last_in_their_turn(self):
        """vercel/ai#13013: text behind a call hides its result."""
        made = turns(said("user", "go"), call(("c1", "f")), said("assistant", "b"), call(("c2", "f")))
        assert made[1] == ("assistant", [text("b"), use("c1"), use("c2")])

    def test_a_result_of_nothing_is_what_a_user_says(self):
        """A client that cuts old turns off may leave a result behind; its text is not lost."""
        assert turns(result("gone", "21 C"), said("user", "so?")) == [("user", [text("21 C"), text("so?")])]

    def test_a_result_may_be_empty(self):
        assert turns(said("user", "go"), call(("c1", "f")), result("c1", ""))[2] == ("user", [answer("c1")])

    def test_a_second_result_is_added_to_the_first(self):
        made = turns(said("user", "go"), call(("c1", "f")), result("c1", "one"), result("c1", "more"))
        assert made[2] == ("user", [answer("c1", "one", "more")])

    def test_a_second_result_is_not_lost_where_the_first_was_empty(self):
        made = turns(said("user", "go"), call(("c1", "f")), result("c1", ""), result("c1", "more"))
        assert made[2] == ("user", [answer("c1", "more")])

    def test_a_picture_may_be_a_result(self):
        picture = Message("tool", (Text("here:"), PNG), tool_call_id="c1")
        ((_, content),) = turns(said("user", "go"), call(("c1", "f")), picture)[2:]
        assert [one["type"] for one in content[0]["content"]] == ["text", "image"]

    def test_functions_as_they_were_before_tools_are_matched_by_name(self):
        made = turns(said("user", "go"), call(("", "f"), ("", "g")), result("", "g's", "g"), result("", "f's", "f"))
        used, given = made[1][1], made[2][1]
        assert [one["name"] for one in used] == ["f", "g"]
        assert [(one["tool_use_id"], one["content"][0]["text"]) for one in given] == [
            (used[1]["id"], "g's"),
            (used[0]["id"], "f's"),
        ]

    @pytest.mark.parametrize("arguments", ["{", "[1]", "null", "text"])
    def test_broken_arguments_do_not_end_the_chat(self, arguments: str):
        """litellm#33678."""
        made = turns(said("user", "go"), call(("c1", "f"), arguments=arguments))
        assert made[1] == ("assistant", [use("c1", "f", {"_raw": arguments})])

    def test_names_are_of_the_characters_that_the_api_takes(self):
        made = turns(said("user", "go"), call(("c1", "web.søk"), ("c2", ""), ("c3", "x" * 200)))
        assert [one["name"] for one in made[1][1]] == ["web_s_k", "tool", "x" * 128]

    def test_the_tools_that_were_called(self):
        made = conversation([said("user", "go"), call(("1", "g"), ("2", "f"), ("3", "g"))])
        assert made.called == ("g", "f")


class TestIds:
    def test_valid_ones_stay(self):
        made = turns(said("user", "go"), call(("call_aZ-9", "f")), result("call_aZ-9", "x"))
        assert (made[1][1][0]["id"], made[2][1][0]["tool_use_id"]) == ("call_aZ-9", "call_aZ-9")

    def test_others_are_made_valid_and_unique(self):
        made = turns(said("user", "go"), call(("é.1", "f"), ("__1", "f"), ("", "f"), ("", "f")))
        assert [one["id"] for one in made[1][1]] == ["__1", "__1_2", "call", "call_2"]

    def test_one_that_comes_again_is_another_call(self):
        """Some clients count the calls of each turn from 0."""
        made = turns(
            said("user", "go"), call(("c", "f")), result("c", "one"), call(("c", "f")), result("c", "two"),
        )  # fmt: skip
        assert [content for _, content in made[1:]] == [
            [use("c")],
            [answer("c", "one")],
            [use("c_2")],
            [answer("c_2", "two")],
        ]

    def test_a_result_is_of_the_latest_call_that_has_its_id(self):
        made = turns(said("user", "go"), call(("c", "f")), said("user", "again"), call(("c", "f")), result("c", "two"))
        assert [made[2][1][0], made[4][1]] == [cancelled("c"), [answer("c_2", "two")]]

    def test_the_same_id_twice_in_one_turn_takes_its_results_in_order(self):
        made = turns(said("user", "go"), call(("c", "f"), ("c", "f")), result("c", "one"), result("c", "two"))
        assert made[2] == ("user", [answer("c", "one"), answer("c_2", "two")])

    @given(st.lists(st.text(max_size=4), min_size=1, max_size=12))
    def test_a_conversation_that_goes_on_keeps_the_ids_it_had(self, ids: list[str]):
        def sent(wanted: list[str]) -> list[str]:
            made = conversation([said("user", "go"), call(*((one, "f") for one in wanted))])
            used = made.messages[1]["content"]
            assert isinstance(used, list)
            return [one["id"] for one in used]

        assert sent(ids)[:-1] == (sent(ids[:-1]) if ids[:-1] else [])

    def test_many_calls_of_one_id_take_no_longer_each(self):
        """A hostile history: this many would take minutes if each looked at all before it."""
        many, began = 30_000, time.thread_time()
        made = conversation(
            [said("user", "go"), call(*(("c", "f") for _ in range(many))), *(result("c", "x") for _ in range(many))]
        )
        results = made.messages[2]["content"]
        assert isinstance(results, list)
        assert len(results) == many
        assert time.thread_time() - began < 10
