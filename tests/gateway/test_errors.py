from datetime import UTC, datetime

import orjson
import pytest

from appliance import errors as hierarchy
from appliance.errors import (
    BadRequest,
    BodyTooLarge,
    CallError,
    ContextLengthExceeded,
    NotAuthenticated,
    Overloaded,
    RateLimited,
    UpstreamFailed,
)
from appliance.gateway import errors
from appliance.gateway.errors import InternalError

# gateway.md, "Errors": condition → status, code, OpenAI type.
TABLE = [
    ("UnscannableContent", 422, "unscannable_content", "invalid_request_error"),
    ("NotAuthenticated", 401, "invalid_api_key", "authentication_error"),
    ("ScopeDenied", 403, "scope_denied", "permission_error"),
    ("ReadOnlyKey", 403, "read_only_key", "permission_error"),
    ("BadRequest", 400, "invalid_request_error", "invalid_request_error"),
    ("AmbiguousLength", 400, "invalid_request_error", "invalid_request_error"),
    ("BodyTooLarge", 413, "request_too_large", "invalid_request_error"),
    ("RequestTooLarge", 413, "request_too_large", "invalid_request_error"),
    ("BodyStalled", 408, "request_timeout", "invalid_request_error"),
    ("NotFound", 404, "not_found", "invalid_request_error"),
    ("MethodNotAllowed", 405, "method_not_allowed", "invalid_request_error"),
    ("UnknownAgent", 404, "model_not_found", "invalid_request_error"),
    ("AddressNotSupported", 501, "address_not_supported", "invalid_request_error"),
    ("KeyCeilingReached", 402, "API_KEY_BUDGET_EXCEEDED", "insufficient_quota"),
    ("AllowanceExhausted", 402, "insufficient_quota", "insufficient_quota"),
    ("ProviderNotAllowed", 403, "provider_not_allowed", "permission_error"),
    ("LocalLaneUnavailable", 503, "local_lane_unavailable", "api_error"),
    ("ModelAbsent", 503, "local_lane_unavailable", "api_error"),
    ("ContextLengthExceeded", 400, "context_length_exceeded", "invalid_request_error"),
    ("Overloaded", 503, "overloaded", "api_error"),
    ("UpstreamFailed", 502, "upstream_error", "api_error"),
    ("UpstreamTimeout", 504, "upstream_timeout", "api_error"),
    ("StorageUnavailable", 503, "storage_unavailable", "api_error"),
]


def made(name: str) -> CallError:
    return getattr(hierarchy, name)("It happened.", advice="Do this.", param="messages")


@pytest.mark.parametrize(("name", "status", "code", "kind"), TABLE)
def test_the_table_in_the_openai_dialect(name: str, status: int, code: str, kind: str):
    reply = errors.reply(made(name), "openai", "req_1")
    assert reply.status == status
    assert orjson.loads(reply.body) == {
        "error": {"message": "It happened. Do this.", "type": kind, "code": code, "param": "messages"}
    }


STATUS_SAYS_ALL = {400, 401, 500}
"""Statuses that have no code in the native form (completions.md, "Errors")."""


@pytest.mark.parametrize(("name", "status", "code", "kind"), TABLE)
def test_the_table_in_the_native_form(name: str, status: int, code: str, kind: str):
    reply = errors.reply(made(name), "native", "req_1")
    said = orjson.loads(reply.body)
    if kind == "api_error" and status != 503:
        assert (reply.status, said) == (500, {"error": "AI completion failed"})
        return
    assert reply.status == status
    codeless = status in STATUS_SAYS_ALL or name == "AllowanceExhausted"
    assert said == {"error": "It happened. Do this."} | ({} if codeless else {"code": code})


ANTHROPIC = {
    "UnscannableContent": (422, "invalid_request_error"),
    "NotAuthenticated": (401, "authentication_error"),
    "ScopeDenied": (403, "permission_error"),
    "ReadOnlyKey": (403, "permission_error"),
    "BadRequest": (400, "invalid_request_error"),
    "AmbiguousLength": (400, "invalid_request_error"),
    "BodyTooLarge": (413, "request_too_large"),
    "RequestTooLarge": (413, "request_too_large"),
    "BodyStalled": (408, "invalid_request_error"),
    "NotFound": (404, "not_found_error"),
    "MethodNotAllowed": (405, "invalid_request_error"),
    "UnknownAgent": (404, "not_found_error"),
    "AddressNotSupported": (501, "invalid_request_error"),
    "AllowanceExhausted": (429, "rate_limit_error"),
    "ProviderNotAllowed": (403, "permission_error"),
    "LocalLaneUnavailable": (503, "overloaded_error"),
    "ModelAbsent": (503, "overloaded_error"),
    "ContextLengthExceeded": (400, "invalid_request_error"),
    "Overloaded": (529, "overloaded_error"),
    "UpstreamFailed": (502, "api_error"),
    "UpstreamTimeout": (504, "timeout_error"),
    "StorageUnavailable": (503, "api_error"),
}


@pytest.mark.parametrize("name", ANTHROPIC)
def test_the_table_in_the_anthropic_dialect(name: str):
    status, kind = ANTHROPIC[name]
    reply = errors.reply(made(name), "anthropic", "req_1")
    assert reply.status == status
    error = {"type": kind, "message": "It happened. Do this."}
    assert orjson.loads(reply.body) == {"type": "error", "error": error, "request_id": "req_1"}


def test_a_prompt_that_is_too_long_has_its_numbers_in_the_anthropic_dialect():
    error = ContextLengthExceeded("Too long.", tokens=40000, maximum=32768)
    reply = errors.reply(error, "anthropic", "req_1")
    assert orjson.loads(reply.body)["error"]["message"] == "prompt is too long: 40000 tokens > 32768 maximum"


def test_fields_are_called_as_the_dialect_calls_them():
    reply = errors.reply(BadRequest("`stop` has more, and `response_format` too."), "anthropic", "req_1")
    said = orjson.loads(reply.body)["error"]["message"]
    assert said == "`stop_sequences` has more, and `output_config.format` too."


def test_every_kind_of_call_error_has_a_row():
    kinds = {kind for kind in vars(hierarchy).values() if isinstance(kind, type) and issubclass(kind, CallError)}
    rows = {row[0] for row in TABLE}
    assert (
        {kind.__name__ for kind in kinds} - {"CallError", "RateLimited", "BudgetExceeded"}
        == rows
        == {*ANTHROPIC, "KeyCeilingReached"}
    )


def test_a_key_at_its_ceiling_has_the_code_in_the_message_of_the_anthropic_dialect():
    reply = errors.reply(made("KeyCeilingReached"), "anthropic", "req_1")
    error = {"type": "billing_error", "message": "API_KEY_BUDGET_EXCEEDED: It happened. Do this."}
    assert reply.status == 402
    assert orjson.loads(reply.body) == {"type": "error", "error": error, "request_id": "req_1"}


@pytest.mark.parametrize("shape", ["openai", "anthropic", "native"])
def test_too_many_requests(shape: errors.Shape):
    error = RateLimited(30, retry_after=7, reset=59.5, reset_at=datetime(2026, 11, 30, tzinfo=UTC))
    reply = errors.reply(error, shape, "req_1")
    said = orjson.loads(reply.body)
    assert reply.status == 429
    assert dict(reply.headers)[b"retry-after"] == b"7"
    if shape == "native":
        assert said == {"error": "More than 30 requests in a minute. Send the next one in 7 s.", "code": "rate_limited"}
        return
    kind, limit = ("rate_limit_error", b"30")
    assert said["error"]["type"] == kind
    if shape == "openai":
        assert said["error"]["code"] == "rate_limited"
        assert dict(reply.headers)[b"x-ratelimit-limit-requests"] == limit
        assert dict(reply.headers)[b"x-ratelimit-remaining-requests"] == b"0"
    else:
        assert dict(reply.headers)[b"anthropic-ratelimit-requests-limit"] == limit


@pytest.mark.parametrize("name", ["LocalLaneUnavailable", "ModelAbsent", "Overloaded", "StorageUnavailable"])
def test_what_may_pass_says_when_to_come_back(name: str):
    headers = dict(errors.reply(made(name), "openai", "req_1").headers)
    assert int(headers[b"retry-after"]) > 0


@pytest.mark.parametrize("name", [row[0] for row in TABLE])
def test_only_where_waiting_is_of_no_use_an_sdk_is_told_not_to_try_again(name: str):
    headers = dict(errors.reply(made(name), "openai", "req_1").headers)
    hopeless = {"ModelAbsent", "KeyCeilingReached", "AllowanceExhausted"}
    assert headers.get(b"x-should-retry") == (b"false" if name in hopeless else None)


def test_headers_that_go_with_a_status():
    assert (b"www-authenticate", b"Bearer") in errors.reply(NotAuthenticated("No."), "openai", "req_1").headers
    for unread in (BodyTooLarge("No."), hierarchy.BodyStalled("No."), hierarchy.AmbiguousLength("No.")):
        assert (b"connection", b"close") in errors.reply(unread, "openai", "req_1").headers


def test_a_provider_s_refusal_of_a_large_request_closes_no_connection():
    assert errors.reply(hierarchy.RequestTooLarge("No."), "anthropic", "req_1").headers == ()


def test_an_unexpected_failure_shows_nothing_of_itself():
    reply = errors.reply(InternalError(), "openai", "req_1")
    assert reply.status == 500
    assert orjson.loads(reply.body)["error"]["type"] == "api_error"


def test_who_broke_is_told_from_who_refused():
    assert not BadRequest("No.").broken
    for error in (UpstreamFailed("No."), hierarchy.StorageUnavailable("No."), InternalError()):
        assert error.broken


@pytest.mark.parametrize(("asked", "sent"), [(None, b"5"), (7.0, b"7"), (1.2, b"2"), (0.0, b"1")])
def test_a_provider_s_own_word_of_when_to_come_back_is_handed_on(asked: float | None, sent: bytes):
    """RFC 9110, section 10.2.3: whole seconds."""
    headers = dict(errors.reply(Overloaded("Busy.", retry_after=asked), "openai", "req_1").headers)
    assert headers[b"retry-after"] == sent
