"""How long the model stays in memory: Ollama's `keep_alive`, counted from the end of the last request.

The one place that starts and stops the runner. It must not know requests or HTTP.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Protocol

from appliance.engine.clock import NANO, Clock

DEFAULT_KEEP_ALIVE = 300.0
"""Seconds: Ollama's five minutes."""


class Startable(Protocol):
    """What is kept in memory: the runner, or a stand-in in a test."""

    @property
    def alive(self) -> bool: ...
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


class Residence:
    def __init__(self, runner: Startable, *, clock: Clock) -> None:
        self._runner = runner
        self._clock = clock
        self._changing = asyncio.Lock()
        self._changed = asyncio.Event()
        self._in_use = 0
        self._keep_alive = DEFAULT_KEEP_ALIVE
        self._idle_since = clock.steady_ns()

    @property
    def seconds_left(self) -> float | None:
        """Until the model leaves memory if nothing happens, or `None` if it is not there."""
        if not self._runner.alive:
            return None
        if self._in_use:
            return self._keep_alive
        idle = (self._clock.steady_ns() - self._idle_since) / NANO
        return max(0.0, self._keep_alive - idle)

    @contextlib.asynccontextmanager
    async def hold(self, keep_alive: float | None) -> AsyncGenerator[None]:
        """Loads the model if need be and keeps it loaded meanwhile, and for `keep_alive` seconds after.

        Without `keep_alive`, the last one that a request gave while the model was loaded holds on. Raises EngineError
        if the model cannot be loaded.
        """
        self._in_use += 1
        try:
            async with self._changing:
                if not self._runner.alive:
                    self._keep_alive = DEFAULT_KEEP_ALIVE
                if keep_alive is not None:
                    self._keep_alive = keep_alive
                await self._runner.start()
            yield
        finally:
            self._in_use -= 1
            self._idle_since = self._clock.steady_ns()
            self._changed.set()

    async def unload(self) -> None:
        """Takes the model out of memory: now if it is idle, else when the requests in flight have ended."""
        self._keep_alive = 0.0
        await self._stop_if_due()

    async def watch(self) -> None:
        """Takes the model out of memory whenever its time has come. Runs until cancelled."""
        while True:
            self._changed.clear()
            await self._stop_if_due()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._next_look()):
                    await self._changed.wait()

    async def close(self) -> None:
        """Ends the runner, whatever runs in it."""
        async with self._changing:
            await self._runner.stop()

    def _next_look(self) -> float | None:
        return None if self._in_use else self.seconds_left

    async def _stop_if_due(self) -> None:
        async with self._changing:
            if not self._in_use and self.seconds_left == 0:
                await self._runner.stop()
