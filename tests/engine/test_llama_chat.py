"""llama.cpp's own chat. The lines are llama.cpp's own, as its server sent them."""

import json

import pytest

from appliance.engine.llama import End, Event, Piece, Prompt, RunnerFailed
from appliance.engine.llama_chat import ChatReader, chat_body
from appliance.engine.options import Options
from appliance.engine.requests import Message
from appliance.engine.tools import Tool, ToolCall

TIMINGS = {"cache_n": 357, "prompt_n": 1, "prompt_ms": 9.5, "predicted_n": 31, "predicted_ms": 271.5}


def line(finish: str | None = None, **delta: object) -> bytes:
    event: dict[str, object] = {"choices": [{"finish_reason": finish, "index": 0, "delta": delta}], "model": "m"}
    if finish:
        event["timings"] = TIMINGS
    return b"data: " + json.dumps(event).encode() + b"\n"


def begin(index: int, name: str, arguments: str) -> dict[str, object]:
    return {"index": index, "id": "x", "type": "function", "function": {"name": name, "arguments": arguments}}


def more(index: int, arguments: str) -> dict[str, object]:
    return {"index": index, "function": {"arguments": arguments}}


def read(*lines: bytes) -> list[Event]:
    reader = ChatReader(lambda: "id")
    return [event for each in lines for event in reader.feed(each)]


def test_text():
    assert read(line(role="assistant", content=None), b"\n", line(content="Hi"), line(content=" you")) == [
        Piece("Hi"),
        Piece(" you"),
    ]


def test_the_end():
    assert read(line("stop"), b"data: [DONE]\n") == [End("stop", "", 358, 9_500_000, 31, 271_500_000)]
    assert read(line("length"))[0] == End("length", "", 358, 9_500_000, 31, 271_500_000)


def test_calls_become_whole_when_the_next_begins_or_the_answer_ends():
    reader = ChatReader(lambda: "id")
    assert reader.feed(line(tool_calls=[begin(0, "f", "{")])) == []
    assert reader.feed(line(tool_calls=[more(0, '"a":')])) == []
    assert reader.feed(line(tool_calls=[more(0, " 1}")])) == []
    assert reader.feed(line(tool_calls=[begin(1, "g", "")])) == [ToolCall("f", {"a": 1}, "id", 0)]
    found = reader.feed(line("tool_calls"))
    assert found[0] == ToolCall("g", {}, "id", 1)
    assert isinstance(found[1], End)
    assert found[1].reason == "stop"  # as Ollama says it


def test_a_call_that_was_cut_off_is_text():
    found = read(line(tool_calls=[begin(0, "f", '{"a')]), line("length"))
    assert found[0] == Piece('f {"a')
    assert isinstance(found[1], End)


@pytest.mark.parametrize(
    "bad",
    [
        b'data: {"choices": []}\n',
        b'data: {"choices": [3]}\n',
        b'data: {"choices": [{"delta": {"tool_calls": [{"index": 5, "function": {}}]}}]}\n',
        b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n',
        b"data: 3\n",
    ],
)
def test_what_is_no_event(bad: bytes):
    with pytest.raises(RunnerFailed, match="no event"):
        read(bad)


def test_an_error():
    with pytest.raises(RunnerFailed, match="boom"):
        read(b'data: {"error": {"code": 500, "message": "boom"}}\n')


def test_the_body():
    prompt = Prompt("text", [1, 2, 3], (Message("user", "Hi"),))
    tool = Tool("f", "d", {"type": "object"})
    body = json.loads(chat_body(prompt, [tool], Options(seed=1), limit=100, ceiling=None))
    assert body["messages"] == [{"role": "user", "content": "Hi"}]
    assert body["tools"] == [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
    ]
    assert (body["n_predict"], body["seed"], body["temperature"], body["stream"]) == (97, 1, 0.8, True)
    assert body["parallel_tool_calls"]
    assert "prompt" not in body
