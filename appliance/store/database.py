"""The SQLite file: one writer that groups what is waiting into one transaction, and readers of their own.

Knows nothing of the tables. A caller hands in a plain function of a `sqlite3.Connection`; it runs on the
connection's own thread, so that the event loop never waits for the disk.
"""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import aiosqlite

from appliance.errors import StateError, StorageUnavailable
from appliance.store.migrate import migrate
from appliance.store.probe import write_like_a_call
from appliance.tasks import Tasks

_log = logging.getLogger(__name__)

T = TypeVar("T")

Job = Callable[[sqlite3.Connection], T]

READERS = 3
"""Reader connections. Reads are short; more threads than this only contend on two to four cores."""

BATCH = 256
"""Jobs in one transaction at most: bounds how long the first of a batch waits for its commit."""

BUSY_TIMEOUT_MS = 2_000
"""How long a statement waits for another process (a backup, an administrator's shell) to let go of the file."""

CHECKPOINT_MS = 100
"""The same for readers that are still at the log when it is to be emptied: writes wait meanwhile."""


class _Thread(aiosqlite.Connection):
    """An aiosqlite connection that can run a whole function on its thread instead of one statement."""

    async def run(self, job: Job[T]) -> T:
        execute = cast(Any, super())._execute
        return cast(T, await execute(lambda: job(self._conn)))

    async def shut(self) -> None:
        """Close and wait for the thread's end. Where opening failed, aiosqlite has told the thread to end, no more."""
        if self._connection is not None:
            await self.close()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)


class _Failed:
    def __init__(self, error: BaseException) -> None:
        self.error = error


class Database:
    """Open with `Database.open`; every write is durable against the death of the process when `write` returns."""

    def __init__(self, writer: _Thread, copier: _Thread, readers: list[_Thread]) -> None:
        self._writer = writer
        self._copier = copier
        self._readers = readers
        self._idle: asyncio.Queue[_Thread] = asyncio.Queue()
        for reader in readers:
            self._idle.put_nowait(reader)
        self._waiting: asyncio.Queue[tuple[Job[Any], asyncio.Future[Any]]] = asyncio.Queue()
        self._tasks = Tasks()
        self._tasks.spawn("store-writer", self._write_forever())
        self._closed = False
        self._failing = False

    @classmethod
    async def open(cls, path: Path, *, fsync: bool = False) -> Self:
        """Open or create the file and bring its schema up to date.

        Raises:
            StateError: the file is not ours, is newer than this version, or cannot be opened.
        """
        writer = _Thread(partial(_connect, path, fsync), 64)
        copier = _Thread(partial(_connect, path, fsync), 64)
        readers: list[_Thread] = []
        try:
            await writer
            await writer.run(migrate)
            await copier
            for _ in range(READERS):
                reader = _Thread(partial(_connect_reader, path), 64)
                readers.append(reader)
                await reader
        except (sqlite3.Error, OSError) as error:
            await _close_all([*readers, copier, writer])
            raise StateError(
                f"The database {path} cannot be opened ({error}).",
                advice="Check that the state directory belongs to the user that runs Synapse and has free space.",
            ) from error
        except StateError:
            await _close_all([*readers, copier, writer])
            raise
        return cls(writer, copier, readers)

    @property
    def failing(self) -> bool:
        """Whether the newest write could not be made. It is over when a write succeeds beside one as large as a call's.

        Else a disk with room for an intent alone would let calls through whose certificates it cannot take.
        """
        return self._failing

    @property
    def waiting(self) -> int:
        """How many writes wait for the next transaction."""
        return self._waiting.qsize()

    async def write(self, job: Job[T]) -> T:
        """Run `job` inside the next transaction and return its result after the commit.

        An exception that `job` raises undoes that job alone and is raised here.

        Raises:
            StorageUnavailable: the transaction could not be written (disk full, file locked); nothing was kept.
        """
        if self._closed:
            raise StorageUnavailable("The database is closed.", advice="The daemon is stopping; try again later.")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.put_nowait((job, future))
        return await future

    async def read(self, query: Job[T]) -> T:
        """Run `query` on a reader connection, which sees everything that was committed before."""
        reader = await self._idle.get()
        try:
            return await reader.run(query)
        except sqlite3.DatabaseError as error:
            raise StorageUnavailable(
                f"The database cannot be read ({error}).", advice="Check the disk of the state directory."
            ) from error
        finally:
            self._idle.put_nowait(reader)

    async def checkpoint(self) -> bool:
        """Write the log into the file and empty it, so that nothing of what was overwritten stays in either. Whether it
        is empty: it stays as it is where a reader is at it for longer than CHECKPOINT_MS. Raises sqlite3.Error."""
        return await self._writer.run(_checkpoint)

    async def copy_log(self) -> None:
        """Copy what is in the log into the file, beside the writer, which else does it between two calls and waits for
        the disk: for those who write much, and have time. Where it cannot be done it is left to the writer."""
        with contextlib.suppress(sqlite3.Error):
            await self._copier.run(lambda conn: conn.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone())

    async def close(self) -> None:
        """Write what is waiting, then close every connection."""
        if self._closed:
            return
        self._closed = True
        await self._waiting.join()
        await self._tasks.cancel()
        await _close_all([*self._readers, self._copier, self._writer])

    async def _write_forever(self) -> None:
        while True:
            batch = [await self._waiting.get()]
            while len(batch) < BATCH and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            jobs = [job for job, _ in batch]
            first = write_like_a_call if self._failing else None
            outcomes = await self._writer.run(lambda conn, jobs=jobs, first=first: _transaction(conn, jobs, first))
            self._tell(outcomes)
            for (_, future), outcome in zip(batch, outcomes, strict=True):
                _settle(future, outcome)
                self._waiting.task_done()

    def _tell(self, outcomes: list[Any]) -> None:
        """Log that the storage fails when it begins to, and when it is over: not at every call."""
        faults = [
            one.error for one in outcomes if isinstance(one, _Failed) and isinstance(one.error, StorageUnavailable)
        ]
        if bool(faults) == self._failing:
            return
        self._failing = bool(faults)
        if faults:
            _log.error("the storage takes no writes, so that calls are refused: %s", faults[0].message)
        else:
            _log.info("the storage takes writes again")


def _settle(future: asyncio.Future[Any], outcome: Any) -> None:
    if future.done():  # its caller was cancelled; what it asked for is committed all the same
        return
    if isinstance(outcome, _Failed):
        future.set_exception(outcome.error)
    else:
        future.set_result(outcome)


def _transaction(conn: sqlite3.Connection, jobs: list[Job[Any]], first: Job[None] | None) -> list[Any]:
    """Run all jobs in one transaction; the result or failure of each, in order. Where `first` fails, all do.

    Never raises.
    """
    try:
        conn.execute("BEGIN IMMEDIATE")
        if first is not None:
            first(conn)
        outcomes = [_savepoint(conn, job) for job in jobs]
        conn.execute("COMMIT")
    except sqlite3.Error as error:
        if conn.in_transaction:
            with contextlib.suppress(sqlite3.Error):  # then the next BEGIN fails, and is told
                conn.execute("ROLLBACK")
        return [_Failed(_unavailable(error)) for _ in jobs]
    return outcomes


def _savepoint(conn: sqlite3.Connection, job: Job[Any]) -> Any:
    conn.execute("SAVEPOINT job")
    try:
        outcome = job(conn)
    except Exception as error:  # the job's own failure is its caller's to handle
        if not conn.in_transaction:  # SQLite gave the whole transaction up, as it does when the disk is full
            raise sqlite3.OperationalError(str(error)) from error
        conn.execute("ROLLBACK TO job")
        outcome = _Failed(_unavailable(error) if is_storages(error) else error)
    conn.execute("RELEASE job")
    return outcome


def is_storages(error: Exception) -> bool:
    """Whether the file is at fault, not the job: SQLite tells a damaged file by the base class itself."""
    return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError


def _checkpoint(conn: sqlite3.Connection) -> bool:
    conn.execute(f"PRAGMA busy_timeout = {CHECKPOINT_MS}")
    try:
        return conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    finally:
        conn.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")


def _unavailable(error: Exception) -> StorageUnavailable:
    return StorageUnavailable(
        f"The call could not be recorded ({error}).",
        advice="Check the disk of the gateway's state directory, and its free space; then try again.",
    )


def _connect(path: Path, fsync: bool) -> sqlite3.Connection:
    conn = sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.execute(f"PRAGMA synchronous = {'FULL' if fsync else 'NORMAL'}")
    conn.execute("PRAGMA foreign_keys = ON")
    return conn


def _connect_reader(path: Path) -> sqlite3.Connection:
    conn = sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000)
    conn.execute("PRAGMA query_only = ON")
    return conn


async def _close_all(threads: list[_Thread]) -> None:
    for thread in threads:
        await thread.shut()
