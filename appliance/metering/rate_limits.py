"""How many requests may come in any minute: a window that slides, for each who asks one of its own.

Kept in memory: a daemon that starts again has seen no requests. Must not know who asks, or HTTP.
Source: routing.md ("Metering").
"""

import math
from collections import deque
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import NamedTuple

from appliance.errors import RateLimited
from appliance.ids import Clock

WINDOW_SECONDS = 60


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
        now, window = round(self._monotonic() * 1000), WINDOW_SECONDS * 1000
        times = self._admitted.setdefault(who, deque())
        while times and times[0] <= now - window:
            times.popleft()
        if len(times) >= limit:
            # The oldest that has to go before there is room: a limit may have been lowered since.
            wait = times[len(times) - limit] + window - now
            reset = (times[-1] + window - now) / 1000
            raise RateLimited(limit, retry_after=math.ceil(wait / 1000), reset=reset, reset_at=self._in(reset))
        times.append(now)
        return Standing(limit, limit - len(times), WINDOW_SECONDS, self._in(WINDOW_SECONDS))

    def _in(self, seconds: float) -> datetime:
        return self._clock() + timedelta(seconds=seconds)
