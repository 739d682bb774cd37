"""A checker of Anthropic's stream: reads server-sent events and asserts that every rule of the dialect is kept.

The rules are those of dialects.md §1.2 ("SSE") and gateway.md ("Streaming"); shapes: the types of PyPI `anthropic`
2.14.0.

    stream  = message_start (ping | block)* message_delta message_stop
            | message_start (…)* error                                  anywhere, and nothing of an end before it
    block   = content_block_start (ping | content_block_delta)* content_block_stop

An event's name is its `type`. One block is open at a time; they are numbered from 0 without gaps. A delta is of the
kind that its block takes, and says something; so does every block. A stream that kept a client waiting may have deltas
that say nothing, and blocks of text with nothing but those. A stream that calls ends for that reason, unless it was cut
off.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

STOP_REASONS = (
    "end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded",
)  # fmt: skip
COUNTS = {"input_tokens", "output_tokens"}
CACHE_COUNTS = {"cache_creation_input_tokens", "cache_read_input_tokens"}
OTHER_COUNTS = {"cache_creation", "server_tool_use", "service_tier"}
"""What only Anthropic itself counts, and hands on to callers of its dialect."""

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_EVENT = re.compile(r"event: (\w+)\ndata: (.+)")
_BEGUN: dict[str, Json] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}


@dataclass
class Answer:
    """What a client has at the end: the message, what came of it in which delta, or the error of one that failed."""

    message: Json = field(default_factory=dict)
    deltas: list[Json] = field(default_factory=list)
    pings: int = 0
    error: Json | None = None

    @property
    def said(self) -> list[Json]:
        """The blocks without those that only kept the client waiting."""
        return [one for one in self.message["content"] if one != _BEGUN["text"]]


def events(stream: bytes) -> list[Json]:
    """The data of each server-sent event, in its order (WHATWG HTML, "Server-sent events")."""
    assert stream == b"" or stream.endswith(b"\n\n"), "an event was not ended by an empty line"
    found: list[Json] = []
    for block in stream.decode().removesuffix("\n\n").split("\n\n") if stream else []:
        lines = _EVENT.fullmatch(block)
        assert lines, f"not a name and one line of data: {block[:40]}"
        found.append(json.loads(lines[2]))
        assert lines[1] == found[-1]["type"], "the name is another than the type"
    return found


def read(stream: bytes, *, kept_alive: bool = False) -> Answer:
    """The answer in a whole stream; `kept_alive`: it may have had to keep its client waiting.

    Raises AssertionError where a rule is broken.
    """
    sent = iter(events(stream))
    answer = Answer(_message(next(sent, {})))
    blocks = _Blocks(answer, kept_alive=kept_alive)
    for event in sent:
        match event["type"]:
            case "ping":
                assert event == {"type": "ping"}
                answer.pings += 1
            case "content_block_start" | "content_block_delta" | "content_block_stop":
                blocks.read(event)
            case "message_delta":
                assert not blocks.are_open, "the end of a message whose block is open"
                _end(answer.message, event)
                assert next(sent, None) == {"type": "message_stop"}
                assert list(sent) == [], "a message goes on after its end"
                return answer
            case "error":
                answer.error = _error(event)
                assert list(sent) == [], "a message goes on after its error"
                return answer
            case other:
                raise AssertionError(f"an event of no known type: {other}")
    raise AssertionError("a message without an end")


def _message(event: Json) -> Json:
    assert set(event) == {"type", "message"}
    assert event["type"] == "message_start"
    message = event["message"]
    fixed = {"type": "message", "role": "assistant", "content": [], "stop_reason": None, "stop_sequence": None}
    assert set(message) == {"id", "model", "usage", *fixed}
    assert {name: message[name] for name in fixed} == fixed
    assert isinstance(message["id"], str)
    assert message["id"]
    assert isinstance(message["model"], str)
    assert message["model"]
    _counts(message["usage"])
    assert message["usage"]["input_tokens"] >= 1, "clients take no prompt of no tokens"
    return message


def _counts(usage: Json) -> None:
    known = set(usage) - OTHER_COUNTS
    assert known in (COUNTS, COUNTS | CACHE_COUNTS)
    assert all(type(usage[name]) is int and usage[name] >= 0 for name in known)


class _Blocks:
    """Reads the events of blocks into the message of an answer."""

    def __init__(self, answer: Answer, *, kept_alive: bool) -> None:
        self._answer = answer
        self._content: list[Json] = answer.message["content"]
        self._kept_alive = kept_alive
        self._pieces: list[str] = []
        self._waited = False
        self.are_open = False

    def read(self, event: Json) -> None:
        kind = event["type"]
        assert type(event["index"]) is int
        assert self.are_open == (kind != "content_block_start"), "not one block after the other"
        assert event["index"] == len(self._content) - self.are_open, "a number that is not the block's"
        match kind:
            case "content_block_start":
                assert set(event) == {"type", "index", "content_block"}
                self._start(event["content_block"])
            case "content_block_delta":
                assert set(event) == {"type", "index", "delta"}
                self._delta(self._content[-1], event["delta"])
            case _:
                assert set(event) == {"type", "index"}
                self._stop(self._content[-1])
        self.are_open = kind != "content_block_stop"

    def _start(self, block: Json) -> None:
        kind = block["type"]
        assert block == _BEGUN.get(kind, block), "a block that does not begin empty"
        assert block.get("input", {}) == {}, "an input that clients do not read"
        if kind == "tool_use":
            assert set(block) - {"caller", "toolset_name"} == {"type", "id", "name", "input"}
            assert _ID.fullmatch(block["id"])
            assert block["id"] not in [one.get("id") for one in self._content], "an id is used twice"
            assert block["name"]
        self._content.append(block)
        self._pieces, self._waited = [], False

    def _delta(self, block: Json, delta: Json) -> None:
        match block["type"], delta["type"]:
            case ("text" | "thinking") as kind, ("text_delta" | "thinking_delta") as given:
                assert given == f"{kind}_delta", "a delta of another kind of block"
                assert set(delta) == {"type", kind}
                assert isinstance(delta[kind], str)
                assert delta[kind] or self._kept_alive, "a delta that says nothing"
                self._waited = self._waited or not delta[kind]
                block[kind] += delta[kind]
            case "thinking", "signature_delta":
                assert set(delta) == {"type", "signature"}
                assert delta["signature"]
                assert not block["signature"], "a thought is signed twice"
                block["signature"] = delta["signature"]
            case "text", "citations_delta":
                assert set(delta) == {"type", "citation"}
                assert delta["citation"]["type"]
                block.setdefault("citations", []).append(delta["citation"])
            case _, "input_json_delta":
                assert set(delta) == {"type", "partial_json"}
                assert "input" in block, "an input of a block that takes none"
                self._pieces.append(delta["partial_json"])
            case kind, given:
                raise AssertionError(f"a delta of the type {given} in a block of the type {kind}")
        self._answer.deltas.append(delta)

    def _stop(self, block: Json) -> None:
        if self._pieces:
            block["input"] = json.loads("".join(self._pieces))
            assert isinstance(block["input"], dict)
        if block["type"] == "thinking":
            assert block["thinking"] or block["signature"], "a thought that says nothing"
        if block["type"] == "text":
            assert block != _BEGUN["text"] or self._waited, "a text that says nothing"


def _end(message: Json, event: Json) -> None:
    assert set(event) == {"type", "delta", "usage"}
    assert set(event["delta"]) - {"container", "stop_details"} == {"stop_reason", "stop_sequence"}
    message |= event["delta"]
    reason, sequence = message["stop_reason"], message["stop_sequence"]
    assert reason in STOP_REASONS
    assert sequence is None or (reason == "stop_sequence" and isinstance(sequence, str) and sequence)
    called = any(block["type"] == "tool_use" for block in message["content"])
    allowed = ("tool_use", "max_tokens", "refusal", "model_context_window_exceeded")
    assert reason in allowed if called else reason != "tool_use"
    _counts(event["usage"])
    message["usage"] |= event["usage"]


def _error(event: Json) -> Json:
    assert set(event) == {"type", "error", "request_id"}
    assert set(event["error"]) == {"type", "message"}
    assert all(isinstance(text, str) and text for text in [*event["error"].values(), event["request_id"]])
    return event
