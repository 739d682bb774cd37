import sqlite3
from pathlib import Path

import pytest

from appliance.store import probe
from appliance.store.database import Database
from tests.box import Box


@pytest.fixture
async def database(tmp_path: Path):
    opened = await Database.open(tmp_path / "synapse.db")
    yield opened
    await opened.close()


def _contents(conn: sqlite3.Connection) -> list[str]:
    return [line for line in conn.iterdump() if "storage_probe" not in line]


async def test_it_writes_to_the_disk_each_time_and_changes_nothing(database: Database, tmp_path: Path):
    before, log = await database.read(_contents), tmp_path / "synapse.db-wal"
    for _ in range(3):
        size = log.stat().st_size
        await database.write(probe.write_like_a_call)
        assert log.stat().st_size >= size + probe.CALL_BYTES
    assert await database.read(_contents) == before


async def test_a_call_writes_less(gateway: Box):
    log = gateway.state_dir / "synapse.db-wal"
    size = log.stat().st_size
    assert (await gateway.chat()).status_code == 200
    assert size < log.stat().st_size <= size + probe.CALL_BYTES


async def test_it_does_not_grow_with_every_question(database: Database):
    await database.write(probe.write_like_a_call)
    pages = await database.read(lambda conn: conn.execute("PRAGMA page_count").fetchone()[0])
    for _ in range(5):
        await database.write(probe.write_like_a_call)
    assert await database.read(lambda conn: conn.execute("PRAGMA page_count").fetchone()[0]) <= pages + 70
    assert await database.read(lambda conn: conn.execute("SELECT count(*) FROM storage_probe").fetchone()[0]) == 1
