"""Source: routing.md, "Metering": in any 60 s, a burst passes, the next is refused."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from appliance.errors import RateLimited
from appliance.metering.rate_limits import WINDOW_SECONDS, RateLimits, Window

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Times:
    """A clock that both stands still and can be set."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.wall = NOON
        self.limits = RateLimits(lambda: self.now, lambda: self.wall)

    def passes(self, who: str = "a", limit: int = 30) -> bool:
        try:
            self.limits.admit(who, limit)
        except RateLimited:
            return False
        return True


def test_a_burst_passes_and_the_next_is_refused_until_a_minute_is_over():
    times = Times()
    assert [times.passes() for _ in range(31)] == [True] * 30 + [False]
    times.now += 59.999
    assert not times.passes()
    times.now += 0.001
    assert [times.passes() for _ in range(31)] == [True] * 30 + [False]


def test_the_window_slides():
    times = Times()
    for _ in range(30):
        assert times.passes()
        times.now += 1.0
    # 30 s in: the first leaves the window in 30 more, and one more each second.
    assert not times.passes()
    times.now += 30.0
    assert [times.passes(), times.passes()] == [True, False]
    times.now += 1.0
    assert [times.passes(), times.passes()] == [True, False]


@pytest.mark.parametrize("seed", range(20))
def test_in_no_window_are_more_than_the_limit_and_who_waits_as_told_is_let_through(seed: int):
    chance, times = random.Random(seed), Times()
    limit = chance.randint(1, 8)
    admitted: list[float] = []
    for _ in range(300):
        # In steps that floats have exactly, so that the test can count itself.
        times.now += chance.choice([0.0, 0.125, chance.randrange(240) / 8])
        recent = [at for at in admitted if at > times.now - WINDOW_SECONDS]
        if len(recent) == limit:
            with pytest.raises(RateLimited) as refused:
                times.limits.admit("a", limit)
            # Exact: as many whole seconds as are needed, and not one more.
            needed = recent[0] + WINDOW_SECONDS - times.now
            assert needed <= refused.value.retry_after < needed + 1
            assert refused.value.reset == pytest.approx(recent[-1] + WINDOW_SECONDS - times.now)
            times.now += refused.value.retry_after
        times.limits.admit("a", limit)
        admitted.append(times.now)
    assert len(admitted) == 300


class TestSeveralWindows:
    """One request that counts in more than one."""

    def test_one_that_is_refused_counts_in_none(self):
        times = Times()
        both = [Window("key", 3), Window("route", 1)]
        assert times.limits.admit_all(both).remaining == 0
        for _ in range(5):
            with pytest.raises(RateLimited, match="More than 1 requests"):
                times.limits.admit_all(both)
        # Of three the key has two left, whatever was refused beside it.
        assert [times.passes("key", 3) for _ in range(3)] == [True, True, False]
        times.now += 60
        assert times.passes("key", 3)
        times.now += 1
        with pytest.raises(RateLimited):
            times.limits.admit_all([Window("key", 1), Window("route", 1)])
        assert times.passes("route", 1)

    def test_the_tightest_is_told(self):
        times = Times()
        standing = times.limits.admit_all([Window("key", 90), Window("route", 30)])
        assert (standing.limit, standing.remaining) == (30, 29)
        standing = times.limits.admit_all([Window("key", 3), Window("route", 30)])
        assert (standing.limit, standing.remaining) == (3, 1)

    def test_who_waits_as_told_is_let_through_by_all(self):
        times = Times()
        assert times.passes("a", 1)
        times.now += 20
        assert times.passes("b", 1)
        with pytest.raises(RateLimited) as refused:
            times.limits.admit_all([Window("a", 1), Window("b", 1)])
        assert refused.value.retry_after == 60
        times.now += 60
        times.limits.admit_all([Window("a", 1), Window("b", 1)])


def test_each_has_a_window_of_its_own():
    times = Times()
    assert [times.passes("a", 1), times.passes("b", 1), times.passes("a", 1)] == [True, True, False]


def test_how_it_stands():
    times = Times()
    first, second = times.limits.admit("a", 3), times.limits.admit("a", 3)
    assert (first.limit, first.remaining, first.reset) == (3, 2, 60)
    assert (second.remaining, second.reset_at) == (1, NOON + timedelta(seconds=60))


def test_a_limit_that_was_lowered_holds_at_once_and_is_told_exactly():
    times = Times()
    for _ in range(5):
        assert times.passes(limit=5)
        times.now += 10
    with pytest.raises(RateLimited) as refused:
        times.limits.admit("a", 2)
    # Of five at 0, 10, 20, 30 and 40 s the fourth has to go: at 90 s, and now it is 50 s.
    assert refused.value.retry_after == 40


def test_a_clock_that_is_set_changes_nothing():
    times = Times()
    assert times.passes(limit=1)
    times.wall -= timedelta(days=1)
    assert not times.passes(limit=1)
    times.wall += timedelta(days=2)
    assert not times.passes(limit=1)
