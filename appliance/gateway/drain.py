"""Counts the calls in flight, so that the daemon can stop without cutting an answer in two."""

import asyncio
import contextlib
from collections.abc import Generator
from contextlib import contextmanager

from appliance.errors import Overloaded

END_SECONDS = 4.0
"""How long calls that were told to end may take for it."""


class Drain:
    """Open at first. `finish` refuses new calls, waits for those in flight, then tells the rest to end."""

    def __init__(self) -> None:
        self._in_flight = 0
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._stop = asyncio.Event()

    @property
    def closing(self) -> bool:
        """Whether new calls are refused."""
        return self._closing

    @property
    def in_flight(self) -> int:
        return self._in_flight

    @contextmanager
    def call(self) -> Generator[asyncio.Event]:
        """Count one call for the length of the block; the event yielded says that it has to end now.

        Raises:
            Overloaded: the daemon is stopping and takes no new calls.
        """
        if self._closing:
            raise Overloaded("The gateway is stopping.", advice="Send the request again in a minute.")
        self._in_flight += 1
        self._idle.clear()
        try:
            yield self._stop
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    async def finish(self, seconds: float) -> None:
        """Take no new call, give those in flight `seconds`, then end the rest and wait until they have ended."""
        self._closing = True
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            self._stop.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    await self._idle.wait()
