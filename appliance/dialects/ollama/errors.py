"""What Ollama says when something went wrong: the sentence in it, and the kinds that callers have to tell apart."""

import re
from typing import cast

from appliance.dialects.chat import Usage
from appliance.dialects.jsonobject import json_object

MAX_ERROR_CHARACTERS = 500
"""An error is a sentence. What is longer is a page of some proxy, whose beginning tells enough."""

MAX_NESTED_ERRORS = 4
"""An error of the runner comes as JSON inside the server's own `error` string: one level; more is not explained."""

_OVERFLOW = re.compile(r"request \(([0-9]{1,12}) tokens\) exceeds the available context size \(([0-9]{1,12}) tokens\)")

_ABOUT_FORMAT = re.compile(r"\b(?:format|schema|grammar)\b")

_INVALID_CALL = re.compile(r"error parsing tool call|invalid tool call arguments|incomplete \S+ tool call")
"""How Ollama's parsers put it; what follows is the model's own text."""


class OllamaError(Exception):
    """The server said that it failed, or said something that is not its dialect. The text is one sentence."""


class InvalidToolCall(OllamaError):
    """The model called a tool in a way that cannot be read. Another try may do better; the text quotes no answer.

    `usage` is what the try has cost, where it came to its end.
    """

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


def failure(text: str) -> OllamaError:
    """The error that an error's text stands for. A call that could not be parsed is told without the call."""
    if _INVALID_CALL.search(text):
        return InvalidToolCall("The model produced an invalid tool call.")
    return OllamaError(text)


def error_text(body: bytes) -> str:
    """The sentence in the body of an error status, unwrapped; of a body without one its beginning, "" if empty."""
    fields = json_object(body)
    if fields is not None and fields.get("error") is not None:
        return sentence(fields["error"])
    return body.decode(errors="replace").strip()[:MAX_ERROR_CHARACTERS]


def is_overflow(text: str) -> tuple[int, int] | None:
    """The prompt's tokens and the context's size, where an error's text says that the one exceeds the other."""
    found = _OVERFLOW.search(text)
    return (int(found[1]), int(found[2])) if found else None


def is_about_format(text: str) -> bool:
    """Whether an error's text says that the answer cannot be held to the `format` of the request."""
    return _ABOUT_FORMAT.search(text) is not None


def sentence(error: object) -> str:
    """The text of an `error` value: takes `error` and `message` off until a plain text remains."""
    for _ in range(MAX_NESTED_ERRORS):
        inner = json_object(error.encode(errors="replace")) if isinstance(error, str) else error
        if not isinstance(inner, dict):
            break
        fields = cast("dict[str, object]", inner)
        said = fields.get("error", fields.get("message"))
        if said is None:
            break
        error = said
    text = error.strip() if isinstance(error, str) else ""
    return text[:MAX_ERROR_CHARACTERS] or "It gave no reason."
