"""How many requests may come in any minute: a window that slides, for each who asks one of its own.

Kept in memory: a daemon that starts again has seen no requests. Must not know who asks, or HTTP.
Source: routing.md ("Metering").
"""

import math
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from appliance.errors import RateLimited
from appliance.ids import Clock

WINDOW_SECONDS = 60
_WINDOW_MS = WINDOW_SECONDS * 1000


class Window(NamedTuple):
    """A limit of requests in a minute, and whose it is."""

    who: Hashable
    limit: int


class Standing(NamedTuple):
    """How a limit stands after a request: so many requests in a minute, so many left right now, and the seconds until
    all of them are there again, which is at `reset_at`."""

    limit: int
    remaining: int
    reset: float
    reset_at: datetime


class RateLimits:
    """`monotonic`, in seconds, is what counts, so that a clock that is set changes nothing; `clock` says what time it
    is for people."""

    def __init__(self, monotonic: Callable[[], float], clock: Clock) -> None:
        self._monotonic = monotonic
        self._clock = clock
        self._admitted: dict[Hashable, deque[int]] = {}  # when, in whole milliseconds: fractions would not add up

    def admit(self, who: Hashable, limit: int) -> Standing:
        """Count one request. A burst of `limit` passes, and no more in any 60 seconds; one that is refused does not
        count. Raises RateLimited, which says in how many whole seconds one is let through again."""
        return self.admit_all([Window(who, limit)])

    def admit_all(self, windows: Sequence[Window]) -> Standing:
        """Count one request in several windows, of which there is at least one; how the tightest stands.

        All are looked at before any counts, so that one that is refused counts in none. Raises RateLimited, of the
        window that lets the next one through last.
        """
        now = round(self._monotonic() * 1000)
        admitted = [(self._recent(who, now), limit) for who, limit in windows]
        refusals = [self._refusal(times, limit, now) for times, limit in admitted if len(times) >= limit]
        if refusals:
            raise max(refusals, key=lambda refusal: refusal.retry_after)
        for times, _ in admitted:
            times.append(now)
        limit, left = min(((limit, limit - len(times)) for times, limit in admitted), key=lambda one: one[1])
        return Standing(limit, left, WINDOW_SECONDS, self._in(WINDOW_SECONDS))

    def _recent(self, who: Hashable, now: int) -> deque[int]:
        """When requests were admitted that count still."""
        times = self._admitted.setdefault(who, deque())
        while times and times[0] <= now - _WINDOW_MS:
            times.popleft()
        return times

    def _refusal(self, times: deque[int], limit: int, now: int) -> RateLimited:
        # The oldest that has to go before there is room: a limit may have been lowered since.
        wait = times[len(times) - limit] + _WINDOW_MS - now
        reset = (times[-1] + _WINDOW_MS - now) / 1000
        return RateLimited(limit, retry_after=math.ceil(wait / 1000), reset=reset, reset_at=self._in(reset))

    def _in(self, seconds: float) -> datetime:
        return self._clock() + timedelta(seconds=seconds)
