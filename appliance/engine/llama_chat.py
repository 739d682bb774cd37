"""llama.cpp's own chat, for a model whose template llama.cpp knows how to call tools with. Pure.

It finds the calls in what the model writes, in whichever way that model writes them, and sends them in pieces; here
they become whole again, as Ollama gives them out. Source: llama.cpp's server documentation, `/v1/chat/completions`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import orjson

from appliance.engine.json_values import is_too_deep
from appliance.engine.llama import (
    NO_EVENT,
    Event,
    Piece,
    Prompt,
    RunnerFailed,
    conversation,
    end_of,
    event_object,
    sampling,
)
from appliance.engine.options import Options
from appliance.engine.tools import Tool, ToolCall


def chat_body(
    prompt: Prompt,
    tools: Sequence[Tool],
    options: Options,
    *,
    limit: int,
    ceiling: int | None,
) -> bytes:
    """The body of a streamed chat. `limit` and `ceiling` are as for a completion; log probabilities cannot be had."""
    body = sampling(options, room=limit - len(prompt.tokens), limit=limit, stops=(), ceiling=ceiling)
    body |= conversation(prompt.messages, tools)
    body |= {"parallel_tool_calls": True, "reasoning_format": "none"}
    return orjson.dumps(body)


class ChatReader:
    """Reads a streamed chat line by line; its last event is an `End`."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._calls: list[tuple[str, list[str]]] = []
        """Name and pieces of the arguments of every call so far; the last may still be growing."""
        self._given = 0

    def feed(self, line: bytes) -> list[Event]:
        """Raises RunnerFailed for an error, and for what is no event."""
        event = event_object(line)
        if event is None:
            return []
        try:
            return self._events(event)
        except (TypeError, KeyError, IndexError, AttributeError, ValueError):
            raise RunnerFailed(NO_EVENT) from None

    def _events(self, event: Mapping[str, object]) -> list[Event]:
        (choice,) = cast("list[dict[str, object]]", event["choices"])
        delta = cast("dict[str, object]", choice.get("delta") or {})
        found: list[Event] = []
        if text := cast("str", delta.get("content") or ""):
            found.append(Piece(text))
        for call in cast("list[dict[str, object]]", delta.get("tool_calls") or []):
            self._grow(call)
        finished = choice.get("finish_reason")
        found += self._whole(len(self._calls) if finished else len(self._calls) - 1)
        if finished:
            found.append(end_of({**event, "stop_type": "limit" if finished == "length" else "stop"}))
        return found

    def _grow(self, call: Mapping[str, object]) -> None:
        function = cast("dict[str, str]", call["function"])
        if call["index"] == len(self._calls):
            self._calls.append((function["name"], []))
        self._calls[cast("int", call["index"])][1].append(function.get("arguments", ""))

    def _whole(self, count: int) -> list[Event]:
        """The first `count` calls, without those that were given out already."""
        found: list[Event] = []
        for name, pieces in self._calls[self._given : max(count, 0)]:
            found.append(self._call(name, "".join(pieces)))
            self._given += 1
        return found

    def _call(self, name: str, arguments: str) -> Event:
        """The call, or its text if the answer was cut off in it."""
        try:
            value = cast("object", orjson.loads(arguments or "{}"))
        except orjson.JSONDecodeError:
            value = None
        if not isinstance(value, dict) or is_too_deep(cast("object", value)):
            return Piece(f"{name} {arguments}")
        return ToolCall(name, cast("dict[str, object]", value), self._new_id(), self._given)
