"""Sources: gateway.md ("Errors"), routing.md ("Choice", 5)."""

import pytest

from appliance.dialects.upstream import ErrorKind, ProviderError
from appliance.errors import Overloaded
from appliance.lanes.endpoint import endpoint
from appliance.lanes.external_connections import ConnectionFailure
from appliance.lanes.external_failures import Failures
from appliance.lanes.limits import Limit

KEY = "sk-secret"
FAILURES = Failures(endpoint("openai", "ours", "https://api.example.com/v1", KEY))


@pytest.mark.parametrize(
    ("kind", "code", "in_stream"),
    [
        ("key", "upstream_error", False),
        ("model", "upstream_error", False),
        ("request", "invalid_request_error", False),
        ("size", "request_too_large", False),
        ("context", "context_length_exceeded", False),
        ("busy", "overloaded", True),
        ("failed", "upstream_error", True),
    ],
)
def test_each_kind_of_complaint(kind: ErrorKind, code: str, in_stream: bool):
    said = ProviderError(kind, f"It said {KEY}.", param="n")
    told, refused = FAILURES.told(said), FAILURES.refused(said, 400, 7.0)
    assert (told.error.code, told.elsewhere) == (code, in_stream)
    assert (refused.error.code, refused.elsewhere) == (code, False)
    assert refused.error.message.endswith("It said [key].")
    assert refused.error.advice
    assert refused.error.param == ("n" if kind in ("request", "context") else None)


@pytest.mark.parametrize(("status", "elsewhere"), [(400, False), (404, False), (429, True), (500, True), (529, True)])
def test_the_status_says_whether_the_next_provider_may_answer(status: int, elsewhere: bool):
    assert FAILURES.refused(ProviderError("failed", "No."), status, None).elsewhere == elsewhere


@pytest.mark.parametrize("status", [408, 504])
def test_a_provider_s_own_time_limit_is_a_time_limit(status: int):
    assert FAILURES.refused(ProviderError("failed", "No."), status, None).error.code == "upstream_timeout"


def test_when_to_come_back_is_handed_on():
    error = FAILURES.refused(ProviderError("busy", "No."), 429, 7.0).error
    assert isinstance(error, Overloaded)
    assert error.retry_after == 7.0


@pytest.mark.parametrize("why", ["dns", "tls", "limit", "refused", "broke"])
def test_a_connection_that_failed_goes_elsewhere(why: str):
    failure = ConnectionFailure(why, "it is so", "Do this.", reached=False, passing=True)  # type: ignore[arg-type]
    failed = FAILURES.unreachable(failure)
    assert failed.error.code == ("upstream_timeout" if why == "limit" else "upstream_error")
    assert (failed.elsewhere, failed.reached, failed.error.advice) == (True, False, "Do this.")
    assert failed.error.message == "The provider 'ours' cannot be reached: it is so."


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://new.example/v1?key=x", "redirect to new.example,"),
        ("/elsewhere", "redirect,"),
        ("", "redirect,"),
        ("http://[x", "redirect,"),
    ],
)
def test_a_redirect_shows_no_more_than_its_host(location: str, shown: str):
    assert shown in FAILURES.redirected(location).error.message


def test_what_is_no_stream_is_named():
    assert "ended before it was done" in FAILURES.unfinished("text/event-stream").error.message
    assert "text/html instead of" in FAILURES.unfinished("text/html").error.message
    assert len(FAILURES.unfinished("x" * 10_000).error.message) < 300


def test_each_limit_has_its_words():
    for name in ("first_byte", "idle", "total"):
        assert f"`{name}`" in FAILURES.passed(Limit(name, 1, 0.0)).error.message
