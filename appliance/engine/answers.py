"""The bodies that answer `/api/chat` and `/api/generate`: NDJSON lines and whole objects, as Ollama has them. Pure.

Source: the recorded exchanges of Ollama 0.32. Times are nanoseconds since the epoch and come from the caller. A count
or duration of zero is left out, as Ollama leaves it out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import orjson

from appliance.engine.clock import NANO
from appliance.engine.llama import End, Piece, TokenChance
from appliance.engine.tools import ToolCall

Saying = Callable[[str, Sequence[ToolCall]], Mapping[str, object]]
"""How a route puts text and calls of tools into its answer."""


def in_message(text: str, calls: Sequence[ToolCall] = ()) -> Mapping[str, object]:
    """The way of `/api/chat`."""
    message: dict[str, object] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
    return {"message": message}


def in_response(text: str, _: Sequence[ToolCall] = ()) -> Mapping[str, object]:
    """The way of `/api/generate`, which knows no tools."""
    return {"response": text}


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a request took as a whole, and how long it waited for the model to be in memory: nanoseconds."""

    total_ns: int
    load_ns: int


def timestamp(at_ns: int) -> str:
    """RFC 3339 in UTC with nanoseconds: `2026-11-29T19:30:11.383711201Z`."""
    seconds, fraction = divmod(at_ns, NANO)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"


@dataclass(frozen=True, slots=True)
class Voice:
    """Who answers and how: `model` is the name as the request wrote it."""

    model: str
    say: Saying

    def line(self, at_ns: int, event: Piece | ToolCall) -> bytes:
        """One line of a streamed answer."""
        if isinstance(event, ToolCall):
            return orjson.dumps(self._head(at_ns, "", [event]) | {"done": False}) + b"\n"
        body = self._head(at_ns, event.text) | {"done": False}
        if event.chances:
            body["logprobs"] = _logprobs(event.chances)
        return orjson.dumps(body) + b"\n"

    def last_line(self, at_ns: int, end: End, timing: Timing, context: Sequence[int] = ()) -> bytes:
        """The last line of a streamed answer; `context` is the tokens of the whole exchange."""
        return orjson.dumps(self._end(at_ns, end.text, (), end, timing, (), context)) + b"\n"

    def whole(
        self, at_ns: int, events: Sequence[Piece | ToolCall], end: End, timing: Timing, context: Sequence[int] = ()
    ) -> bytes:
        """A whole answer in one body."""
        pieces = [event for event in events if isinstance(event, Piece)]
        calls = [event for event in events if isinstance(event, ToolCall)]
        text = "".join(piece.text for piece in pieces) + end.text
        chances = [chance for piece in pieces for chance in piece.chances]
        return orjson.dumps(self._end(at_ns, text, calls, end, timing, chances, context))

    def residence(self, at_ns: int, reason: Literal["load", "unload"]) -> bytes:
        """The answer to a request that asks for no text, and loads or unloads the model."""
        return orjson.dumps(self._head(at_ns, "") | {"done": True, "done_reason": reason})

    def _head(self, at_ns: int, text: str, calls: Sequence[ToolCall] = ()) -> dict[str, object]:
        return {"model": self.model, "created_at": timestamp(at_ns), **self.say(text, calls)}

    def _end(
        self,
        at_ns: int,
        text: str,
        calls: Sequence[ToolCall],
        end: End,
        timing: Timing,
        chances: Sequence[TokenChance],
        context: Sequence[int],
    ) -> dict[str, object]:
        body = self._head(at_ns, text, calls) | {"done": True, "done_reason": end.reason}
        if context:
            body["context"] = context
        if chances:
            body["logprobs"] = _logprobs(chances)
        measured = {
            "total_duration": timing.total_ns,
            "load_duration": timing.load_ns,
            "prompt_eval_count": end.prompt_tokens,
            "prompt_eval_duration": end.prompt_ns,
            "eval_count": end.answer_tokens,
            "eval_duration": end.answer_ns,
        }
        return body | {name: value for name, value in measured.items() if value}


def error(message: str) -> bytes:
    """An error, as a body or as a line that ends a stream."""
    return orjson.dumps({"error": message})


def _call(call: ToolCall) -> dict[str, object]:
    function = {"index": call.index, "name": call.name, "arguments": call.arguments}
    return {"id": call.id, "function": function}


def _logprobs(chances: Sequence[TokenChance]) -> list[dict[str, object]]:
    return [_logprob(each) for each in chances]


def _logprob(chance: TokenChance) -> dict[str, object]:
    entry: dict[str, object] = {"token": chance.token, "logprob": chance.logprob, "bytes": list(chance.bytes)}
    if chance.alternatives:
        entry["top_logprobs"] = [_logprob(each) for each in chance.alternatives]
    return entry
