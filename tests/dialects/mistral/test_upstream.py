"""Expected bodies: the Mistral API reference, "Chat Completion"; what differs from OpenAI is in dialects.md §4."""

from typing import Any

import orjson
import pytest

from appliance.dialects.chat import (
    Chat,
    DialectError,
    Event,
    Finish,
    Format,
    Image,
    Message,
    ReasoningDelta,
    Sampling,
    Text,
    TextDelta,
    Tool,
    ToolCall,
    ToolCallDelta,
    ToolChoice,
    Usage,
)
from appliance.dialects.mistral.upstream import written
from appliance.dialects.openai.request import parse
from appliance.dialects.upstream import Outgoing
from tests.upstreams.openai import MISTRAL_MEMBERS

HI = Message("user", (Text("Hi"),))
LOOK = Tool("look")


def write(chat: Chat) -> Outgoing:
    return written(chat, model="mistral-small-latest", new_id=lambda: "call_ours")


def body(**fields: Any) -> dict[str, Any]:
    return orjson.loads(write(Chat((HI,), **fields)).body)


def test_what_was_not_said_is_not_sent():
    messages = [{"role": "user", "content": "Hi"}]
    assert body() == {"model": "mistral-small-latest", "messages": messages, "stream": True}


def test_all_wishes_in_mistral_s_words():
    sampling = Sampling(0.5, 0.9, 0.1, -0.1, 7, ("END",), 100)
    made = body(sampling=sampling, choices=2, tools=(LOOK,), parallel=False, format=Format({"type": "object"}))
    wanted = {
        "temperature": 0.5, "top_p": 0.9, "frequency_penalty": 0.1, "presence_penalty": -0.1, "random_seed": 7,
        "stop": ["END"], "max_tokens": 100, "n": 2, "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}},
        "tools": [{"type": "function",
                   "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}],
    }  # fmt: skip
    assert {name: made[name] for name in wanted} == wanted
    assert made.keys() <= MISTRAL_MEMBERS


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (ToolChoice(), None),
        (ToolChoice("none"), "none"),
        (ToolChoice("required"), "any"),
        (ToolChoice("named", "look"), {"type": "function", "function": {"name": "look"}}),
    ],
)
def test_the_choice_of_tools(choice: ToolChoice, sent: object):
    assert body(tools=(LOOK,), tool_choice=choice).get("tool_choice") == sent


@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1, 2**31, 2**63 - 1, -1, -(2**63)])
def test_a_seed_is_one_that_mistral_takes(seed: int):
    sent = body(sampling=Sampling(seed=seed))["random_seed"]
    assert 0 <= sent < 2**31
    assert sent == seed or not 0 <= seed < 2**31


@pytest.mark.parametrize("top", [0, 3])
def test_what_mistral_has_no_word_for_is_refused_by_name(top: int):
    with pytest.raises(DialectError) as refused:
        body(sampling=Sampling(top_logprobs=top))
    assert refused.value.param == "logprobs"


def test_a_call_without_a_result_is_refused_before_mistral_would():
    # mistral-common: "Not the same number of function calls and responses".
    with pytest.raises(DialectError, match="'toolu_1' of 'look'"):
        write(Chat((HI, Message("assistant", (), (ToolCall("toolu_1", "look", "{}"),)), HI)))


def test_a_gif_is_refused_by_its_name():
    with pytest.raises(DialectError, match="has a GIF") as refused:
        write(Chat((Message("user", (Image(b"GIF89a", "image/gif"),)),)))
    assert refused.value.param == "messages"


def test_a_body_of_openai_s_dialect_with_all_its_hints_becomes_one_that_mistral_takes():
    caller = {
        "model": "pulse-auto", "messages": [{"role": "developer", "content": "Be terse."},
                                            {"role": "user", "content": "Hi", "name": "jane"}],
        "stream": True, "stream_options": {"include_usage": True}, "user": "jane", "metadata": {"user_id": "jane"},
        "max_completion_tokens": 5, "seed": 1, "store": False, "service_tier": "auto", "verbosity": "low",
        "reasoning_effort": "low", "prompt_cache_key": "jane", "safety_identifier": "jane", "unknown": 1,
    }  # fmt: skip
    outgoing = write(parse(orjson.dumps(caller)).chat)
    assert orjson.loads(outgoing.body) == {
        "model": "mistral-small-latest",
        "messages": [{"role": "system", "content": "Be terse."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "max_tokens": 5,
        "random_seed": 1,
    }
    assert b"jane" not in outgoing.body


def test_mistral_s_stream():
    """As the API sends it: a tool call whole, usage with the reason, content as a list from models that think."""
    reader = write(Chat((HI,), tools=(LOOK,))).reader()
    thought = {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]}
    call = {"id": "D681PevKs", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}, "index": 0}
    events: list[Event] = []
    for delta, more in (
        ({"role": "assistant", "content": ""}, {}),
        (thought, {}),
        ({"content": "Hi"}, {}),
        ({"content": "", "tool_calls": [call]}, {"usage": {"prompt_tokens": 7, "total_tokens": 10,
                                                           "completion_tokens": 3}}),
    ):  # fmt: skip
        reason = "tool_calls" if more else None
        chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}
        events += reader.read("", orjson.dumps(chunk).decode())
    assert reader.finished
    assert events == [
        ReasoningDelta("Hm."),
        TextDelta("Hi"),
        ToolCallDelta(0, "call_ours", "look", '{"a": 1}'),
        Finish("tool_calls", Usage(7, 3)),
    ]


def test_where_it_goes():
    outgoing = write(Chat((HI,)))
    assert (outgoing.path, outgoing.headers) == ("/chat/completions", {})
    assert outgoing.refusal(401, b'{"message":"Unauthorized"}').kind == "key"
