import pytest

from appliance.dialects.upstream import ErrorKind, ProviderError, too_long
from appliance.errors import ContextLengthExceeded
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.limits import Limit
from appliance.lanes.machine_failures import MachineFailures

KEY = "sk-local-secret"
FAILURES = MachineFailures({"Authorization": f"Bearer {KEY}"})
ALL = {
    "unreachable": FAILURES.unreachable("its host accepts no connections"),
    "redirected": FAILURES.redirected(),
    "died": FAILURES.died("the connection broke"),
    "unfinished": FAILURES.unfinished("text/html"),
    **{name: FAILURES.passed(Limit(name, 5, 0)) for name in ("first_byte", "idle", "total")},
    **{
        kind: FAILURES.told(ProviderError(kind, f"It said {KEY}.", param=f"header {KEY}"))
        for kind in ("key", "model", "request", "size", "context", "busy", "failed")
    },
}


@pytest.mark.parametrize("name", ALL)
def test_a_caller_reads_of_a_machine_and_never_of_its_key(name: str):
    error = ALL[name].error
    said = f"{error} {error.param}"
    assert error.message
    assert error.advice
    assert "provider" not in said
    assert KEY not in said


@pytest.mark.parametrize(
    ("kind", "status", "code", "elsewhere"),
    [
        ("key", 401, "upstream_error", True),
        ("model", 404, "local_lane_unavailable", True),
        ("failed", 404, "upstream_error", True),
        ("request", 400, "invalid_request_error", False),
        ("size", 413, "request_too_large", False),
        ("context", 400, "context_length_exceeded", False),
        ("busy", 429, "overloaded", True),
        ("busy", 503, "overloaded", True),
        ("failed", 500, "upstream_error", True),
        ("failed", 418, "upstream_error", False),
    ],
)
def test_whether_another_machine_may_do_better(kind: ErrorKind, status: int, code: str, elsewhere: bool):
    failed = FAILURES.refused(ProviderError(kind, "So it is."), status)
    assert (failed.error.code, failed.elsewhere, failed.reached) == (code, elsewhere, True)


@pytest.mark.parametrize(
    ("kind", "elsewhere"),
    [("busy", True), ("failed", True), ("key", True), ("model", True), ("request", False), ("context", False)],
)
def test_what_it_says_in_its_stream(kind: ErrorKind, elsewhere: bool):
    assert FAILURES.told(ProviderError(kind, "So it is.")).elsewhere is elsewhere


def test_an_overflow_keeps_its_numbers():
    error = FAILURES.refused(too_long(6010, 4096), 400).error
    assert isinstance(error, ContextLengthExceeded)
    assert (error.tokens, error.maximum, error.param) == (6010, 4096, "messages")


@pytest.mark.parametrize(
    ("failed", "elsewhere", "reached"),
    [
        (ALL["unreachable"], True, False),
        (ALL["redirected"], True, True),
        (ALL["died"], True, True),
        (ALL["unfinished"], True, True),
        (ALL["idle"], True, True),
        (ALL["total"], False, True),
    ],
)
def test_faults_of_the_connection(failed: AttemptFailed, elsewhere: bool, reached: bool):
    assert (failed.elsewhere, failed.reached) == (elsewhere, reached)


def test_a_stream_that_ended_is_told_from_what_never_was_one():
    assert "ended before it was done" in FAILURES.unfinished("text/event-stream").error.message
    assert "stream of events" in FAILURES.unfinished("text/html").error.message
