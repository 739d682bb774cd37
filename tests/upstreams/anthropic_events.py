"""The events of an answer of Anthropic's Messages API, byte for byte as it streams them, and what they amount to.

Sources: Anthropic's documentation ("Streaming messages"); the types of PyPI `anthropic` 2.14.0.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from tests.upstreams.anthropic_rules import SIGNATURE

Json = dict[str, Any]


def event(kind: str, **fields: Any) -> bytes:
    """One server-sent event; its name and the `type` of its data are the same."""
    return f"event: {kind}\n".encode() + b"data: " + orjson.dumps({"type": kind, **fields}) + b"\n\n"


def start(*, tokens: int = 7, written: int = 0, read: int = 0, model: str = "claude-double") -> bytes:
    """`message_start`: `tokens` of the prompt that are new, `written` into the cache and `read` from it."""
    usage = {
        "input_tokens": tokens,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 1,
        "service_tier": "standard",
    }
    message = {
        "id": "msg_01Double",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    return event("message_start", message=message)


def ping() -> bytes:
    return event("ping")


def block(index: int, opened: Json, deltas: Iterable[Json]) -> Iterator[bytes]:
    """A content block from its start to its stop, one event a piece."""
    yield event("content_block_start", index=index, content_block=opened)
    for delta in deltas:
        yield event("content_block_delta", index=index, delta=delta)
    yield event("content_block_stop", index=index)


def text(*pieces: str, index: int = 0) -> bytes:
    deltas = ({"type": "text_delta", "text": piece} for piece in pieces)
    return b"".join(block(index, {"type": "text", "text": ""}, deltas))


def thinking(*pieces: str, index: int = 0) -> bytes:
    deltas = [*({"type": "thinking_delta", "thinking": piece} for piece in pieces)]
    signed = {"type": "signature_delta", "signature": f"{SIGNATURE}EqQBCgIYAhIM"}
    return b"".join(block(index, {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]))


def tool_use(name: str, *pieces: str, index: int = 0, id: str = "toolu_01Double") -> bytes:  # noqa: A002
    """A call whose input comes in these pieces, the first of which is always empty; none at all is `{}`."""
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces))
    return b"".join(block(index, {"type": "tool_use", "id": id, "name": name, "input": {}}, deltas))


def end(reason: str = "end_turn", *, tokens: int = 3, sequence: str | None = None, **usage: int) -> bytes:
    """The reason, the count of the answer's tokens, and the end."""
    delta = {"stop_reason": reason, "stop_sequence": sequence}
    return event("message_delta", delta=delta, usage={"output_tokens": tokens, **usage}) + event("message_stop")


def error(kind: str, message: str) -> bytes:
    """An error in mid-stream, after which nothing comes."""
    return event("error", error={"type": kind, "message": message}, request_id="req_011Double")


def parsed(data: bytes) -> list[tuple[str, str]]:
    """The events of a stream as name and data, as the WHATWG HTML standard reads what is written here."""
    events: list[tuple[str, str]] = []
    for part in data.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in part.split("\n") if ": " in line)
        if "data" in fields:
            events.append((fields.get("event", ""), fields["data"]))
    return events


def folded(data: bytes) -> Json:
    """The message that the events of a whole answer amount to: what the API answers where no stream was asked."""
    message: Json = {}
    pieces: list[str] = []
    for _, line in parsed(data):
        one = orjson.loads(line)
        match one["type"]:
            case "message_start":
                message = one["message"]
            case "content_block_start":
                message["content"].append(one["content_block"])
                pieces = []
            case "content_block_delta":
                delta = one["delta"]
                opened = message["content"][-1]
                if delta["type"] == "input_json_delta":
                    pieces.append(delta["partial_json"])
                    opened["input"] = orjson.loads("".join(pieces) or "{}") if _is_json(pieces) else {}
                else:
                    name = delta["type"].removesuffix("_delta")
                    opened[name] += delta[name]
            case "message_delta":
                message |= one["delta"]
                message["usage"] |= one["usage"]
            case _:
                pass
    return message


def _is_json(pieces: list[str]) -> bool:
    try:
        orjson.loads("".join(pieces) or "{}")
    except orjson.JSONDecodeError:
        return False
    return True
