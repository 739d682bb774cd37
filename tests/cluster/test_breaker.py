"""Source: cluster.md, "Choosing a machine": opens after 3 in a row, and closes through one trial call."""

from appliance.cluster.breaker import FAILURES, OPEN_SECONDS, Breaker


def opened() -> Breaker:
    breaker = Breaker()
    for _ in range(FAILURES):
        breaker.begins()
        breaker.ends("failed", 0.0)
    return breaker


def test_three_failures_in_a_row_open_it():
    breaker = Breaker()
    for outcome in ("failed", "failed", "answered", "failed", "failed"):
        breaker.ends(outcome, 0.0)
        assert breaker.state(0.0) == "closed"
    breaker.ends("failed", 0.0)
    assert breaker.state(0.0) == "open"


def test_callers_who_leave_speak_neither_for_nor_against_a_machine():
    breaker = Breaker()
    for outcome in ("failed", "neither", "failed", "neither"):
        breaker.ends(outcome, 0.0)
    assert breaker.state(0.0) == "closed"
    breaker.ends("failed", 0.0)
    assert breaker.state(0.0) == "open"


def test_after_its_time_one_call_decides():
    breaker = opened()
    assert breaker.state(OPEN_SECONDS - 0.1) == "open"
    assert breaker.state(OPEN_SECONDS) == "half-open"
    breaker.begins()
    assert breaker.trying
    breaker.ends("failed", OPEN_SECONDS)
    assert (breaker.state(OPEN_SECONDS), breaker.trying) == ("open", False)
    breaker.begins()
    breaker.ends("answered", 2 * OPEN_SECONDS)
    assert breaker.state(2 * OPEN_SECONDS) == "closed"


def test_a_trial_whose_caller_leaves_decides_nothing():
    breaker = opened()
    breaker.begins()
    breaker.ends("neither", OPEN_SECONDS)
    assert (breaker.state(OPEN_SECONDS), breaker.trying) == ("half-open", False)


def test_a_machine_that_came_back_is_tried_at_once():
    breaker = opened()
    breaker.recovers(1.0)
    assert breaker.state(1.0) == "half-open"
    whole = Breaker()
    whole.recovers(1.0)
    assert whole.state(1.0) == "closed"
