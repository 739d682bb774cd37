"""The stream of events: how the daemon is, then whatever of it has changed.

Nothing is queued. Each stream looks at the newest state and sends what differs from what it sent last, so that a slow
reader misses what came and went and never anything that is. Must not know HTTP.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace

from appliance.admin.event_wire import Event
from appliance.errors import SynapseError

LOOK_SECONDS = 1.0
"""How long a change may go unseen that nobody told of, such as a call that ends. What goes on all the time, such as a
pull, is told of once in it."""

REST_SECONDS = 0.2
"""Between two looks, however much changes."""

ALIVE_SECONDS = 5.0
"""After so long without anything new an empty event says that the daemon lives."""


@dataclass(frozen=True, slots=True)
class Pace:
    """In seconds."""

    look: float = LOOK_SECONDS
    rest: float = REST_SECONDS
    alive: float = ALIVE_SECONDS


class Events:
    """`look` gives everything. It is asked only while somebody reads."""

    def __init__(self, look: Callable[[], Awaitable[Event]], pace: Pace | None = None) -> None:
        self._look = look
        self._pace = pace or Pace()
        self._wakes: set[asyncio.Event] = set()
        self._closed = False

    def changed(self) -> None:
        """Something may have changed: look now."""
        for wake in self._wakes:
            wake.set()

    def close(self) -> None:
        """End every stream, and begin none any more."""
        self._closed = True
        self.changed()

    async def stream(self) -> AsyncGenerator[Event, None]:
        """Until it is closed, or the reader leaves."""
        wake = asyncio.Event()
        self._wakes.add(wake)
        try:
            told, quiet = Event(), 0.0
            while not self._closed:
                now = await self._seen()
                news = _difference(told, now)
                if news != Event() or quiet >= self._pace.alive:
                    yield news
                    told, quiet = _merged(told, now), 0.0
                await asyncio.sleep(self._pace.rest)
                quiet += self._pace.rest + await self._wait(wake)
        finally:
            self._wakes.discard(wake)

    async def _wait(self, wake: asyncio.Event) -> float:
        """Until there is something to look at; returns for how long, at most."""
        try:
            async with asyncio.timeout(self._pace.look):
                await wake.wait()
        except TimeoutError:
            return self._pace.look
        wake.clear()
        return 0.0

    async def _seen(self) -> Event:
        try:
            return replace(await self._look(), problem="")
        except SynapseError as error:
            return Event(problem=str(error))


def _difference(told: Event, now: Event) -> Event:
    return Event(
        status=None if now.status == told.status else now.status,
        nodes=None if now.nodes == told.nodes else now.nodes,
        pulls=None if now.pulls == told.pulls else now.pulls,
        last_change=None if now.last_change == told.last_change else now.last_change,
        problem=None if now.problem == (told.problem or "") else now.problem,
    )


def _merged(told: Event, now: Event) -> Event:
    """What the reader knows after this. What could not be seen is as it was."""
    return Event(
        status=now.status or told.status,
        nodes=now.nodes or told.nodes,
        pulls=now.pulls or told.pulls,
        last_change=told.last_change if now.last_change is None else now.last_change,
        problem=now.problem,
    )
