"""Endings of calls that the storage could not take when they came: tried again until it can.

Without this an ended call would look, until the next start, like one that was cut off.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections import deque
from collections.abc import Callable

from appliance.errors import StorageUnavailable
from appliance.store.database import Database
from appliance.tasks import Tasks

_log = logging.getLogger(__name__)

RETRY_SECONDS = 1.0

Ending = Callable[[sqlite3.Connection], None]
"""Writes the certificate and the ledger row of one call."""


class Backlog:
    """Holds endings in memory, oldest first. `stop` tries once more; what is left then, the next start closes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: deque[tuple[Ending, Callable[[], None]]] = deque()
        self._stopping = asyncio.Event()
        self._tasks = Tasks()
        self._retrying: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, ending: Ending, written: Callable[[], None]) -> None:
        """`written` is called once the ending is durable; it must not raise."""
        self._waiting.append((ending, written))
        if self._retrying is None:
            self._retrying = self._tasks.spawn("endings", self._retry())

    async def stop(self) -> None:
        # Not cancelled: a write that was under way would be made twice.
        self._stopping.set()
        if self._retrying is not None:
            await self._retrying
        if self._waiting:
            _log.error("endings that could not be recorded: %d; the next start closes these calls", len(self._waiting))

    async def _retry(self) -> None:
        try:
            while self._waiting:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), RETRY_SECONDS)
                with contextlib.suppress(StorageUnavailable):
                    await self._write()
                if self._stopping.is_set():
                    break
        finally:
            self._retrying = None

    async def _write(self) -> None:
        while self._waiting:
            ending, written = self._waiting[0]
            await self._database.write(ending)
            self._waiting.popleft()
            written()
