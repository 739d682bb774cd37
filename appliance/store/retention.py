"""Deletes ledger rows that are older than they are to be kept, a few at a time, so that no call waits for it.

The roll-ups stay, and so do certificates and the log.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
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


IDLE = timedelta(days=92)
"""How long a box may have been switched off, or without a call; half of the days that rows are kept, if they are fewer.
A clock that is further ahead of the newest row is taken for wrong: what it would delete cannot be had back."""


def newest_ms(conn: sqlite3.Connection) -> int | None:
    """When the newest call came, None where there is none."""
    return conn.execute("SELECT max(at_ms) FROM ledger").fetchone()[0]


def delete_old(conn: sqlite3.Connection, before_ms: int, most: int) -> int:
    """Delete the oldest rows from before that moment, at most `most` of them; how many they were."""
    return conn.execute(
        "DELETE FROM ledger WHERE n IN"
        " (SELECT n FROM ledger INDEXED BY ledger_by_time WHERE at_ms < ? ORDER BY at_ms, n LIMIT ?)",
        (before_ms, most),
    ).rowcount


class Retention:
    """Once an hour, from its start on, deletes the rows that are older than `days` days. `monotonic` is in seconds."""

    def __init__(
        self, database: Database, clock: Clock, *, days: int, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._clock = clock
        self._monotonic = monotonic
        self._kept = timedelta(days=days)
        self._idle = min(IDLE, self._kept / 2)
        self._tasks = Tasks()

    def start(self) -> None:
        self._tasks.spawn("retention", self._run())

    async def stop(self) -> None:
        await self._tasks.cancel()

    async def _run(self) -> None:
        latest: Callable[[], int] | None = None
        while True:
            try:
                latest = latest or await self._latest()
                await self._round(latest())
            except StorageUnavailable as error:
                _log.warning("old rows of the ledger could not be deleted: %s", error.message)
            await asyncio.sleep(INTERVAL_SECONDS)

    async def _latest(self) -> Callable[[], int]:
        """The time that it may be at most, by the newest row that was there at the start: not by those that a clock
        that is wrong has dated since."""
        began, newest = self._monotonic(), await self._database.read(newest_ms)
        if newest is None:
            return lambda: to_ms(self._clock())
        most = newest + self._idle // timedelta(milliseconds=1)
        if most < to_ms(self._clock()):
            _log.warning(
                "the clock is more than %d days ahead of the newest row of the ledger: rows are kept longer than %d"
                " days, until a start finds both near each other",
                self._idle.days,
                self._kept.days,
            )
        return lambda: min(to_ms(self._clock()), most + round((self._monotonic() - began) * 1000))

    async def _round(self, now_ms: int) -> None:
        before_ms, deleted = now_ms - self._kept // timedelta(milliseconds=1), 0
        while step := await self._database.write(lambda conn: delete_old(conn, before_ms, STEP_ROWS)):
            deleted += step
            await self._database.copy_log()
            await asyncio.sleep(PAUSE_SECONDS)
        if deleted:
            _log.info("%d rows of the ledger are older than %d days and were deleted", deleted, self._kept.days)
