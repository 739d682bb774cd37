"""What of a call goes to a machine of which kind: dialects.md §1 and §2, cluster.md ("Choosing a machine")."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.calls.local_bodies import OneAnswer, local_body
from appliance.cluster.machine import Machine, Model
from appliance.dialects.chat import (
    Chat,
    Finish,
    Format,
    Image,
    Message,
    Sampling,
    Text,
    TextDelta,
    Tool,
    ToolCall,
    ToolCallDelta,
    ToolChoice,
    Unsaid,
)
from appliance.dialects.ollama.body import Prepared, Target, prepare
from appliance.dialects.upstream import Outgoing
from appliance.errors import BadRequest
from tests.upstreams import openai as wire

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
HI = Chat((Message("user", (Text("Hi"),)),))
TOOLS = (Tool("look", parameters=SCHEMA), Tool("ask", parameters=SCHEMA))
OLLAMA = Machine("m", "m", "http://127.0.0.1:1", "loopback")
OPENAI = Machine("m", "m", "http://127.0.0.1:1/v1", "open", kind="openai-compatible")
MODEL = Model("org/model:latest", "d", 0, frozenset({"completion", "tools", "vision"}), remote=False)
PNG = Image(b"\x89PNG\r\n\x1a\nx", "image/png")


def made(
    answer: OneAnswer, machine: Machine = OPENAI, model: Model = MODEL, context: int = 8192
) -> Prepared | Outgoing:
    return local_body(answer, machine, model, context, new_id=lambda: "call_ours")


def outgoing(chat: Chat, *, context: int = 8192, **more: Any) -> Outgoing:
    body = made(OneAnswer(chat, "org/model", **more), context=context)
    assert isinstance(body, Outgoing)
    return body


def sent(chat: Chat, *, context: int = 8192, **more: Any) -> dict[str, Any]:
    return orjson.loads(outgoing(chat, context=context, **more).body)


def names(body: dict[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", [])]


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize(
    "chat",
    [
        HI,
        replace(HI, tools=TOOLS),
        replace(HI, tools=TOOLS, format=Format(SCHEMA)),
        replace(HI, choices=3, sampling=Sampling(temperature=0.5, max_tokens=9_999)),
        replace(HI, tools=TOOLS, tool_choice=ToolChoice("named", "look")),
    ],
)
def test_ollama_gets_what_its_dialect_writes(chat: Chat, again: bool):
    body = made(OneAnswer(chat, "org/model", choice=1, seed=40, again=again), OLLAMA)
    assert isinstance(body, Prepared)
    target = Target("org/model", MODEL.capabilities, 8192)
    wanted = prepare(chat, target, new_id=lambda: "call_ours", choice=1, seed=40, again=again)
    assert (body.body, body.format_from) == (wanted.body, wanted.format_from)


def test_another_server_gets_the_chat_by_the_name_that_it_lists():
    assert sent(HI) == {
        "model": "org/model:latest",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert outgoing(HI).path == "/chat/completions"


class TestChoices:
    def test_each_is_a_call_of_its_own_with_a_seed_of_its_own(self):
        chat = replace(HI, choices=3, sampling=Sampling(seed=7))
        bodies = [sent(chat, choice=i, seed=99) for i in range(3)]
        assert [body["seed"] for body in bodies] == [7, 8, 9]
        assert all("n" not in body for body in bodies)

    def test_a_drawn_seed_is_for_several_without_one(self):
        assert sent(replace(HI, choices=2), choice=1, seed=40)["seed"] == 41
        assert "seed" not in sent(HI, seed=40)

    @given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 7))
    def test_a_seed_stays_within_64_bits_and_differs_from_its_neighbour(self, seed: int, choice: int):
        chat = replace(HI, choices=9, sampling=Sampling(seed=seed))
        one, other = (sent(chat, choice=choice + i)["seed"] for i in range(2))
        assert one != other
        assert -(2**63) <= one < 2**63

    @pytest.mark.parametrize("choice", [0, 2])
    def test_the_answer_is_read_as_that_of_its_choice(self, choice: int):
        reader = outgoing(replace(HI, choices=3), choice=choice, seed=1).reader()
        events = [
            event
            for piece in (wire.text("a"), wire.tool_piece(0, name="look", arguments="{}"), wire.finish("tool_calls"),
                          wire.usage(7, 3))
            for event in reader.read("", piece.decode().removeprefix("data: "))
        ]  # fmt: skip
        said, call, end = events
        assert isinstance(said, TextDelta)
        assert isinstance(call, ToolCallDelta)
        assert isinstance(end, Finish)
        assert [said.choice, call.choice, end.choice] == [choice] * 3
        assert (call.id, end.usage.completion_tokens) == ("call_ours", 3)


class TestToolsAndFormats:
    def test_tools_that_the_model_may_call(self):
        body = sent(replace(HI, tools=TOOLS, parallel=False))
        assert (names(body), body["parallel_tool_calls"]) == (["look", "ask"], False)
        assert "tool_choice" not in body

    def test_tools_that_it_may_not_call_are_not_told_of(self):
        body = sent(replace(HI, tools=TOOLS, tool_choice=ToolChoice("none")))
        assert "tools" not in body
        assert "tool_choice" not in body

    def test_one_that_it_has_to_call_is_the_only_one_told_of(self):
        """llama.cpp takes `tool_choice` as a word only, and reads the name of a tool as `auto`."""
        body = sent(replace(HI, tools=TOOLS, tool_choice=ToolChoice("named", "ask"), format=Format(SCHEMA)))
        assert (names(body), body["tool_choice"]) == (["ask"], "required")
        assert "response_format" not in body

    def test_any_that_it_has_to_call(self):
        body = sent(replace(HI, tools=TOOLS, tool_choice=ToolChoice("required")))
        assert (names(body), body["tool_choice"]) == (["look", "ask"], "required")

    def test_a_format(self):
        assert sent(replace(HI, format=Format(SCHEMA)))["response_format"]["json_schema"]["schema"] == SCHEMA
        assert sent(replace(HI, format=Format()))["response_format"] == {"type": "json_object"}

    def test_beside_tools_a_format_binds_only_at_the_second_try(self):
        chat = replace(HI, tools=TOOLS, format=Format(SCHEMA))
        first, second = sent(chat), sent(chat, again=True)
        assert ("response_format" in first, names(first)) == (False, ["look", "ask"])
        assert ("response_format" in second, names(second)) == (True, [])

    def test_calls_of_earlier_turns_and_their_results(self):
        turns = (
            *HI.messages,
            Message("assistant", tool_calls=(ToolCall("c1", "look", '{"city": "Paris"}'),)),
            Message("tool", (Text("Sunny"),), tool_call_id="c1", tool_name="look"),
        )
        _, call, result = sent(replace(HI, messages=turns, tools=TOOLS))["messages"]
        assert call["tool_calls"][0]["function"]["arguments"] == '{"city": "Paris"}'
        assert (result["role"], result["tool_call_id"], result["content"]) == ("tool", "c1", "Sunny")


class TestContext:
    @pytest.mark.parametrize(
        ("limit", "context", "ceiling"),
        [(100, 8192, 100), (8191, 8192, 8191), (8192, 8192, None), (32_000, 8192, None), (32_000, 0, 32_000),
         (2**40, 0, None), (None, 8192, None)],
    )  # fmt: skip
    def test_a_ceiling_beyond_the_context_says_nothing_and_is_left_out(
        self, limit: int | None, context: int, ceiling: int | None
    ):
        """vLLM refuses the call for it; without it the answer ends with the context, as it would anyway."""
        assert sent(replace(HI, sampling=Sampling(max_tokens=limit)), context=context).get("max_tokens") == ceiling


class TestWhatAModelCannotDo:
    @pytest.mark.parametrize("machine", [OLLAMA, OPENAI])
    @pytest.mark.parametrize(
        ("chat", "missing", "param"),
        [
            (replace(HI, tools=TOOLS), "tools", "tools"),
            (replace(HI, messages=(Message("user", (PNG,)),)), "vision", "messages"),
        ],
    )
    def test_it_is_refused_unsent(self, machine: Machine, chat: Chat, missing: str, param: str):
        plain = replace(MODEL, capabilities=frozenset({"completion"}))
        with pytest.raises(BadRequest, match=f"'org/model' .* does not support {missing}") as refused:
            made(OneAnswer(chat, "org/model"), machine, plain)
        assert refused.value.param == param

    def test_a_picture_goes_to_one_that_may_see(self):
        (turn,) = sent(replace(HI, messages=(Message("user", (PNG,)),)))["messages"]
        assert turn["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")

    @pytest.mark.parametrize("machine", [OLLAMA, OPENAI])
    def test_what_a_chat_cannot_say_is_refused_by_its_name(self, machine: Machine):
        with pytest.raises(BadRequest, match="No sound") as refused:
            made(OneAnswer(replace(HI, unsaid=Unsaid("No sound here.", "audio")), "org/model"), machine)
        assert refused.value.param == "audio"


def test_a_reminder_in_the_middle_goes_into_the_turn_beside_it():
    """The templates of open models read a system message at the beginning only."""
    turns = (*HI.messages, Message("system", (Text("Be brief."),)))
    bodies = [sent(replace(HI, messages=turns, reminders=reminds))["messages"] for reminds in (True, False)]
    assert [[turn["role"] for turn in body] for body in bodies] == [["user"], ["user", "system"]]
