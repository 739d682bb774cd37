"""Writes the answer of a Messages call, whole or as server-sent events.

An answer is a list of blocks. In a stream one is open at a time, and a new one begins wherever the kind of what comes
changes; a block that nothing is said in is never opened, but to keep a client waiting. Must not decide an ending, a
header or when to speak. Source: dialects.md §1.2 ("SSE", "stop_reason") and §1.4, gateway.md ("Streaming").
"""

from collections.abc import Callable, Iterable, Iterator
from typing import cast

import orjson

from appliance.dialects.chat import (
    Event,
    Finish,
    FinishReason,
    OwnBlock,
    OwnDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from appliance.dialects.jsonobject import played_back

CONTENT_AFTER_SECONDS = 200.0
"""After such a silence an empty piece of content goes out instead of a ping: clients cut a stream that had none for
300 s, and send the call again."""

_REASONS: dict[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
_STATED: dict[str, FinishReason] = {
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "model_context_window_exceeded": "length",
}
"""Words of the dialect that are told as the provider said them, each with the end that it is; it knows no others."""

_ADDED_TO = {"signature_delta": "thinking", "citations_delta": "text"}
"""The kind of block that an addition is part of, and which it may be the first or the only piece of: of a thought that
is not shown there is but the signature, and web search says where a text comes from before the text."""

Json = dict[str, object]


def whole(
    *,
    id: str,  # noqa: A002  the wire's own word
    model: str,
    events: Iterable[Event],
    input_tokens: int,
) -> bytes:
    """One `message` of all events of an answer, the last of which is its `Finish`. `model` is the one that answered.

    `input_tokens` is the estimate for the prompt, where the model does not tell.
    """
    blocks = _Blocks()
    *said, end = events
    for event in said:
        blocks.add(event)
    finish = cast("Finish", end)
    content = blocks.closed()
    called = any(block["type"] == "tool_use" for block in content)
    message = _message(id, model, content) | _end(finish, called=called)
    return orjson.dumps(message | {"usage": _usage(finish, input_tokens)})


class _Blocks:
    """The blocks of a whole answer: `add` every event, then take them `closed`."""

    def __init__(self) -> None:
        self._blocks: list[Json] = []
        self._open = ""
        self._pieces: list[str] = []

    def add(self, event: Event) -> None:
        match event:
            case TextDelta():
                self._say("text", event.text)
            case ReasoningDelta():
                self._say("thinking", event.text)
            case OwnDelta():
                self._own(_object(event.json))
            case _:
                self.closed()
                block = _whole_block(event)
                self._blocks += [block] if block else []

    def closed(self) -> list[Json]:
        if self._open:
            self._blocks[-1][self._open] = "".join(self._pieces)
        self._open = ""
        return self._blocks

    def _say(self, kind: str, text: str) -> None:
        if text:
            self._within(kind)
            self._pieces.append(text)

    def _own(self, delta: Json) -> None:
        kind = _added_to(delta)
        if kind:
            self._within(kind)
            _apply(self._blocks[-1], delta)

    def _within(self, kind: str) -> None:
        if self._open != kind:
            self.closed()
            self._blocks.append(_begun(kind))
            self._open, self._pieces = kind, []


class Stream:
    """The events of one streamed answer, which bears the string that was sent as its `model`.

    Give it `start`, every event, then `finish`; or `error` at any point, and nothing after it. `input_tokens` gives the
    estimate that stands in for the prompt's tokens until the model has told them.
    """

    def __init__(
        self,
        id: str,  # noqa: A002  the wire's own word
        model: str,
        *,
        input_tokens: Callable[[], int],
    ) -> None:
        self._id = id
        self._model = model
        self._input_tokens = input_tokens
        self._index = 0
        self._open = ""  # the kind of the block that is
        self._called = False
        self._finish: Finish | None = None

    def start(self) -> bytes:
        message = _message(self._id, self._model, []) | {"stop_reason": None, "stop_sequence": None}
        message["usage"] = {"input_tokens": max(1, self._input_tokens()), "output_tokens": 1}
        return _event("message_start", message=message) + PING

    def delta(self, event: Event) -> bytes:
        """The events of one event; none, yet, for a `Finish`."""
        return b"".join(self._delta(event))

    def _delta(self, event: Event) -> Iterator[bytes]:
        match event:
            case TextDelta():
                yield from self._say("text", event.text)
            case ReasoningDelta():
                yield from self._say("thinking", event.text)
            case OwnDelta():
                delta = _object(event.json)
                kind = _added_to(delta)
                if kind:
                    yield from self._within(kind, delta)
            case Finish():
                self._finish = event
            case _:
                yield self._close()
                self._called = self._called or isinstance(event, ToolCallDelta)
                block = _whole_block(event)
                if block is not None:
                    yield from self._put(block)

    def keep_alive(self, silent: float) -> bytes:
        """What is said after `silent` seconds in which nothing came."""
        if silent < CONTENT_AFTER_SECONDS:
            return PING
        if self._open:
            return self._piece(_piece_of(self._open, ""))
        return self._begin("text") + self._piece(_piece_of("text", ""))

    def finish(self) -> bytes:
        """The end of success."""
        finish = self._finish
        assert finish is not None  # noqa: S101  the caller knows how the answer ended
        usage = _usage(finish, self._input_tokens())
        ended = _event("message_delta", delta=_end(finish, called=self._called), usage=usage)
        return b"".join([self._close(), ended, _event("message_stop")])

    def error(self, body: bytes) -> bytes:
        """The end of failure: the error object of `errors.body` as an event, and no terminal after it."""
        return b"event: error\ndata: " + body + b"\n\n"

    def _say(self, kind: str, text: str) -> Iterator[bytes]:
        if text:
            yield from self._within(kind, _piece_of(kind, text))

    def _within(self, kind: str, piece: Json) -> Iterator[bytes]:
        if self._open != kind:
            yield self._close()
            yield self._begin(kind)
        yield self._piece(piece)

    def _put(self, block: Json) -> Iterator[bytes]:
        """A whole block. What it was given comes as a piece of its own, since clients read it nowhere else."""
        if "input" not in block:
            yield _event("content_block_start", index=self._index, content_block=block)
        else:
            yield _event(
                "content_block_start", index=self._index, content_block={**block, "input": dict[str, object]()}
            )
            written = orjson.dumps(block["input"]).decode()
            yield self._piece({"type": "input_json_delta", "partial_json": written})
        self._open = str(block["type"])
        yield self._close()

    def _begin(self, kind: str) -> bytes:
        self._open = kind
        return _event("content_block_start", index=self._index, content_block=_begun(kind))

    def _piece(self, delta: Json) -> bytes:
        return _event("content_block_delta", index=self._index, delta=delta)

    def _close(self) -> bytes:
        if not self._open:
            return b""
        self._open = ""
        self._index += 1
        return _event("content_block_stop", index=self._index - 1)


def _event(kind: str, **fields: object) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps({"type": kind, **fields}))


PING = _event("ping")


def _message(message_id: str, model: str, content: list[Json]) -> Json:
    return {"id": message_id, "type": "message", "role": "assistant", "model": model, "content": content}


def _begun(kind: str) -> Json:
    """A block of text, or of thoughts that nobody has signed, before anything is said in it."""
    return {"type": "text", "text": ""} if kind == "text" else {"type": "thinking", "thinking": "", "signature": ""}


def _piece_of(kind: str, text: str) -> Json:
    return {"type": f"{kind}_delta", kind: text}


def _whole_block(event: Event) -> Json | None:
    """The block that an event is by itself; None for one that is none."""
    match event:
        case ToolCallDelta():
            # Some providers hand on what their model wrote, be it JSON or not; here it has to be an object.
            given = played_back(event.arguments)
            return {"type": "tool_use", "id": event.id, "name": event.name, "input": given} | _object(event.own)
        case OwnBlock():
            return _object(event.json)
        case _:
            return None


def _added_to(delta: Json) -> str:
    """The kind of block that is added to, "" where that is not known."""
    return _ADDED_TO.get(str(delta.get("type")), "")


def _apply(block: Json, delta: Json) -> None:
    """What is added to a block of a whole answer."""
    if delta.get("type") == "signature_delta":
        block["signature"] = delta.get("signature")
    elif delta.get("type") == "citations_delta":
        block["citations"] = [*cast("list[object]", block.get("citations") or []), delta.get("citation")]


def _end(finish: Finish, *, called: bool) -> Json:
    reason = "tool_calls" if called and finish.reason == "stop" else finish.reason
    stated = finish.stated if _STATED.get(finish.stated) == reason else _REASONS[reason]
    sequence = finish.stop_sequence if stated == "stop_sequence" else None
    return _object(finish.own) | {"stop_reason": stated, "stop_sequence": sequence}


def _usage(finish: Finish, estimate: int) -> Json:
    """Here the prompt's tokens are those that no cache had a part in. Clients count on there being some."""
    usage = finish.usage
    cached = usage.cache_read + usage.cache_written
    counts: Json = {
        "input_tokens": max(0, usage.prompt_tokens - cached) if usage.prompt_tokens else max(1, estimate),
        "output_tokens": usage.completion_tokens,
    }
    if cached:
        counts |= {"cache_creation_input_tokens": usage.cache_written, "cache_read_input_tokens": usage.cache_read}
    return _object(finish.own_usage) | counts


def _object(text: str) -> Json:
    """What a text says, which is a JSON object; "" is an empty one."""
    return cast("Json", orjson.loads(text)) if text else {}
