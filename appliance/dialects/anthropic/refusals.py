"""What Anthropic says when it cannot answer, by the status and body of a refusal or by an event of its stream.

The sentences are for callers and never quote a key. Source: dialects.md §1.2 ("Errors"); Anthropic's documentation
("Errors"); texts that people have reported.
"""

import re
from typing import cast

from appliance.dialects.jsonobject import json_object
from appliance.dialects.upstream import ErrorKind, ProviderError, too_long

MAX_TEXT = 500
"""Characters. An error is a sentence; what is longer is a page of some proxy, whose beginning tells enough."""

_TOO_LONG = re.compile(r"prompt is too long: ([0-9]{1,12}) tokens > ([0-9]{1,12}) maximum")
_TOO_MUCH = re.compile(r"exceed context limit: ([0-9]{1,12}) \+ ([0-9]{1,12}) > ([0-9]{1,12})")
"""The prompt alone, and the prompt together with the room that `max_tokens` asks for."""

_MODEL = re.compile(r"model: ?(\S{1,200})")

_UNPAID = re.compile(r"credit balance|spend(?:ing)? limit|usage limits|organization has been disabled", re.IGNORECASE)
"""A 400 too: what the account lacks, and nothing that the caller could change."""

_KEY = re.compile(r"\bsk-[A-Za-z0-9_-]{4,}")

_PARAMS = (
    (re.compile(r"^`?max_tokens\b"), "max_tokens"),
    (re.compile(r"^`?temperature\b"), "temperature"),
    (re.compile(r"^`?top_p\b"), "top_p"),
    (re.compile(r"^`?stop_sequences\b"), "stop"),
    (re.compile(r"^`?tools\b"), "tools"),
    (re.compile(r"tool_choice\b"), "tool_choice"),
    (re.compile(r"^`?output_config\.format\b"), "response_format"),
    (re.compile(r"^`?(?:messages|system)\b|\bprefill\b"), "messages"),
    (re.compile(r"^`?output_config\b|\b(?:effort|thinking)\b"), "reasoning_effort"),
)
"""The field that a sentence is about, first match wins, by its name in the caller's dialect."""

_KINDS: dict[str, ErrorKind] = {
    "authentication_error": "key",
    "permission_error": "key",
    "billing_error": "key",
    "not_found_error": "failed",
    "invalid_request_error": "request",
    "request_too_large": "size",
    "rate_limit_error": "busy",
    "overloaded_error": "busy",
}
_TYPES = {401: "authentication_error", 413: "request_too_large", 429: "rate_limit_error", 503: "overloaded_error",
          529: "overloaded_error"}  # fmt: skip
"""The type of a refusal that names none: of something between us and the API."""

_BEGINNINGS = {
    "permission_error": "The key that this installation has for Anthropic may not do this",
    "billing_error": "Anthropic does not serve this installation's account",
    "not_found_error": "Anthropic has nothing at this address; check the provider's base URL",
    "invalid_request_error": "Anthropic refuses the request",
    "request_too_large": "The request is larger than Anthropic takes",
    "rate_limit_error": "Anthropic's rate limit is reached",
    "overloaded_error": "Anthropic is overloaded",
}


def refusal(status: int, body: bytes) -> ProviderError:
    """The error that a status other than 200 stands for."""
    fields = json_object(body) or {}
    error = fields.get("error")
    if isinstance(error, dict) and isinstance(cast("dict[str, object]", error).get("type"), str):
        return reported(cast("dict[str, object]", error))
    kind = _TYPES.get(status, "")
    if kind:
        return _told(kind, _plain(body.decode(errors="replace")))
    message = f"The provider answered with status {status} and not as Anthropic does: check its base URL and any proxy."
    return ProviderError("failed", message)


def reported(error: dict[str, object]) -> ProviderError:
    """The error that an `error` object stands for, of a refusal or of an event."""
    kind, message = error.get("type"), error.get("message")
    details = error.get("details")
    code = cast("dict[str, object]", details).get("error_code") if isinstance(details, dict) else None
    text = _plain(message if isinstance(message, str) else "")
    if kind == "invalid_request_error" and (_UNPAID.search(text) or code == "organization_on_hold"):
        kind = "billing_error"
    return _told(kind if isinstance(kind, str) else "", text)


def _told(kind: str, text: str) -> ProviderError:
    if kind == "authentication_error":
        return ProviderError("key", "Anthropic does not accept the key that this installation has for it.")
    if kind in ("invalid_request_error", "request_too_large"):
        overflow = _overflow(text)
        if overflow:
            return overflow
    model = _MODEL.match(text)
    if kind == "not_found_error" and model:
        return ProviderError("model", f"Anthropic does not have the model {model[1]!r}.", param="model")
    beginning = _BEGINNINGS.get(kind, "Anthropic failed")
    param = _param(text) if kind == "invalid_request_error" else None
    return ProviderError(_KINDS.get(kind, "failed"), f"{beginning}: {text}", param=param)


def _overflow(text: str) -> ProviderError | None:
    alone, together = _TOO_LONG.search(text), _TOO_MUCH.search(text)
    if alone:
        return too_long(int(alone[1]), int(alone[2]))
    if together:
        room = f" and {int(together[2])} more are kept for the answer: shorten them, or set a smaller `max_tokens`"
        return too_long(int(together[1]), int(together[3]), room)
    return None


def _param(text: str) -> str | None:
    return next((param for pattern, param in _PARAMS if pattern.search(text)), None)


def _plain(text: str) -> str:
    """One line, without keys, and not long; nothing of a web page."""
    if text.lstrip().startswith("<"):
        text = ""
    return " ".join(_KEY.sub("[key]", text).split())[:MAX_TEXT] or "It gave no reason."
