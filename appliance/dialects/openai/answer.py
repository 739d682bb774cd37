"""Writes the answer of a chat call, whole or as server-sent events.

Must not decide an ending, a header or when to speak: it turns what it is given into bytes.
Source: dialects.md §1.1 ("Stream", "Non-stream"), gateway.md ("Headers and body additions", "Streaming").
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from appliance.dialects.chat import Finish, FinishReason, TextDelta, Usage

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"
"""A comment (WHATWG HTML, "Server-sent events"): it moves no event and keeps proxies and clients waiting."""


def whole(
    *,
    id: str,  # noqa: A002  the wire's own word
    created: int,
    model: str,
    text: str,
    finish: FinishReason,
    usage: Usage,
    pulse: Mapping[str, object],
) -> bytes:
    """One `chat.completion`. `created` is in seconds since the epoch, `model` the one that answered."""
    message = {"role": "assistant", "content": text, "refusal": None}
    return orjson.dumps(
        {
            "id": id,
            "object": "chat.completion",
            "created": created,
            "model": model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
            "usage": _usage(usage),
            "pulse": dict(pulse),
        }
    )


@dataclass(frozen=True, slots=True)
class Stream:
    """The events of one streamed answer, which all bear the same id, time and model: the string that was sent."""

    id: str
    created: int
    model: str
    include_usage: bool

    def start(self) -> bytes:
        return self._choice({"role": "assistant", "content": ""}, None)

    def delta(self, event: TextDelta) -> bytes:
        return self._choice({"content": event.text}, None)

    def finish(self, finish: Finish) -> bytes:
        """The end of success: the finish chunk, the usage chunk if it was asked for, and the terminal."""
        usage = self._chunk([], _usage(finish.usage)) if self.include_usage else b""
        return self._choice({}, finish.reason) + usage + DONE

    def keep_alive(self) -> bytes:
        return KEEP_ALIVE

    def error(self, body: bytes) -> bytes:
        """The end of failure: the error object of `errors.body` as an event, and no terminal after it."""
        return b"data: " + body + b"\n\n"

    def _choice(self, delta: Mapping[str, str], finish: FinishReason | None) -> bytes:
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": finish}], None)

    def _chunk(self, choices: Sequence[Mapping[str, object]], usage: Mapping[str, int] | None) -> bytes:
        chunk: dict[str, object] = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": choices,
        }
        if self.include_usage:
            chunk["usage"] = usage
        return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
