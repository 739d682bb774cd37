"""Expected bodies: the OpenAI API reference, "Create chat completion"."""

import base64
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
from appliance.dialects.openai.written import body

PNG = b"\x89PNG\r\n\x1a\n"
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}"}}
HI = Message("user", (Text("Hi"),))
LOOK = Tool("look", "Looks.", {"type": "object"})


def written(chat: Chat | None = None, *, model: str = "gpt-4o", compatible: bool = False, **fields: Any):
    return body(chat or Chat((HI,), **fields), model=model, compatible=compatible)


def messages(*turns: Message) -> Any:
    return written(Chat(turns))["messages"]


def test_what_was_not_said_is_not_sent():
    assert written() == {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_all_wishes():
    sampling = Sampling(0.5, 0.9, 0.1, -0.1, 7, ("END",), 100, 2)
    made = written(sampling=sampling, choices=2, effort="high", model="gpt-5", tools=(LOOK,), parallel=False)
    wanted = {
        "temperature": 0.5, "top_p": 0.9, "frequency_penalty": 0.1, "presence_penalty": -0.1, "seed": 7,
        "stop": ["END"],
        "max_completion_tokens": 100, "logprobs": True, "top_logprobs": 2, "n": 2, "reasoning_effort": "high",
        "parallel_tool_calls": False,
        "tools": [{"type": "function",
                   "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}}],
    }  # fmt: skip
    assert {name: made[name] for name in wanted} == wanted


def test_zero_is_a_wish():
    made = written(sampling=Sampling(temperature=0.0, seed=0, top_logprobs=0))
    assert (made["temperature"], made["seed"], made["logprobs"], "top_logprobs" in made) == (0.0, 0, True, False)


@pytest.mark.parametrize(
    ("model", "sent"),
    [("o3-mini", True), ("gpt-5", True), ("openai/gpt-5.1", True), ("gpt-oss-20b", True), ("gpt-35-turbo", False),
     ("gpt-4o", False), ("gpt-5-chat-latest", False), ("llama-3", False), ("solo1", False)],
)  # fmt: skip
def test_how_long_to_think_is_told_to_models_that_think(model: str, sent: bool):
    assert ("reasoning_effort" in written(model=model, effort="low")) == sent


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh", "max"])
def test_every_effort_is_a_word_of_the_api(effort: Effort):
    assert written(model="gpt-5", effort=effort)["reasoning_effort"] == effort


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (ToolChoice(), None),
        (ToolChoice("none"), "none"),
        (ToolChoice("required"), "required"),
        (ToolChoice("named", "look"), {"type": "function", "function": {"name": "look"}}),
    ],
)
def test_the_choice_of_tools(choice: ToolChoice, sent: object):
    assert written(tools=(LOOK,), tool_choice=choice).get("tool_choice") == sent
    assert "tool_choice" not in written(tool_choice=choice)


def test_formats():
    assert written(format=Format())["response_format"] == {"type": "json_object"}
    assert written(format=Format({"type": "object"}))["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": {"type": "object"}},
    }


def test_a_server_that_speaks_alike_gets_the_older_word_and_as_many_stop_sequences_as_there_are():
    sampling = Sampling(max_tokens=5, stop=("a", "b", "c", "d", "e"))
    made = written(sampling=sampling, compatible=True)
    assert (made["max_tokens"], len(made["stop"])) == (5, 5)
    assert "max_completion_tokens" not in made
    with pytest.raises(DialectError) as refused:
        written(sampling=sampling)
    assert refused.value.param == "stop"


def test_a_call_without_a_result_is_refused_before_openai_would():
    # OpenAI API reference: an assistant message with `tool_calls` must be followed by tool messages for each of them.
    history = (Message("user", (Text("go"),)), Message("assistant", (), (ToolCall("toolu_1", "look", "{}"),)))
    with pytest.raises(DialectError, match="'toolu_1' of 'look'"):
        written(Chat(history))
    assert len(written(Chat(history), compatible=True)["messages"]) == 2


def test_turns():
    assert messages(
        Message("system", (Text("Be terse."),)),
        Message("user", (Text("What is "), Image(PNG, "image/png"), Text(""), Text("this?"))),
        Message("assistant", (Text("A cat."),), reasoning="Hm."),
        Message("user", (Text("a"), Text("b"))),
        Message("assistant", tool_calls=(ToolCall("i", "look", '{"at": 1}'), ToolCall("j", "look", " "))),
        Message("tool", (Text("it"),), tool_call_id="i", tool_name="look"),
        Message("tool", tool_call_id="j"),
        Message("assistant"),
    ) == [
        {"role": "system", "content": "Be terse."},
        {"role": "user", "content": [{"type": "text", "text": "What is "}, PICTURE, {"type": "text", "text": "this?"}]},
        {"role": "assistant", "content": "A cat."},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "i", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}},
                {"id": "j", "type": "function", "function": {"name": "look", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "i", "content": "it"},
        {"role": "tool", "tool_call_id": "j", "content": ""},
        {"role": "assistant", "content": ""},
    ]


def test_pictures_of_results_follow_all_results_of_their_turn():
    """A tool message takes text alone (OpenAI API reference, "Tool messages")."""
    look = Message("assistant", tool_calls=(ToolCall("i", "a", "{}"), ToolCall("j", "b", "{}")))
    first = Message("tool", (Text("one"), Image(PNG, "image/png")), tool_call_id="i")
    second = Message("tool", (Text("two"),), tool_call_id="j")
    wanted = [
        {"role": "tool", "tool_call_id": "i", "content": "one"},
        {"role": "tool", "tool_call_id": "j", "content": "two"},
        {"role": "user", "content": [PICTURE]},
    ]
    assert messages(look, first, second)[1:] == wanted
    assert messages(look, first, second, HI)[1:] == [*wanted, {"role": "user", "content": "Hi"}]
