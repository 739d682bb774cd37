"""A checker of OpenAI's stream: reads server-sent events and asserts that every rule of the dialect is kept.

The rules are those of dialects.md §1.1 ("Stream") and gateway.md ("Streaming"):

    stream  = role+ (reasoning | content | call)* end+ [usage] "[DONE]"     one role and one end for each choice
            | role+ (…)* error                                              no end and no "[DONE]"
    call    = head arguments*                                               the head has id, type, name and no arguments

All chunks have one id, time and model; a choice's calls are numbered from 0 without gaps; reasoning never shares a
chunk; an answer that calls ends with `tool_calls` unless it was cut off; usage is there only if it was asked for.
"""

import json
from dataclasses import dataclass, field
from typing import Any

FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter")


@dataclass
class Call:
    id: str
    name: str
    arguments: str = ""


@dataclass
class Choice:
    text: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    logprobs: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str | None = None


@dataclass
class Answer:
    """What a client has at the end. `error` is the error object of a stream that failed."""

    choices: dict[int, Choice] = field(default_factory=dict)
    usage: dict[str, int] | None = None
    error: dict[str, Any] | None = None


def events(stream: bytes) -> list[str]:
    """The data of each server-sent event; comments have none (WHATWG HTML, "Server-sent events")."""
    assert stream == b"" or stream.endswith(b"\n\n"), "an event was not ended by an empty line"
    blocks = stream.decode().removesuffix("\n\n").split("\n\n") if stream else []
    for block in blocks:
        assert "\n" not in block, "an event has more than one line"
        assert block.startswith(("data: ", ":")), f"not an event: {block[:40]}"
    return [block.removeprefix("data: ") for block in blocks if block.startswith("data: ")]


def read(stream: bytes, *, include_usage: bool = False, choices: int = 1) -> Answer:
    """The answer in a whole stream. Raises AssertionError where a rule is broken."""
    *sent, last = events(stream)
    answer = Answer()
    parsed = [json.loads(one) for one in sent]
    if last != "[DONE]":
        answer.error = json.loads(last)["error"]
        assert set(answer.error or ()) == {"message", "type", "param", "code"}
    heads = [(one["id"], one["object"], one["created"], one["model"]) for one in parsed]
    assert len(set(heads)) <= 1, "chunks of more than one answer"
    if answer.error is None and include_usage:
        final = parsed.pop()
        assert final["choices"] == []
        answer.usage = final["usage"]
        assert answer.usage is not None
        assert answer.usage["total_tokens"] == answer.usage["prompt_tokens"] + answer.usage["completion_tokens"]
    for chunk in parsed:
        assert chunk["object"] == "chat.completion.chunk"
        assert ("usage" in chunk) == include_usage
        assert chunk.get("usage") is None
        _read_choice(answer, *chunk["choices"])
    ended = [choice.finish_reason is not None for choice in answer.choices.values()]
    if answer.error is None:
        assert sorted(answer.choices) == list(range(choices)), "a choice is missing"
        assert all(ended), "a choice has no end"
    else:
        assert not any(ended), "a failed stream tells an end"
    return answer


def _read_choice(answer: Answer, entry: dict[str, Any]) -> None:
    delta, reason = entry["delta"], entry["finish_reason"]
    index = entry["index"]
    if "role" in delta:
        assert delta == {"role": "assistant", "content": ""}
        assert index not in answer.choices, "a second role"
        answer.choices[index] = Choice()
        assert reason is None
        return
    choice = answer.choices[index]
    assert choice.finish_reason is None, "a choice goes on after its end"
    if reason is not None:
        assert delta == {}
        assert reason in FINISH_REASONS
        assert reason != "stop" or not choice.calls
        assert reason != "tool_calls" or choice.calls
        choice.finish_reason = reason
        return
    _read_delta(choice, delta)
    if entry.get("logprobs"):
        assert set(delta) == {"content"}
        choice.logprobs += entry["logprobs"]["content"]


def _read_delta(choice: Choice, delta: dict[str, Any]) -> None:
    if "content" in delta:
        assert set(delta) == {"content"}, "content shares its chunk"
        choice.text += delta["content"]
    elif "reasoning" in delta:
        assert delta == {"reasoning": delta["reasoning"], "reasoning_content": delta["reasoning"]}
        choice.reasoning += delta["reasoning"]
    else:
        (part,) = delta["tool_calls"]
        assert set(delta) == {"tool_calls"}
        if "id" in part:
            assert part == {
                "index": len(choice.calls),
                "id": part["id"],
                "type": "function",
                "function": {"name": part["function"]["name"], "arguments": ""},
            }
            assert part["id"]
            assert part["id"] not in [call.id for call in choice.calls], "an id is used twice"
            choice.calls.append(Call(part["id"], part["function"]["name"]))
        else:
            assert part == {"index": part["index"], "function": {"arguments": part["function"]["arguments"]}}
            assert part["index"] == len(choice.calls) - 1, "arguments of a call that is not open"
            choice.calls[part["index"]].arguments += part["function"]["arguments"]
