"""What an OpenAI-like provider says when it does not answer: the sentence in it, and whose fault it is.

The errors of OpenAI, of Mistral and of the servers that speak alike come in many shapes around one sentence. A
sentence about our key is never handed on, since some quote the key in it.
Source: the OpenAI API reference, "Error codes"; the Mistral API reference (422 `HTTPValidationError`); vLLM.
"""

import re
from collections.abc import Mapping
from typing import cast

import orjson

from appliance.dialects.upstream import ErrorKind, ProviderError, too_long

MAX_ERROR_CHARACTERS = 500
"""An error is a sentence. What is longer is a page of some proxy, whose beginning tells enough."""

_KINDS: Mapping[str, ErrorKind] = {
    "invalid_api_key": "key",
    "authentication_error": "key",
    "insufficient_quota": "key",
    "billing_not_active": "key",
    "model_not_found": "model",
    "invalid_model": "model",
    "context_length_exceeded": "context",
    "rate_limit_exceeded": "busy",
    "rate_limit_error": "busy",
    "rate_limited": "busy",
    "overloaded_error": "busy",
    "server_overloaded": "busy",
    "invalid_request_error": "request",
    "invalid_prompt": "request",
    "content_filter": "request",
    "request_too_large": "size",
}
"""By the error's `code`, and where that says nothing by its `type`."""

_STATUSES: Mapping[int, ErrorKind] = {
    400: "request", 401: "key", 402: "key", 403: "key", 413: "size", 422: "request", 429: "busy", 503: "busy",
    529: "busy",
}  # fmt: skip

_OVERFLOW = (
    re.compile(
        r"maximum context length (?:is|of) (?P<limit>\d{1,12}) tokens.{0,200}?(?P<used>\d{1,12})(?: input)? tokens"
    ),
    re.compile(r"(?P<used>\d{1,12}) input tokens.{0,100}? context length is only (?P<limit>\d{1,12}) tokens"),
    re.compile(r"prompt \(length (?P<used>\d{1,12})\) is longer than the maximum model length of (?P<limit>\d{1,12})"),
    re.compile(r"(?P<used>\d{1,12}) tokens.{0,100}?(?P<limit>\d{1,12}) maximum context length"),
    re.compile(
        r"request \((?P<used>\d{1,12}) tokens\) exceeds the available context size \((?P<limit>\d{1,12}) tokens\)"
    ),
)
"""How OpenAI and vLLM, vLLM today, vLLM of pictures, Mistral, and llama.cpp put it."""

_ABOUT_CONTEXT = re.compile(r"context (?:length|size|window)|maximum model length|prompt is too long", re.IGNORECASE)

_ABOUT_MODEL = re.compile(r"\bmodel\b", re.IGNORECASE)

_KEY = "It does not accept this gateway's key, or the key's account may not do this"
_ACCOUNT = "Its account has no credit left, or a limit of its spending is reached"


def refusal(status: int, body: bytes) -> ProviderError:
    """What a status other than 200 means, by the body that came with it."""
    fields = _object(body)
    inner = _inner(fields)
    text = _sentence(fields, inner)
    kind = _kind_of_status(status, inner, text)
    text = text or body.decode(errors="replace").strip()[:MAX_ERROR_CHARACTERS]
    if kind == "failed" and status == 404:
        return ProviderError("failed", "It does not know the address that it was asked at: its base URL may be wrong.")
    return _error(kind, inner, text or f"It answered with the status {status} and gave no reason.", status)


def told(error: object) -> ProviderError:
    """What an `error` in the middle of a stream means, whatever it is."""
    fields: dict[str, object] = {"error": error}
    inner = cast("dict[str, object]", error) if isinstance(error, dict) else {}
    text = _sentence(fields, inner) or "It gave no reason."
    kind = _stated(inner) or "failed"
    if kind == "request" and _ABOUT_CONTEXT.search(text):
        kind = "context"
    return _error(kind, inner, text, 200)


def _kind_of_status(status: int, fields: Mapping[str, object], text: str) -> ErrorKind:
    """The error's own word goes before the status, but for words that say no more than that."""
    stated = _stated(fields)
    kind = _STATUSES.get(status, "failed")
    if status == 404:
        return "model" if stated == "model" or _ABOUT_MODEL.search(text) else "failed"
    if stated not in (None, "request") and status < 500:
        return stated
    if kind in ("request", "size") and _ABOUT_CONTEXT.search(text):
        return "context"
    return kind


def _stated(fields: Mapping[str, object]) -> ErrorKind | None:
    words = [fields.get(name) for name in ("code", "type")]
    return next((_KINDS[word] for word in words if isinstance(word, str) and word in _KINDS), None)


def _error(kind: ErrorKind, fields: Mapping[str, object], text: str, status: int) -> ProviderError:
    param = fields.get("param")
    if kind == "key":
        spent = status in (402, 429) or "insufficient_quota" in (fields.get("code"), fields.get("type"))
        return ProviderError("key", f"{_ACCOUNT if spent else _KEY} (status {status}).")
    if kind == "context":
        return _overflow(text)
    return ProviderError(kind, text, param=param if kind == "request" and isinstance(param, str) and param else None)


def _overflow(text: str) -> ProviderError:
    """In the words that clients match, with both numbers where they can be found."""
    for pattern in _OVERFLOW:
        found = pattern.search(text)
        if found:
            return too_long(int(found["used"]), int(found["limit"]))
    return ProviderError("context", text, param="messages")


def _inner(fields: Mapping[str, object]) -> Mapping[str, object]:
    """The object that has `message`, `type`, `code` and `param`: OpenAI's `error`, or the body itself (Mistral)."""
    error = fields.get("error")
    return cast("dict[str, object]", error) if isinstance(error, dict) else fields


def _sentence(fields: Mapping[str, object], inner: Mapping[str, object]) -> str:
    for said in (inner.get("message"), fields.get("error"), inner.get("detail")):
        text = _text(said)
        if text:
            return text[:MAX_ERROR_CHARACTERS]
    return ""


def _text(said: object) -> str:
    """A text; or FastAPI's list of what is wrong with a body, also inside of a `message`, each with its place."""
    if isinstance(said, str):
        return said.strip()
    if isinstance(said, dict):
        return _text(cast("dict[str, object]", said).get("detail"))
    if not isinstance(said, list):
        return ""
    return "; ".join(filter(None, (_problem(one) for one in cast("list[object]", said))))


def _problem(value: object) -> str:
    if not isinstance(value, dict):
        return ""
    fields = cast("dict[str, object]", value)
    place, what = fields.get("loc"), fields.get("msg")
    if not isinstance(what, str):
        return ""
    steps = [str(step) for step in cast("list[object]", place) if step != "body"] if isinstance(place, list) else []
    return f"{'.'.join(steps)}: {what}" if steps else what


def _object(body: bytes) -> Mapping[str, object]:
    try:
        value: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    if isinstance(value, list) and value:  # some wrap the one error in a list
        value = cast("list[object]", value)[0]
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
