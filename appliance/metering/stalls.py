"""How long the event loop was held up: a task that sleeps a little and looks how much too late it wakes up.

Must not know what held it up, nor who is told of it.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

INTERVAL_SECONDS = 0.05
"""Between two looks. A shorter stall may be missed; of a longer one this much at most."""

WINDOW_SECONDS = 60.0
"""How long a stall is remembered as the longest."""


class Stalls:
    """Tells `seen` of every look, in seconds; `longest` knows the longest of the last minute."""

    def __init__(
        self,
        seen: Callable[[float], None],
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._seen = seen
        self._monotonic = monotonic
        self._sleep = sleep
        # Each is longer than all that came after it: others can never be the longest again.
        self._longest: deque[tuple[float, float]] = deque()

    async def watch(self) -> None:
        """Look for ever."""
        while True:
            due = self._monotonic() + INTERVAL_SECONDS
            await self._sleep(INTERVAL_SECONDS)
            now = self._monotonic()
            self._add(now, max(0.0, now - due))

    def longest(self) -> float:
        """The longest stall of the last minute, in seconds; 0 where there was no look in it."""
        self._forget(self._monotonic())
        return self._longest[0][1] if self._longest else 0.0

    def _add(self, now: float, seconds: float) -> None:
        self._seen(seconds)
        self._forget(now)
        while self._longest and self._longest[-1][1] <= seconds:
            self._longest.pop()
        self._longest.append((now, seconds))

    def _forget(self, now: float) -> None:
        while self._longest and self._longest[0][0] < now - WINDOW_SECONDS:
            self._longest.popleft()
