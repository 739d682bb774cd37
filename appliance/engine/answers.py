"""The bodies that answer `/api/chat`: NDJSON lines and whole objects, fields in Ollama's order. Pure.

Source: the recorded exchanges of Ollama 0.32. Times are nanoseconds since the epoch and come from the caller. A count
or duration of zero is left out, as Ollama leaves it out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import orjson

from appliance.engine.clock import NANO
from appliance.engine.llama import End, Piece, TokenChance


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a request took as a whole, and how long it waited for the model to be in memory: nanoseconds."""

    total_ns: int
    load_ns: int


def timestamp(at_ns: int) -> str:
    """RFC 3339 in UTC with nanoseconds: `2026-11-29T19:30:11.383711201Z`."""
    seconds, fraction = divmod(at_ns, NANO)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"


def piece_line(model: str, at_ns: int, piece: Piece) -> bytes:
    """One line of a streamed answer. `model` is the name as the request wrote it."""
    body = _head(model, at_ns, piece.text) | {"done": False}
    if piece.chances:
        body["logprobs"] = _logprobs(piece.chances)
    return orjson.dumps(body) + b"\n"


def end_line(model: str, at_ns: int, end: End, timing: Timing) -> bytes:
    """The last line of a streamed answer."""
    return orjson.dumps(_end(model, at_ns, end.text, end, timing, ())) + b"\n"


def whole(model: str, at_ns: int, pieces: Sequence[Piece], end: End, timing: Timing) -> bytes:
    """A whole answer in one body."""
    text = "".join(piece.text for piece in pieces) + end.text
    chances = [chance for piece in pieces for chance in piece.chances]
    return orjson.dumps(_end(model, at_ns, text, end, timing, chances))


def residence(model: str, at_ns: int, reason: Literal["load", "unload"]) -> bytes:
    """The answer to a request without messages, which loads or unloads the model."""
    return orjson.dumps(_head(model, at_ns, "") | {"done": True, "done_reason": reason})


def error(message: str) -> bytes:
    """An error, as a body or as a line that ends a stream."""
    return orjson.dumps({"error": message})


def _head(model: str, at_ns: int, text: str) -> dict[str, object]:
    return {"model": model, "created_at": timestamp(at_ns), "message": {"role": "assistant", "content": text}}


def _end(
    model: str, at_ns: int, text: str, end: End, timing: Timing, chances: Sequence[TokenChance]
) -> dict[str, object]:
    body = _head(model, at_ns, text) | {"done": True, "done_reason": end.reason}
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


def _logprobs(chances: Sequence[TokenChance]) -> list[dict[str, object]]:
    return [_logprob(each) for each in chances]


def _logprob(chance: TokenChance) -> dict[str, object]:
    entry: dict[str, object] = {"token": chance.token, "logprob": chance.logprob, "bytes": list(chance.bytes)}
    if chance.alternatives:
        entry["top_logprobs"] = [_logprob(each) for each in chance.alternatives]
    return entry
