import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from appliance.errors import StorageUnavailable
from appliance.store import ledger, retention, rollups
from appliance.store.database import Database
from appliance.store.ledger import LedgerRow
from appliance.store.ledger_pages import Filters
from appliance.store.retention import Retention, delete_old
from appliance.times import to_ms
from tests.waiting import until

PARENTS = (
    "INSERT INTO workspaces (n, id, name, created_ms) VALUES (1, 'w', 'w', 0)",
    "INSERT INTO users (n, id, name, created_ms) VALUES (1, 'u', 'u', 0)",
    "INSERT INTO keys (n, id, digest, name, workspace_n, user_n, scopes, created_ms)"
    " VALUES (1, 'k', x'00', 'k', 1, 1, 'engine', 0)",
)

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def row(number: int, at: datetime) -> LedgerRow:
    return LedgerRow(to_ms(at), f"prf_{number}", 1, 1, 1, "openai", "pulse-auto", "complete", 120)


def left(conn: sqlite3.Connection) -> list[str]:
    return [one[0] for one in conn.execute("SELECT proof_id FROM ledger ORDER BY n")]


class TestDeleteOld:
    @pytest.fixture
    def filled(self, metered: sqlite3.Connection) -> sqlite3.Connection:
        for number in (3, 0, 2, 1, 4):
            ledger.insert(metered, row(number, NOW + timedelta(milliseconds=number)))
        return metered

    def test_the_oldest_go_first_and_no_more_than_asked_for(self, filled: sqlite3.Connection):
        assert delete_old(filled, to_ms(NOW) + 4, 3) == 3
        assert left(filled) == ["prf_3", "prf_4"]
        assert delete_old(filled, to_ms(NOW) + 4, 3) == 1
        assert left(filled) == ["prf_4"]
        assert delete_old(filled, to_ms(NOW) + 4, 3) == 0

    def test_the_sums_stay(self, filled: sqlite3.Connection):
        before = rollups.sums(filled, Filters(), "day")
        assert delete_old(filled, to_ms(NOW) + 100, 100) == 5
        assert rollups.sums(filled, Filters(), "day") == before


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


class TestRounds:
    @pytest.fixture
    async def database(self, tmp_path: Path) -> AsyncIterator[Database]:
        opened = await Database.open(tmp_path / "synapse.db")
        for statement in PARENTS:
            await opened.write(lambda conn, statement=statement: conn.execute(statement))
        yield opened
        await opened.close()

    @pytest.fixture
    def rows(self, tmp_path: Path) -> Callable[[], list[str]]:
        def read() -> list[str]:
            with closing(sqlite3.connect(tmp_path / "synapse.db")) as conn:
                return left(conn)

        return read

    @pytest.fixture(autouse=True)
    def small_steps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(retention, "STEP_ROWS", 7)
        monkeypatch.setattr(retention, "PAUSE_SECONDS", 0.001)
        monkeypatch.setattr(retention, "INTERVAL_SECONDS", 0.01)

    async def test_each_round_deletes_what_has_become_too_old(
        self, database: Database, rows: Callable[[], list[str]], caplog: pytest.LogCaptureFixture
    ):
        caplog.set_level(logging.INFO, "appliance.store.retention")
        ages = [timedelta(days=10), timedelta(days=10, milliseconds=1)] * 20 + [timedelta(days=9), timedelta()]
        for number, age in enumerate(ages):
            await database.write(lambda conn, number=number, age=age: ledger.insert(conn, row(number, NOW - age)))
        clock = Clock()
        keeping = Retention(database, clock, days=10)
        keeping.start()
        await until(lambda: len(rows()) == 22)
        assert rows() == [f"prf_{number}" for number, age in enumerate(ages) if age <= timedelta(days=10)]
        clock.now += timedelta(milliseconds=1)
        await until(lambda: len(caplog.records) == 2)
        await keeping.stop()
        assert rows() == ["prf_40", "prf_41"]
        deleted = "20 rows of the ledger are older than 10 days and were deleted"
        assert [one.message for one in caplog.records] == [deleted, deleted]

    async def test_a_full_disk_is_told_and_tried_again(
        self,
        database: Database,
        rows: Callable[[], list[str]],
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ):
        for number, age in enumerate((11, 0)):
            at = NOW - timedelta(days=age)
            await database.write(lambda conn, number=number, at=at: ledger.insert(conn, row(number, at)))
        refusals = iter([StorageUnavailable("full", advice="")])

        def delete(conn: sqlite3.Connection, before_ms: int, most: int) -> int:
            for refusal in refusals:
                raise refusal
            return delete_old(conn, before_ms, most)

        monkeypatch.setattr(retention, "delete_old", delete)
        keeping = Retention(database, Clock(), days=10)
        keeping.start()
        await until(lambda: rows() == ["prf_1"])
        await keeping.stop()
        told = [one.message for one in caplog.records if one.name == "appliance.store.retention"]
        assert told == ["old rows of the ledger could not be deleted: full"]

    async def test_a_clock_that_is_wrong_deletes_no_ledger(
        self, database: Database, rows: Callable[[], list[str]], caplog: pytest.LogCaptureFixture
    ):
        for number, age in enumerate((100, 20, 0)):
            at = NOW - timedelta(days=age)
            await database.write(lambda conn, number=number, at=at: ledger.insert(conn, row(number, at)))
        clock = Clock()
        clock.now += timedelta(days=3 * 365)
        keeping = Retention(database, clock, days=60)
        keeping.start()
        # It may have been off for a month, which makes one row too old by any account.
        await until(lambda: len(rows()) == 2)
        # A call that it has dated is no reason to believe it.
        await database.write(lambda conn: ledger.insert(conn, row(9, clock.now)))
        await asyncio.sleep(0.1)
        await keeping.stop()
        assert rows() == ["prf_1", "prf_2", "prf_9"]
        assert [one.message for one in caplog.records] == [
            "the clock is more than 30 days ahead of the newest row of the ledger: rows are kept longer than 60 days,"
            " until a start finds both near each other"
        ]

    async def test_a_box_that_was_off_for_some_time_goes_on_deleting(
        self, database: Database, rows: Callable[[], list[str]]
    ):
        for number, age in enumerate((59, 0)):
            at = NOW - timedelta(days=age)
            await database.write(lambda conn, number=number, at=at: ledger.insert(conn, row(number, at)))
        clock = Clock()
        clock.now += timedelta(days=29)
        keeping = Retention(database, clock, days=60)
        keeping.start()
        await until(lambda: rows() == ["prf_1"])
        await keeping.stop()

    async def test_after_the_stop_nothing_is_deleted(self, database: Database, rows: Callable[[], list[str]]):
        clock = Clock()
        keeping = Retention(database, clock, days=10)
        keeping.start()
        await keeping.stop()
        await database.write(lambda conn: ledger.insert(conn, row(0, NOW - timedelta(days=11))))
        assert rows() == ["prf_0"]
        assert len(keeping._tasks) == 0
