"""Empties the log of the database soon after a deletion, however many read in it, so that no byte of it stays.

Several deletions share one checkpoint, since each waits for the disk.
"""

import asyncio
import logging
import sqlite3
from typing import TypeVar

from appliance.store.database import Database, Job
from appliance.tasks import Tasks

_log = logging.getLogger(__name__)

T = TypeVar("T")

GATHER_SECONDS = 5.0
"""From a deletion to the checkpoint, for others to join it, and to the next one where a reader was in the way. A value
is to be gone a minute after its deletion."""


class Wiper:
    """Runs from `start` to `stop`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._due = asyncio.Event()
        self._failing = False
        self._tasks = Tasks()

    async def start(self) -> None:
        """Begin by emptying the log: an earlier process may have died before it did."""
        await self.now()
        self._tasks.spawn("wiping", self._run())

    async def stop(self) -> None:
        """What is due then is done when the database is closed."""
        await self._tasks.cancel()

    async def write(self, job: Job[T]) -> T:
        """`Database.write` for a job that deletes or replaces what must not stay. Raises what that does."""
        try:
            return await self._database.write(job)
        finally:  # a caller that has left has deleted all the same
            self._due.set()

    async def now(self) -> None:
        """Empty the log at once, and else as soon as it can be."""
        if not await self._emptied():
            self._due.set()

    async def _run(self) -> None:
        while True:
            await self._due.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._due.clear()
            await self.now()

    async def _emptied(self) -> bool:
        try:
            emptied = await self._database.checkpoint()
        except sqlite3.Error as error:
            if not self._failing:
                _log.error("what was deleted stays in the log of the database, which cannot be emptied: %s", error)
            self._failing = True
            return False
        self._failing = False
        return emptied
