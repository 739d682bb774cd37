"""Deletes ledger rows that are older than they are to be kept, a few at a time, so that no call waits for it.

The roll-ups stay, and so do certificates and the log.
"""

import asyncio
import logging
import sqlite3
from datetime import timedelta

from appliance.errors import StorageUnavailable
from appliance.ids import Clock
from appliance.store.database import Database
from appliance.tasks import Tasks
from appliance.times import to_ms

_log = logging.getLogger(__name__)

INTERVAL_SECONDS = 3600.0
"""Between two rounds."""

STEP_ROWS = 100
"""Rows of one step. Calls that write meanwhile wait for a step: see docs/performance.md for how long."""

PAUSE_SECONDS = 0.02
"""After each step, for the calls: a round deletes some 4,000 rows a second at most."""


def delete_old(conn: sqlite3.Connection, before_ms: int, most: int) -> int:
    """Delete the oldest rows from before that moment, at most `most` of them; how many they were."""
    return conn.execute(
        "DELETE FROM ledger WHERE n IN"
        " (SELECT n FROM ledger INDEXED BY ledger_by_time WHERE at_ms < ? ORDER BY at_ms, n LIMIT ?)",
        (before_ms, most),
    ).rowcount


class Retention:
    """Once an hour, from its start on, deletes the rows that are older than `days` days."""

    def __init__(self, database: Database, clock: Clock, *, days: int) -> None:
        self._database = database
        self._clock = clock
        self._kept = timedelta(days=days)
        self._tasks = Tasks()

    def start(self) -> None:
        self._tasks.spawn("retention", self._run())

    async def stop(self) -> None:
        await self._tasks.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self._round()
            except StorageUnavailable as error:
                _log.warning("old rows of the ledger could not be deleted: %s", error.message)
            await asyncio.sleep(INTERVAL_SECONDS)

    async def _round(self) -> None:
        before_ms, deleted = to_ms(self._clock() - self._kept), 0
        while step := await self._database.write(lambda conn: delete_old(conn, before_ms, STEP_ROWS)):
            deleted += step
            await asyncio.sleep(PAUSE_SECONDS)
        if deleted:
            _log.info("%d rows of the ledger are older than %d days and were deleted", deleted, self._kept.days)
