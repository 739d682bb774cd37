"""Ollama's native `/api/chat`: writes the body, reads the lines of the answer and the errors.

Must not know machines, connections or statuses: those are the lane's. Source: dialects.md §2, and answers recorded
from Ollama 0.32.15.
"""

import re
from typing import cast

import orjson

from appliance.dialects.chat import Chat, Event, Finish, FinishReason, Sampling, TextDelta, Usage

MAX_PREDICT = 2**31 - 1
"""llama.cpp counts tokens in 32 bits; no model's context is as long, so that a larger ceiling means the same."""

MAX_ERROR_CHARACTERS = 500
"""An error is a sentence. What is longer is a page of some proxy, whose beginning tells enough."""

MAX_NESTED_ERRORS = 4
"""An error of the runner comes as JSON inside the server's own `error` string: one level; more is not explained."""

_FINISH: dict[object, FinishReason] = {"stop": "stop", "length": "length"}

_OVERFLOW = re.compile(r"request \(([0-9]{1,12}) tokens\) exceeds the available context size \(([0-9]{1,12}) tokens\)")


class OllamaError(Exception):
    """The server said that it failed, or said something that is not its dialect. The text is one sentence."""


def chat_body(chat: Chat, *, model: str, keep_alive: str | int | None = None, num_ctx: int | None = None) -> bytes:
    """The body of a chat, always streamed and never silently cut.

    `keep_alive` is Ollama's (`"5m"`, seconds, -1, 0). `num_ctx` is the one context length of this model on its
    machine: another value would reload the model. What the caller did not set is left to the model's own defaults.
    """
    body: dict[str, object] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.text} for message in chat.messages],
        "stream": True,
        "truncate": False,
    }
    options = _options(chat.sampling, num_ctx)
    if options:
        body["options"] = options
    if keep_alive is not None:
        body["keep_alive"] = keep_alive
    return orjson.dumps(body)


def _options(sampling: Sampling, num_ctx: int | None) -> dict[str, object]:
    options: dict[str, object] = {
        "num_ctx": num_ctx,
        "num_predict": None if sampling.max_tokens is None else min(sampling.max_tokens, MAX_PREDICT),
        "stop": sampling.stop or None,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "frequency_penalty": sampling.frequency_penalty,
        "presence_penalty": sampling.presence_penalty,
    }
    return {name: value for name, value in options.items() if value is not None}


def read_line(line: bytes) -> tuple[Event, ...]:
    """The events of one line of the stream; a blank line has none, and neither has one of thinking alone.

    Raises OllamaError for an `error` line, for one that is not of this dialect, and for an end that is not the
    model's own: `load` and `unload` generated nothing, and a connection that broke inside the server comes as
    `done` without a reason.
    """
    if not line.strip():
        return ()
    fields = _object(line)
    if fields is None:
        raise OllamaError("It sent a line that is not a JSON object.")
    if fields.get("error") is not None:
        raise OllamaError(_sentence(fields["error"]))
    text = _text(fields.get("message"))
    events: tuple[Event, ...] = (TextDelta(text),) if text else ()
    done = fields.get("done", False)
    if not isinstance(done, bool):
        raise OllamaError("It sent a line whose `done` is not a boolean.")
    return (*events, _finish(fields)) if done else events


def _text(message: object) -> str:
    if message is None:
        return ""
    content = cast("dict[str, object]", message).get("content", "") if isinstance(message, dict) else None
    if not isinstance(content, str):
        raise OllamaError("It sent a line whose `message` is not one.")
    return content


def _finish(fields: dict[str, object]) -> Finish:
    stated = fields.get("done_reason")
    reason = _FINISH.get(stated) if isinstance(stated, str) else None
    if reason is None:
        raise OllamaError("It ended its answer without having finished it.")
    return Finish(reason, Usage(_count(fields, "prompt_eval_count"), _count(fields, "eval_count")))


def _count(fields: dict[str, object], name: str) -> int:
    value = fields.get(name, 0)  # left out when zero
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise OllamaError(f"It sent a line whose `{name}` is not a count.")
    return value


def error_text(body: bytes) -> str:
    """The sentence in the body of an error status, unwrapped; of a body without one its beginning, "" if empty."""
    fields = _object(body)
    if fields is not None and fields.get("error") is not None:
        return _sentence(fields["error"])
    return body.decode(errors="replace").strip()[:MAX_ERROR_CHARACTERS]


def is_overflow(text: str) -> tuple[int, int] | None:
    """The prompt's tokens and the context's size, where an error's text says that the one exceeds the other."""
    found = _OVERFLOW.search(text)
    return (int(found[1]), int(found[2])) if found else None


def _sentence(error: object) -> str:
    """Takes `error` and `message` off until a plain text remains."""
    for _ in range(MAX_NESTED_ERRORS):
        inner = _object(error.encode(errors="replace")) if isinstance(error, str) else error
        if not isinstance(inner, dict):
            break
        fields = cast("dict[str, object]", inner)
        said = fields.get("error", fields.get("message"))
        if said is None:
            break
        error = said
    text = error.strip() if isinstance(error, str) else ""
    return text[:MAX_ERROR_CHARACTERS] or "It gave no reason."


def _object(data: bytes) -> dict[str, object] | None:
    try:
        value: object = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None
