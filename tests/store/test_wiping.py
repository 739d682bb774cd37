"""Source: the issue: 60 s after a 204 the value is in no byte of the database and its log."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from appliance.errors import StorageUnavailable
from appliance.store import database as database_module
from appliance.store import wiping
from appliance.store.database import Database
from appliance.store.wiping import Wiper
from tests.waiting import until


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await Database.open(tmp_path / "synapse.db")
    yield database
    await database.close()


@pytest.fixture
async def wiper(database: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wiper]:
    monkeypatch.setattr(wiping, "GATHER_SECONDS", 0.05)
    wiper = Wiper(database)
    await wiper.start()
    yield wiper
    await wiper.stop()


def log(state: Path) -> bytes:
    return (state / "synapse.db-wal").read_bytes()


def add(name: str):
    return lambda conn: conn.execute("INSERT INTO live_settings (name, value) VALUES (?, '1')", (name,))


async def test_the_log_is_emptied_after_a_write(database: Database, wiper: Wiper, tmp_path: Path):
    await database.write(add("left alone"))
    await asyncio.sleep(0.2)
    assert b"left alone" in log(tmp_path)
    await wiper.write(add("wiped"))
    await until(lambda: log(tmp_path) == b"")


async def test_a_write_that_fails_is_told(wiper: Wiper):
    def broken(_: sqlite3.Connection) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await wiper.write(broken)


async def test_several_share_one_checkpoint(
    database: Database, wiper: Wiper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made, real = [0], database.checkpoint

    async def counted() -> bool:
        made[0] += 1
        return await real()

    monkeypatch.setattr(database, "checkpoint", counted)
    for number in range(20):
        await wiper.write(add(f"s{number}"))
    await until(lambda: log(tmp_path) == b"")
    assert made[0] <= 5


async def test_a_reader_puts_it_off_and_no_more(wiper: Wiper, tmp_path: Path):
    reader = sqlite3.connect(tmp_path / "synapse.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM live_settings").fetchone()
    await wiper.write(add("wiped"))
    await asyncio.sleep(0.4)
    assert b"wiped" in log(tmp_path)
    await wiper.write(add("writes go on"))
    reader.execute("COMMIT")
    reader.close()
    await until(lambda: log(tmp_path) == b"")


async def test_at_once_or_as_soon_as_it_can_be(database: Database, wiper: Wiper, tmp_path: Path):
    await database.write(add("first"))
    await wiper.now()
    assert log(tmp_path) == b""
    reader = sqlite3.connect(tmp_path / "synapse.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM live_settings").fetchone()
    await database.write(add("second"))
    await wiper.now()
    assert b"second" in log(tmp_path)
    reader.close()
    await until(lambda: log(tmp_path) == b"")


async def test_what_an_earlier_process_left_is_wiped_at_the_start(database: Database, tmp_path: Path):
    await database.write(add("left"))
    wiper = Wiper(database)
    await wiper.start()
    assert log(tmp_path) == b""
    await wiper.stop()


async def test_a_disk_that_fails_is_told_once_and_tried_again(
    database: Database, wiper: Wiper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    tried: list[int] = []

    def full(_: sqlite3.Connection) -> bool:
        tried.append(1)
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(database_module, "_checkpoint", full)
        await wiper.write(add("wiped"))
        await until(lambda: len(tried) > 2)
    assert caplog.text.count("disk I/O error") == 1
    await until(lambda: log(tmp_path) == b"")


async def test_nobody_waits_for_a_closed_database(tmp_path: Path):
    database = await Database.open(tmp_path / "synapse.db")
    wiper = Wiper(database)
    await wiper.start()
    await wiper.stop()
    await database.close()
    with pytest.raises(StorageUnavailable):
        await wiper.write(add("late"))
