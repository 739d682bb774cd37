"""Reads the server-sent events of one answer of Anthropic's Messages API.

What the API may add, event, block and delta types that are not known here, is read over; what breaks its own order is
an answer that cannot be trusted, and fails. Source: dialects.md §1.2 ("SSE", "stop_reason"); Anthropic's documentation
("Streaming messages"); the types of PyPI `anthropic` 2.14.0.
"""

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import cast

import orjson

from appliance.dialects.anthropic.opaque import encrypted_in
from appliance.dialects.anthropic.refusals import reported
from appliance.dialects.chat import (
    BlockEnd,
    Event,
    Finish,
    FinishReason,
    OwnBlock,
    OwnDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from appliance.dialects.jsonobject import json_object
from appliance.dialects.upstream import ProviderError

MAX_COUNT = 2**31 - 1
"""Of tokens. What is larger is no count, and would fit into no certificate."""

_REASONS: dict[object, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""With calls, `stop` becomes `tool_calls`; `tool_use` alone tells of none, since its call may have been the answer."""

_KNOWN = (
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop",
)  # fmt: skip

_PROMPT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

Json = dict[str, object]


_OF_A_CALL = ("type", "id", "name", "input")
_OF_AN_END = ("stop_reason", "stop_sequence")
"""What every dialect has a word for; the others are this one's own."""

_BLOCKS = ("text", "thinking", "tool_use")
"""What every dialect has."""


@dataclass(slots=True)
class _Block:
    """The block that is open, and as what it began; `pieces` are what came later of what was given to it."""

    index: int
    kind: str
    begun: Json
    pieces: list[str] = field(default_factory=list[str])

    @property
    def name(self) -> str:
        return _string(self.begun, "name")

    def input(self) -> str:
        text = "".join(self.pieces)
        return text if text.strip() else orjson.dumps(self.begun.get("input") or {}).decode()


class Reader:
    """Feed the events of one answer, in order. Indices and ids of its tool calls are ours, not the server's."""

    def __init__(self, new_id: Callable[[], str], *, answer_tool: str = "", own: bool = False) -> None:
        """`answer_tool`: the input of this tool is no call but the text of the answer. `own`: the caller speaks this
        dialect too, and is told what no other can say."""
        self._new_id = new_id
        self._answer_tool = answer_tool
        self._own = own
        self._started = False
        self._block: _Block | None = None
        self._silent = True  # nothing was said in the block so far
        self._calls = 0
        self._broken = False  # the last call is no JSON object
        self._counts: dict[str, int] = {}
        self._reason: FinishReason | None = None
        self._stated = ""
        self._stop_sequence: str | None = None
        self._ended = ""
        self._usage: Json = {}
        self._finished = False

    @property
    def finished(self) -> bool:
        """Whether the answer has its end; a stream that ends before has failed."""
        return self._finished

    def read(self, event: str, data: str) -> tuple[Event, ...]:
        """The events of one server-sent event; the last one of an answer is its `Finish`. Raises ProviderError."""
        if self._finished or not data.strip():
            return ()
        fields = json_object(data.encode(errors="replace"))
        if fields is None:
            raise _wrong("an event that is not a JSON object")
        kind = fields.get("type", event)
        if kind == "error":
            raise reported(_member(fields, "error"))
        if kind not in _KNOWN:
            return ()
        if self._started == (kind == "message_start"):
            raise _wrong(f"`{kind}` out of order")
        events = tuple(self._events(str(kind), fields))
        self._silent = self._silent and not events
        return events

    def _events(self, kind: str, fields: Json) -> Iterator[Event]:
        match kind:
            case "message_start":
                self._started = True
                self._count(_member(fields, "message"))
            case "content_block_start":
                yield from self._block_start(fields)
            case "content_block_delta":
                yield from self._block_delta(fields)
            case "content_block_stop":
                yield from self._block_stop(fields)
            case "message_delta":
                self._message_delta(fields)
            case _:
                yield self._end()

    def _block_start(self, fields: Json) -> Iterator[Event]:
        if self._block is not None or self._reason is not None:
            raise _wrong("`content_block_start` out of order")
        begun = _member(fields, "content_block")
        self._silent = True
        self._block = opened = _Block(_index(fields), _string(begun, "type"), begun)
        if opened.kind == "tool_use" and not opened.name:
            raise _wrong("a tool call without a name")
        if opened.kind == "text":
            yield from _text(_string(begun, "text"))
        elif opened.kind == "thinking":
            yield from _thought(_string(begun, "thinking"))
            signature = _string(begun, "signature")
            if self._own and signature:
                yield OwnDelta(_json({"type": "signature_delta", "signature": signature}), sealed=True)

    def _block_delta(self, fields: Json) -> Iterator[Event]:
        block, delta = self._open(fields), _member(fields, "delta")
        kind = delta.get("type")
        match block.kind, kind:
            case "text", "text_delta":
                yield from _text(_string(delta, "text"))
            case "thinking", "thinking_delta":
                yield from _thought(_string(delta, "thinking"))
            case "tool_use", "input_json_delta":
                block.pieces.append(_string(delta, "partial_json"))
                if block.name == self._answer_tool:
                    yield from _text(block.pieces[-1])
            case (("text" | "thinking" | "tool_use"), ("text_delta" | "thinking_delta" | "input_json_delta")):
                raise _wrong("a delta that does not belong to its block")
            case _, "input_json_delta":
                block.pieces.append(_string(delta, "partial_json"))
            case ("thinking", "signature_delta") | ("text", "citations_delta") if self._own:
                yield OwnDelta(_json(delta), sealed=kind == "signature_delta", kept=encrypted_in(delta))
            case _:
                pass

    def _block_stop(self, fields: Json) -> Iterator[Event]:
        block = self._open(fields)
        self._block = None
        if block.kind == "tool_use":
            yield from self._called(block)
        elif self._own:
            if block.kind not in _BLOCKS:
                whole = _finished(block)
                yield OwnBlock(_json(whole), sealed=block.kind == "redacted_thinking", kept=encrypted_in(whole))
            elif not self._silent:
                yield BlockEnd()

    def _called(self, block: _Block) -> Iterator[Event]:
        whole = block.input()
        if block.name == self._answer_tool:
            yield from _text("" if "".join(block.pieces) else whole)
        elif json_object(whole.encode(errors="replace")) is None:
            self._broken = True
        else:
            yield self._call(block, whole)
            self._calls += 1

    def _call(self, block: _Block, arguments: str) -> ToolCallDelta:
        if not self._own:
            return ToolCallDelta(self._calls, self._new_id(), block.name, arguments)
        # The provider may know the call again by its id.
        call_id = _string(block.begun, "id") or self._new_id()
        return ToolCallDelta(self._calls, call_id, block.name, arguments, own=_others(block.begun, _OF_A_CALL))

    def _message_delta(self, fields: Json) -> None:
        if self._block is not None:
            raise _wrong("`message_delta` out of order")
        delta = _member(fields, "delta")
        stated = delta.get("stop_reason")
        if stated is not None:
            self._reason = _REASONS.get(stated) if isinstance(stated, str) else None
            if self._reason is None:
                raise _wrong("an end for a reason that is not known here")
            self._stated = str(stated)
            self._stop_sequence = _string(delta, "stop_sequence") or None
            self._ended = _others(delta, _OF_AN_END)
        self._count(fields)

    def _end(self) -> Finish:
        reason = self._reason
        if self._block is not None or reason is None:
            raise _wrong("the end of an answer that is not finished")
        if reason == "stop" and self._broken:
            raise ProviderError("failed", "The model produced an invalid tool call.")
        self._finished = True
        prompt, written, read = (self._counts.get(name, 0) for name in _PROMPT)
        usage = Usage(prompt + written + read, self._counts.get("output_tokens", 0), read, written)
        ended = "tool_calls" if self._calls and reason == "stop" else reason
        if not self._own:
            return Finish(ended, usage)
        counted = _others(self._usage, (*_PROMPT, "output_tokens"))
        return Finish(
            ended, usage, stated=self._stated, stop_sequence=self._stop_sequence, own=self._ended, own_usage=counted
        )

    def _open(self, fields: Json) -> _Block:
        if self._block is None or self._block.index != _index(fields):
            raise _wrong("a part of a block that is not open")
        return self._block

    def _count(self, fields: Json) -> None:
        """The counts are totals so far: a later one replaces the earlier, and one that is left out stays."""
        if fields.get("usage") is None:
            return
        usage = _member(fields, "usage")
        self._usage |= {name: value for name, value in usage.items() if value is not None}
        for name in (*_PROMPT, "output_tokens"):
            value = usage.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
                raise _wrong(f"a `{name}` that is not a count")
            self._counts[name] = value


def _finished(block: _Block) -> Json:
    """The whole of a block that is this dialect's own."""
    given = json_object(block.input().encode(errors="replace")) if block.pieces else None
    return block.begun if given is None else {**block.begun, "input": given}


def _others(fields: Json, said: Container[str]) -> str:
    """What else there is, as JSON; "" for nothing."""
    others = {name: value for name, value in fields.items() if name not in said and value is not None}
    return _json(others) if others else ""


def _json(value: Json) -> str:
    return orjson.dumps(value).decode()


def _text(text: str) -> Iterator[Event]:
    if text:
        yield TextDelta(text)


def _thought(text: str) -> Iterator[Event]:
    if text:
        yield ReasoningDelta(text)


def _member(fields: Json, name: str) -> Json:
    member = fields.get(name)
    if not isinstance(member, dict):
        raise _wrong(f"an event whose `{name}` is not an object")
    return cast("Json", member)


def _string(fields: Json, name: str) -> str:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise _wrong(f"an event whose `{name}` is not a text")
    return value or ""


def _index(fields: Json) -> int:
    index = fields.get("index")
    if isinstance(index, bool) or not isinstance(index, int):
        raise _wrong("an event without the index of its block")
    return index


def _wrong(what: str) -> ProviderError:
    return ProviderError("failed", f"Anthropic sent {what}.")
