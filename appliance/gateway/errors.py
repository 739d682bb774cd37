"""The one place where an error becomes a status and a body in the caller's dialect (gateway.md, "Errors")."""

import math
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal

import orjson

from appliance.dialects.anthropic import errors as anthropic
from appliance.dialects.openai import errors as openai
from appliance.errors import (
    AmbiguousLength,
    BodyStalled,
    BodyTooLarge,
    BudgetExceeded,
    CallError,
    ContextLengthExceeded,
    KeyCeilingReached,
    ModelAbsent,
    Overloaded,
    RateLimited,
)
from appliance.gateway.rate_headers import rate_headers
from appliance.metering.rate_limits import Standing

Shape = Literal["openai", "anthropic", "native"]
"""Whose error form a route speaks."""

STATUS: dict[str, int] = {
    "invalid_api_key": 401,
    "scope_denied": 403,
    "read_only_key": 403,
    "provider_not_allowed": 403,
    "rate_limited": 429,
    "API_KEY_BUDGET_EXCEEDED": 402,
    "insufficient_quota": 402,
    "request_too_large": 413,
    "request_timeout": 408,
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "not_found": 404,
    "model_not_found": 404,
    "method_not_allowed": 405,
    "address_not_supported": 501,
    "unscannable_content": 422,
    "local_lane_unavailable": 503,
    "overloaded": 503,
    "storage_unavailable": 503,
    "upstream_error": 502,
    "upstream_timeout": 504,
    "internal_error": 500,
}
"""HTTP status of every code a call can end with."""

RETRY_AFTER_SECONDS: dict[str, int] = {"local_lane_unavailable": 10, "overloaded": 5, "storage_unavailable": 10}
"""When to come back. A machine is asked how it is every 5 s, so that twice that is enough."""

_OPENAI_TYPES = {
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    429: "rate_limit_error",
}


_ANTHROPIC_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}

_ANTHROPIC_STATUS = {"overloaded": 529, "insufficient_quota": 429}
"""Where this dialect has a status of its own."""

_NATIVE_STATUS = {"upstream_error": 500, "upstream_timeout": 500}

_NATIVE_WITHOUT_CODE = frozenset({
    "invalid_api_key", "invalid_request_error", "context_length_exceeded", "insufficient_quota", "upstream_error",
    "upstream_timeout", "internal_error",
})  # fmt: skip
"""What its status tells alone (completions.md, "Errors")."""

_MODEL_FAILED = "AI completion failed"
"""All that the native form says of a model that gave no answer (completions.md, "Responses")."""


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error ready to be sent."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


class InternalError(CallError):
    """What is sent for an exception nobody expected; the log has the details, the wire has none."""

    code = "internal_error"
    broken = True

    def __init__(self) -> None:
        super().__init__(
            "The gateway failed while it handled this request.",
            advice="Tell the administrator the request id; the log has the details.",
        )


def reply(error: CallError, shape: Shape, request_id: str) -> ErrorReply:
    """The error as one whole answer."""
    status = _status(error, shape)
    headers: list[tuple[bytes, bytes]] = []
    if error.code in RETRY_AFTER_SECONDS:
        headers.append((b"retry-after", str(_retry_after(error)).encode()))
    if isinstance(error, RateLimited):
        headers.append((b"retry-after", str(error.retry_after).encode()))
        standing = Standing(error.limit, 0, error.reset, error.reset_at)
        headers += rate_headers(standing, anthropic=shape == "anthropic")
    if isinstance(error, BudgetExceeded) and error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    elif isinstance(error, ModelAbsent | BudgetExceeded):
        headers.append((b"x-should-retry", b"false"))  # the SDKs' own word; they would wait for nothing
    if status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    if isinstance(error, BodyTooLarge | BodyStalled | AmbiguousLength):
        headers.append((b"connection", b"close"))  # what follows on the connection is not read
    return ErrorReply(status, body(error, shape, request_id), tuple(headers))


def _status(error: CallError, shape: Shape) -> int:
    own = {"anthropic": _ANTHROPIC_STATUS, "native": _NATIVE_STATUS}.get(shape, {})
    return own.get(error.code, STATUS[error.code])


def _retry_after(error: CallError) -> int:
    """Whole seconds (RFC 9110, 10.2.3): the provider's own word where there is one."""
    if isinstance(error, Overloaded) and error.retry_after is not None:
        return max(1, math.ceil(error.retry_after))
    return RETRY_AFTER_SECONDS[error.code]


def body(error: CallError, shape: Shape, request_id: str) -> bytes:
    """The error object of the dialect, for a whole answer or an event of a stream."""
    if shape == "native":
        said = _MODEL_FAILED if error.code in _NATIVE_STATUS else str(error)
        return orjson.dumps(
            {"error": said} if error.code in _NATIVE_WITHOUT_CODE else {"error": said, "code": error.code}
        )
    if shape == "anthropic":
        return _anthropic(error, request_id)
    status = STATUS[error.code]
    kind = _OPENAI_TYPES.get(status, "invalid_request_error" if status < 500 or status == 501 else "api_error")
    return openai.body(message=str(error), type=kind, code=error.code, param=error.param)


def _anthropic(error: CallError, request_id: str) -> bytes:
    status = _status(error, "anthropic")
    kind = "invalid_request_error" if status < 500 or status == 501 else "api_error"
    if error.code == "local_lane_unavailable":
        kind = "overloaded_error"
    message = str(error)
    if isinstance(error, KeyCeilingReached):
        message = f"{error.code}: {message}"
    if isinstance(error, ContextLengthExceeded) and error.tokens is not None and error.maximum is not None:
        message = anthropic.too_long(error.tokens, error.maximum)
    return anthropic.body(message, _ANTHROPIC_TYPES.get(status, kind), request_id)
