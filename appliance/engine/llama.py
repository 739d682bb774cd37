"""llama.cpp's wire, as far as the engine speaks it: bodies that it takes and events that it sends. Pure.

Source: llama.cpp's server documentation, `POST /completion` and `POST /apply-template`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import orjson

from appliance.engine.options import Options
from appliance.engine.refusal import Refused
from appliance.engine.requests import Message
from appliance.errors import EngineError

_SEEDS = 2**32 - 1
"""llama.cpp's seeds have 32 bits, and the largest number means a random one."""

_FINAL_FIELDS = ("content", "stop", "stop_type", "timings")
"""What is wanted of the last event, which would otherwise repeat the whole prompt."""


class RunnerFailed(EngineError):
    """llama.cpp died, or says that it cannot go on, in the middle of a request."""


@dataclass(frozen=True, slots=True)
class TokenChance:
    """A token and the natural logarithm of its probability."""

    token: str
    logprob: float
    bytes: tuple[int, ...]
    alternatives: tuple["TokenChance", ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the answer's text, of one token or of several that make a character together."""

    text: str
    chances: tuple[TokenChance, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """The end of an answer. Counts are tokens, times nanoseconds; the prompt's count includes what was cached."""

    reason: Literal["stop", "length"]
    text: str
    prompt_tokens: int
    prompt_ns: int
    answer_tokens: int
    answer_ns: int


Event = Piece | End


def template_body(messages: Sequence[Message]) -> bytes:
    return orjson.dumps({"messages": [{"role": each.role, "content": each.content} for each in messages]})


def tokenize_body(prompt: str) -> bytes:
    """Special tokens count as such, as they do when Ollama hands the prompt over as text."""
    return orjson.dumps({"content": prompt, "add_special": True, "parse_special": True})


def completion_body(
    tokens: Sequence[int],
    options: Options,
    *,
    limit: int,
    stops: Sequence[str],
    ceiling: int | None,
    alternatives: int | None,
) -> bytes:
    """The body of a streamed completion.

    `limit` is the number of tokens that prompt and answer may have together. `stops` are the model's own stop
    sequences, which count unless the request brings some, and so does its own `ceiling` of tokens.
    `alternatives` asks for log probabilities.
    """
    room = limit - len(tokens)
    stop = [text for text in options.stop or stops if text]
    body: dict[str, object] = {
        "prompt": tokens,
        "stream": True,
        "cache_prompt": True,
        # One event after every batch of the prompt: writing it is how llama.cpp notices that the client left.
        "return_progress": True,
        "response_fields": _FINAL_FIELDS,
        "n_predict": min(options.num_predict or ceiling or room, room),
        "temperature": options.temperature,
        "top_k": options.top_k,
        "top_p": options.top_p,
        "min_p": options.min_p,
        "typical_p": options.typical_p,
        "repeat_penalty": options.repeat_penalty,
        "repeat_last_n": options.repeat_last_n if options.repeat_last_n >= 0 else limit,
        "presence_penalty": options.presence_penalty,
        "frequency_penalty": options.frequency_penalty,
        "stop": stop,
        # Else a stop sequence that is one special token would be left out of the text before it is looked for.
        "preserved_tokens": list(stops),
    }
    if options.seed is not None:
        body["seed"] = options.seed % _SEEDS
    if alternatives is not None:
        body["n_probs"] = max(alternatives, 1)
    return orjson.dumps(body)


def parse_event(line: bytes, *, alternatives: int = 0) -> Event | None:
    """Reads one line of a streamed completion; `None` for what carries no text. Raises RunnerFailed for an error."""
    name, _, data = line.strip().partition(b": ")
    if name == b"error":
        raise RunnerFailed(_error_text(data))
    if name != b"data" or data == b"[DONE]":
        return None
    try:
        event = cast("Mapping[str, object]", orjson.loads(data))
        if "error" in event:
            raise RunnerFailed(_error_text(orjson.dumps(event)))
        if event.get("stop"):
            return _end(event)
        return _piece(event, alternatives)
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError):
        raise RunnerFailed("the model runner sent something that is no event") from None


def refused(status: int, body: bytes) -> Refused:
    """llama.cpp's refusal of a request as Ollama passes it on: its whole body is the sentence."""
    return Refused(status, body.decode("utf-8", errors="replace").strip())


def _piece(event: Mapping[str, object], alternatives: int) -> Piece | None:
    text = cast("str", event.get("content", ""))
    chances = cast("Sequence[Mapping[str, object]]", event.get("completion_probabilities", ()))
    if not text and not chances:
        return None
    return Piece(text, tuple(_chance(each, alternatives) for each in chances))


def _chance(entry: Mapping[str, object], alternatives: int = 0) -> TokenChance:
    others = cast("Sequence[Mapping[str, object]]", entry.get("top_logprobs", ()))
    return TokenChance(
        token=cast("str", entry["token"]),
        logprob=cast("float", entry["logprob"]),
        bytes=tuple(cast("Sequence[int]", entry["bytes"])),
        alternatives=tuple(_chance(each) for each in others[:alternatives]),
    )


def _end(event: Mapping[str, object]) -> End:
    timings = cast("Mapping[str, float]", event["timings"])
    return End(
        reason="length" if event.get("stop_type") == "limit" else "stop",
        text=cast("str", event.get("content", "")),
        prompt_tokens=int(timings["cache_n"] + timings["prompt_n"]),
        prompt_ns=int(timings["prompt_ms"] * 1e6),
        answer_tokens=int(timings["predicted_n"]),
        answer_ns=int(timings["predicted_ms"] * 1e6),
    )


def _error_text(data: bytes) -> str:
    try:
        value = cast("object", orjson.loads(data))
    except orjson.JSONDecodeError:
        value = None
    while isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        value = fields.get("error", fields.get("message"))
    detail = value if isinstance(value, str) else "no reason given"
    return f"an error was encountered while running the model: {detail}"
