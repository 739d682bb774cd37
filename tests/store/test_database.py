import asyncio
import logging
import sqlite3
import threading
from pathlib import Path

import pytest

from appliance.errors import StateError, StorageUnavailable
from appliance.store.database import BUSY_TIMEOUT_MS, Database
from tests.waiting import until


def _insert(name: str):
    def job(conn: sqlite3.Connection) -> int:
        conn.execute("INSERT INTO live_settings (name, value) VALUES (?, '1')", (name,))
        return conn.execute("SELECT count(*) FROM live_settings").fetchone()[0]

    return job


def _names(conn: sqlite3.Connection) -> list[str]:
    return [row[0] for row in conn.execute("SELECT name FROM live_settings ORDER BY n")]


@pytest.fixture
async def database(tmp_path: Path):
    database = await Database.open(tmp_path / "synapse.db")
    yield database
    await database.close()


async def test_a_write_is_visible_to_readers_when_it_returns(database: Database):
    assert await database.write(_insert("a")) == 1
    assert await database.read(_names) == ["a"]


async def test_waiting_writes_share_one_transaction_and_keep_their_order(database: Database):
    commits: list[str] = []
    await database.write(lambda conn: conn.set_trace_callback(lambda sql: commits.append(sql)))
    counts = await asyncio.gather(*(database.write(_insert(f"s{i}")) for i in range(50)))
    assert counts == list(range(1, 51))
    assert commits.count("COMMIT") <= 3


async def test_what_waits_behind_a_transaction_is_counted(database: Database):
    begun, go = threading.Event(), threading.Event()

    def hold(_: sqlite3.Connection) -> bool:
        begun.set()
        return go.wait(5)

    first = asyncio.ensure_future(database.write(hold))
    await until(begun.is_set)
    others = [asyncio.ensure_future(database.write(_insert(name))) for name in "abc"]
    await until(lambda: database.waiting == 3)
    go.set()
    await asyncio.gather(first, *others)
    assert database.waiting == 0


async def test_a_failing_job_undoes_only_itself(database: Database):
    def broken(conn: sqlite3.Connection) -> None:
        conn.execute("INSERT INTO live_settings (name, value) VALUES ('half', '1')")
        raise ValueError("no")

    results = await asyncio.gather(
        database.write(_insert("a")), database.write(broken), database.write(_insert("b")), return_exceptions=True
    )
    assert [type(result) for result in results] == [int, ValueError, int]
    assert await database.read(_names) == ["a", "b"]


async def test_a_constraint_is_the_callers_error_not_a_storage_fault(database: Database):
    await database.write(_insert("a"))
    with pytest.raises(sqlite3.IntegrityError):
        await database.write(_insert("a"))


async def test_a_damaged_file_is_a_storage_fault(database: Database):
    def damaged(_: sqlite3.Connection) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    with pytest.raises(StorageUnavailable, match="malformed"):
        await database.write(damaged)
    with pytest.raises(StorageUnavailable, match="malformed"):
        await database.read(damaged)


async def test_a_full_disk_refuses_the_write_and_recovers(database: Database):
    def fill(conn: sqlite3.Connection) -> None:
        conn.execute("PRAGMA max_page_count = 1")  # SQLite's own way to say SQLITE_FULL
        pages: int = conn.execute("PRAGMA page_count").fetchone()[0]
        conn.execute(f"PRAGMA max_page_count = {pages}")

    await database.write(fill)
    big = "x" * 1_000_000
    with pytest.raises(StorageUnavailable):
        await database.write(
            lambda conn: conn.execute("INSERT INTO live_settings (name, value) VALUES ('big', ?)", (big,))
        )
    await database._writer.run(lambda conn: conn.execute("PRAGMA max_page_count = 100000"))
    assert await database.write(_insert("after")) > 0


async def test_after_a_full_disk_room_for_a_small_write_is_not_enough(database: Database):
    def leave(pages: int):
        def job(conn: sqlite3.Connection) -> None:
            used: int = conn.execute("PRAGMA page_count").fetchone()[0]
            conn.execute(f"PRAGMA max_page_count = {used + pages}")

        return job

    def much(conn: sqlite3.Connection) -> None:
        conn.execute("INSERT INTO live_settings (name, value) VALUES ('much', ?)", ("x" * 1_000_000,))

    def little(conn: sqlite3.Connection) -> None:
        conn.execute("UPDATE live_settings SET value = value || 'x' WHERE name = 'a'")

    await database.write(_insert("a"))
    await database.write(leave(10))
    await database.write(little)
    with pytest.raises(StorageUnavailable):
        await database.write(much)
    for _ in range(2):
        with pytest.raises(StorageUnavailable):
            await database.write(little)
    assert database.failing
    await database._writer.run(leave(1000))
    await database.write(little)
    assert not database.failing
    assert await database.read(lambda conn: conn.execute("SELECT value FROM live_settings").fetchall()) == [("1xx",)]


async def test_a_locked_file_refuses_the_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("appliance.store.database.BUSY_TIMEOUT_MS", 50)
    database = await Database.open(tmp_path / "synapse.db")
    other = sqlite3.connect(tmp_path / "synapse.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageUnavailable):
        await database.write(_insert("a"))
    other.execute("ROLLBACK")
    other.close()
    assert await database.write(_insert("a")) == 1
    await database.close()


async def test_a_fault_of_the_storage_is_logged_when_it_begins_and_when_it_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "appliance.store.database")
    monkeypatch.setattr("appliance.store.database.BUSY_TIMEOUT_MS", 10)
    database = await Database.open(tmp_path / "synapse.db")
    other = sqlite3.connect(tmp_path / "synapse.db", isolation_level=None)
    for round_ in ("a", "b"):
        other.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            with pytest.raises(StorageUnavailable):
                await database.write(_insert(round_))
        other.execute("ROLLBACK")
        for number in range(3):
            await database.write(_insert(f"{round_}{number}"))
    with pytest.raises(sqlite3.IntegrityError):  # the caller's error, which says nothing of the storage
        await database.write(_insert("a0"))
    other.close()
    await database.close()
    fault = (
        "the storage takes no writes, so that calls are refused: The call could not be recorded (database is locked)."
    )
    over = "the storage takes writes again"
    assert [(one.levelname, one.message) for one in caplog.records] == [("ERROR", fault), ("INFO", over)] * 2


async def test_a_cancelled_caller_does_not_stop_the_writer(database: Database):
    task = asyncio.ensure_future(database.write(_insert("a")))
    await asyncio.sleep(0)
    task.cancel()
    assert await database.write(_insert("b")) == 2


async def test_close_writes_what_is_waiting_and_refuses_what_comes_after(tmp_path: Path):
    database = await Database.open(tmp_path / "synapse.db")
    waiting = [asyncio.ensure_future(database.write(_insert(f"s{i}"))) for i in range(10)]
    await asyncio.sleep(0)
    await database.close()
    assert [await one for one in waiting] == list(range(1, 11))
    with pytest.raises(StorageUnavailable):
        await database.write(_insert("late"))


async def test_readers_cannot_write(database: Database):
    with pytest.raises(StorageUnavailable, match="readonly"):
        await database.read(_insert("a"))


async def test_wal_and_durability_as_documented(tmp_path: Path):
    for fsync, level in ((False, 1), (True, 2)):
        database = await Database.open(tmp_path / f"{fsync}.db", fsync=fsync)
        assert await database.write(lambda conn: conn.execute("PRAGMA journal_mode").fetchone()[0]) == "wal"
        assert await database.write(lambda conn: conn.execute("PRAGMA synchronous").fetchone()[0]) == level
        await database.close()


async def test_a_directory_that_cannot_be_written_is_a_state_error(tmp_path: Path):
    with pytest.raises(StateError, match="state directory"):
        await Database.open(tmp_path / "missing" / "synapse.db")
    (tmp_path / "garbage.db").write_bytes(b"not a database, but long enough to look at" * 50)
    with pytest.raises(StateError):
        await Database.open(tmp_path / "garbage.db")


async def test_a_checkpoint_empties_the_log_into_the_file(tmp_path: Path):
    database = await Database.open(tmp_path / "synapse.db")
    await database.write(_insert("checked"))
    log = tmp_path / "synapse.db-wal"
    assert b"checked" in log.read_bytes()
    assert await database.checkpoint()
    assert log.read_bytes() == b""
    assert b"checked" in (tmp_path / "synapse.db").read_bytes()
    await database.close()


async def test_a_checkpoint_waits_a_moment_for_a_reader_and_no_longer(tmp_path: Path):
    database = await Database.open(tmp_path / "synapse.db")
    reader = sqlite3.connect(tmp_path / "synapse.db", isolation_level=None)
    reader.execute("BEGIN")
    assert _names(reader) == []
    await database.write(_insert("checked"))
    async with asyncio.timeout(BUSY_TIMEOUT_MS / 1000):
        assert not await database.checkpoint()
    assert b"checked" in (tmp_path / "synapse.db-wal").read_bytes()
    # What waits for a lock afterwards waits as long as before.
    assert await database.write(lambda conn: conn.execute("PRAGMA busy_timeout").fetchone()[0]) == BUSY_TIMEOUT_MS
    reader.execute("COMMIT")
    reader.close()
    assert await database.checkpoint()
    await database.close()


async def test_the_log_can_be_copied_beside_the_writer(tmp_path: Path):
    database = await Database.open(tmp_path / "synapse.db")
    await database.write(_insert("copied"))
    assert b"copied" not in (tmp_path / "synapse.db").read_bytes()
    entered, leave = threading.Event(), threading.Event()

    def slow(_: sqlite3.Connection) -> None:
        entered.set()
        leave.wait(10)

    writing = asyncio.ensure_future(database.write(slow))
    await until(entered.is_set)
    await database.copy_log()  # while the writer is in a transaction
    assert b"copied" in (tmp_path / "synapse.db").read_bytes()
    leave.set()
    await writing
    await database.close()
