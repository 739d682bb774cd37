"""The body of a chat. Sources: dialects.md §1.1, §1.3 and §2; requests that a real Ollama was sent."""

import base64
import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from appliance.dialects.chat import (
    Chat,
    DialectError,
    Effort,
    Format,
    Image,
    Message,
    Sampling,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
)
from appliance.dialects.ollama.body import Prepared, Target, needs, prepare
from tests.dialects.ollama.recorded import recorded, request

HI = Chat((Message("user", (Text("hi"),)),))
SCHEMA = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}}
TOOL = Tool("f", "Does it.", SCHEMA)
OTHER = Tool("g")
PNG = Image(b"\x89PNG\r\n\x1a\n\x00", "image/png")


def made(chat: Chat, target: Target = Target("smollm2"), **more: Any) -> Prepared:  # noqa: B008  it is frozen
    ids = itertools.count()
    return prepare(chat, target, new_id=lambda: f"call_{next(ids)}", **more)


def written(chat: Chat, target: Target = Target("smollm2"), **more: Any) -> dict[str, Any]:  # noqa: B008
    return json.loads(made(chat, target, **more).body)


def message(message: Message) -> dict[str, Any]:
    (out,) = written(Chat((message,)))["messages"]
    return out


def test_what_the_caller_did_not_set_is_not_sent():
    assert made(HI).body == (
        b'{"model":"smollm2","messages":[{"role":"user","content":"hi"}],"stream":true,"truncate":false}'
    )


def test_a_gif_is_refused_by_its_name():
    # Ollama decodes with Go's png, jpeg and webp (dialects.md §1.1).
    with pytest.raises(DialectError, match="has a GIF") as refused:
        written(replace(HI, messages=(Message("user", (Image(b"GIF89a", "image/gif"),)),)))
    assert refused.value.param == "messages"


class TestMessages:
    def test_order_and_text(self):
        turns = [("system", "be\x00 terse"), ("user", "é😀"), ("assistant", ""), ("user", '"\\\n')]
        chat = Chat(tuple(Message(role, (Text(text),)) for role, text in turns))
        assert written(chat)["messages"] == [{"role": role, "content": text} for role, text in turns]

    def test_all_parts_of_a_turn_are_one_message(self):
        """Ollama's own compatibility layer makes several of them, and loses `tool_call_id` (dialects.md §1.1)."""
        parts = (Text("what is "), PNG, Text("this"), replace(PNG, data=b"\xff\xd8\xff"))
        assert message(Message("user", parts)) == {
            "role": "user",
            "content": "what is this",
            "images": [base64.b64encode(PNG.data).decode(), "/9j/"],
        }

    def test_a_call_and_its_result(self):
        calls = (ToolCall("c1", "f", '{"city": "Paris"}'), ToolCall("", "g", ""))
        assert message(Message("assistant", (), calls, reasoning="Hm.")) == {
            "role": "assistant",
            "content": "",
            "thinking": "Hm.",
            "tool_calls": [
                {"id": "c1", "function": {"index": 0, "name": "f", "arguments": {"city": "Paris"}}},
                {"function": {"index": 1, "name": "g", "arguments": {}}},
            ],
        }
        assert message(Message("tool", (Text("21 C"),), tool_call_id="c1", tool_name="f")) == {
            "role": "tool",
            "content": "21 C",
            "tool_name": "f",
            "tool_call_id": "c1",
        }

    @pytest.mark.parametrize(
        "text",
        [
            "{",
            "not JSON",
            "[1]",
            '"x"',
            "null",
            '{"a":NaN}',
            '{"a":1}{"b":2}',
            '{"a":"\\ud800"}',
            '{"a":' * 201 + "1" + "}" * 201,
        ],
    )
    def test_arguments_that_are_no_object_are_wrapped(self, text: str):
        """litellm#33678: a broken history must not end the chat."""
        out = message(Message("assistant", (), (ToolCall("c1", "f", text),)))
        assert out["tool_calls"][0]["function"]["arguments"] == {"_raw": text}

    def test_arguments_keep_their_order_and_spelling(self):
        text = '{"z": 1e2, "a": 12345678901234567890123, "m": "\\u00e9"}'
        body = made(Chat((Message("assistant", (), (ToolCall("c1", "f", text),)),))).body
        assert text.encode() in body


class TestOptions:
    def test_every_option(self):
        sampling = Sampling(
            temperature=0.0,
            top_p=0.5,
            frequency_penalty=-1.0,
            presence_penalty=1.0,
            seed=0,
            stop=("\n", "END"),
            max_tokens=40,
        )
        assert written(replace(HI, sampling=sampling), Target("m", num_ctx=4096))["options"] == {
            "num_ctx": 4096,
            "num_predict": 40,
            "stop": ["\n", "END"],
            "temperature": 0.0,
            "top_p": 0.5,
            "seed": 0,
            "frequency_penalty": -1.0,
            "presence_penalty": 1.0,
        }

    def test_a_ceiling_beyond_32_bits_is_the_largest(self):
        chat = replace(HI, sampling=Sampling(max_tokens=2**63 - 1))
        assert written(chat)["options"] == {"num_predict": 2**31 - 1}

    @pytest.mark.parametrize("keep_alive", ["5m", 300, -1, 0])
    def test_keep_alive(self, keep_alive: str | int):
        assert written(HI, Target("m", keep_alive=keep_alive))["keep_alive"] == keep_alive

    @pytest.mark.parametrize(
        ("wanted", "fields"),
        [
            (None, {}),
            (0, {"logprobs": True}),
            (2, {"logprobs": True, "top_logprobs": 2}),
        ],
    )
    def test_chances(self, wanted: int | None, fields: dict[str, object]):
        body = written(replace(HI, sampling=Sampling(top_logprobs=wanted)))
        assert {name: body[name] for name in ("logprobs", "top_logprobs") if name in body} == fields


class TestThinking:
    @pytest.mark.parametrize(
        ("effort", "think"),
        [
            ("none", False),
            ("minimal", "low"),
            ("low", "low"),
            ("medium", "medium"),
            ("high", "high"),
            ("xhigh", "max"),
            ("max", "max"),
        ],
    )
    def test_an_effort_is_for_models_that_think(self, effort: Effort, think: bool | str):
        chat = replace(HI, effort=effort)
        assert written(chat, Target("m", frozenset({"completion", "thinking"})))["think"] == think
        # Others answer 400 to it.
        assert "think" not in written(chat, Target("m", frozenset({"completion"})))

    def test_what_the_caller_did_not_say_is_left_to_the_model(self):
        assert "think" not in written(HI, Target("m", frozenset({"thinking"})))


class TestSeeds:
    def test_choices_have_seeds_of_their_own(self):
        chat = replace(HI, sampling=Sampling(seed=7), choices=3)
        assert [written(chat, choice=i)["options"]["seed"] for i in range(3)] == [7, 8, 9]

    def test_the_largest_is_followed_by_the_smallest(self):
        chat = replace(HI, sampling=Sampling(seed=2**63 - 1), choices=2)
        assert [written(chat, choice=i)["options"]["seed"] for i in range(2)] == [2**63 - 1, -(2**63)]

    def test_a_drawn_one_is_for_several_choices_without_a_seed(self):
        assert written(replace(HI, choices=2), choice=1, seed=40)["options"] == {"seed": 41}
        assert "options" not in written(replace(HI, choices=2), choice=1)
        assert "options" not in written(HI, seed=40)
        chat = replace(HI, sampling=Sampling(seed=7), choices=2)
        assert written(chat, choice=1, seed=40)["options"] == {"seed": 8}


class TestFormat:
    def test_any_object_and_a_schema(self):
        assert written(replace(HI, format=Format()))["format"] == "json"
        # As it was written: the server resolves references, and keeps the order of properties.
        assert written(replace(HI, format=Format(SCHEMA)))["format"] == SCHEMA

    def test_it_does_not_bind_where_tools_are_offered(self):
        chat = replace(HI, format=Format(SCHEMA), tools=(TOOL,))
        assert "format" not in written(chat)
        assert "tools" in written(chat)

    def test_it_binds_at_the_second_try(self):
        chat = replace(HI, format=Format(SCHEMA), tools=(TOOL,))
        assert written(chat, again=True)["format"] == SCHEMA
        assert "tools" not in written(chat, again=True)

    def test_it_binds_where_no_tool_may_be_called(self):
        chat = replace(HI, format=Format(), tools=(TOOL,), tool_choice=ToolChoice("none"))
        assert written(chat)["format"] == "json"


class TestTools:
    def test_offered(self):
        body = written(replace(HI, tools=(TOOL, OTHER)))
        assert [tool["function"]["name"] for tool in body["tools"]] == ["f", "g"]
        assert body["tools"][0]["function"]["parameters"]["properties"] == {"a": {"type": "string"}}
        assert "format" not in body

    def test_none_may_be_called(self):
        body = written(replace(HI, tools=(TOOL,), tool_choice=ToolChoice("none")))
        assert not {"tools", "format"} & set(body)

    @pytest.mark.parametrize(
        ("tools", "choice"), [((TOOL,), ToolChoice("required")), ((OTHER, TOOL), ToolChoice("named", "f"))]
    )
    def test_one_has_to_be_called(self, tools: tuple[Tool, ...], choice: ToolChoice):
        body = written(replace(HI, tools=tools, tool_choice=choice, format=Format()))
        assert body["format"] == SCHEMA
        assert "tools" not in body

    def test_one_of_several_has_to_be_called(self):
        body = written(replace(HI, tools=(TOOL, OTHER), tool_choice=ToolChoice("required")))
        assert [one["properties"]["name"]["enum"] for one in body["format"]["anyOf"]] == [["f"], ["g"]]
        assert "tools" not in body

    def test_a_schema_that_cannot_be_written_is_named(self):
        with pytest.raises(DialectError, match="'bad'"):
            made(replace(HI, tools=(Tool("bad", None, {"$ref": "https://example.com/s"}),)))


class TestNeeds:
    @pytest.mark.parametrize(
        ("chat", "capabilities"),
        [
            (HI, set()),
            (Chat((Message("user", (Text("what"), PNG)),)), {"vision"}),
            (replace(HI, tools=(TOOL,)), {"tools"}),
            # A call that is forced is an answer that fits a schema, which every model can give.
            (replace(HI, tools=(TOOL,), tool_choice=ToolChoice("required")), set()),
            (replace(HI, tools=(TOOL,), tool_choice=ToolChoice("named", "f")), set()),
            (replace(HI, tools=(TOOL,), tool_choice=ToolChoice("none")), set()),
            (replace(HI, effort="high"), set()),
        ],
    )
    def test_capabilities(self, chat: Chat, capabilities: set[str]):
        assert needs(chat) == capabilities


@recorded
class TestWhatARealServerWasSent:
    def test_text(self):
        text = "Reply to the email jean@example.com in one sentence"
        sampling = Sampling(temperature=0, seed=1, max_tokens=40)
        chat = Chat((Message("user", (Text(text),)),), sampling)
        assert written(chat) == {**request("14-chat-stream"), "stream": True, "truncate": False}

    def test_a_schema(self):
        sent = request("19-chat-format-schema-stream")
        chat = Chat((Message("user", (Text("Describe Paris as JSON."),)),), format=Format(sent["format"]))
        assert written(chat)["format"] == sent["format"]

    @pytest.mark.parametrize("name", ["24-chat-tool-result", "213-chat-toolcall-result"])
    def test_tools_and_a_result(self, name: str):
        sent = request(name)
        (tool,) = sent["tools"]
        function = tool["function"]
        chat = Chat(
            (
                Message("user", (Text(sent["messages"][0]["content"]),)),
                Message("assistant", (), (ToolCall("", "get_weather", '{"city": "Paris"}'),)),
                Message("tool", (Text("18 degrees, sunny"),), tool_name="get_weather"),
            ),
            tools=(Tool(function["name"], function["description"], function["parameters"]),),
        )
        body = written(chat)
        assert body["tools"] == sent["tools"]
        del body["messages"][1]["tool_calls"][0]["function"]["index"]
        assert body["messages"] == sent["messages"]

    def test_chances(self):
        sent = request("29-chat-logprobs")
        body = written(replace(HI, sampling=Sampling(top_logprobs=2)))
        assert (body["logprobs"], body["top_logprobs"]) == (sent["logprobs"], sent["top_logprobs"])

    def test_a_picture(self):
        sent = request("28-chat-images-unsupported")
        (encoded,) = sent["messages"][0]["images"]
        picture = Image(base64.b64decode(encoded), "image/png")
        assert message(Message("user", (Text("what is it?"), picture))) == sent["messages"][0]
