import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from appliance.doctor import storage
from appliance.store import ledger
from appliance.store.ledger import LedgerRow
from appliance.times import to_ms
from tests.backup.conftest import NOW, installed


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return installed(tmp_path / "state")


def test_a_database_that_is_well(state_dir: Path):
    found = storage.database(state_dir, {})
    assert (found.there, found.ours, found.problem, found.faults, found.thorough) == (True, True, None, (), True)
    assert found.schema == found.newest_schema > 6
    assert found.installation
    assert (found.sealed_problem, found.closed_providers, found.newest_call) == (None, (), None)


def test_the_newest_call(state_dir: Path):
    with closing(sqlite3.connect(state_dir / "synapse.db", isolation_level=None)) as conn:
        conn.execute(
            "INSERT INTO keys (n, id, digest, name, workspace_n, user_n, scopes, created_ms)"
            " VALUES (1, 'key_1', x'00', 'a', 1, 1, 'engine', 0)"
        )
        for number, at in enumerate((NOW, NOW - timedelta(days=1))):
            ledger.insert(conn, LedgerRow(to_ms(at), f"prf_{number}", 1, 1, 1, "openai", "pulse-auto", "complete", 1))
    assert storage.database(state_dir, {}).newest_call == NOW


def test_a_large_one_is_read_without_its_indexes(state_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(storage, "THOROUGH_BYTES", 1)
    found = storage.database(state_dir, {})
    assert (found.thorough, found.faults) == (False, ())


def test_an_empty_file_is_one_that_is_still_to_be_made(tmp_path: Path):
    assert storage.database(tmp_path, {}).there is False
    (tmp_path / "synapse.db").touch()
    found = storage.database(tmp_path, {})
    assert (found.there, found.ours, found.installation) == (True, True, None)


def test_one_that_may_not_be_read(state_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(storage.os, "access", lambda *_: False)
    assert storage.database(state_dir, {}).hidden


def test_a_database_that_is_written_is_read_all_the_same(state_dir: Path):
    with closing(sqlite3.connect(state_dir / "synapse.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert storage.database(state_dir, {}).problem is None
        writer.execute("ROLLBACK")


def test_a_log_that_a_killed_daemon_left_is_read_and_left_as_it_is(state_dir: Path, tmp_path: Path):
    with closing(sqlite3.connect(state_dir / "synapse.db", isolation_level=None)) as conn:
        conn.execute("DELETE FROM installation")
        shutil.copytree(state_dir, tmp_path / "killed")  # as the disk is when the process dies here
    before = {name: (tmp_path / "killed" / name).read_bytes() for name in ("synapse.db", "synapse.db-wal")}
    assert before["synapse.db-wal"]
    assert storage.database(tmp_path / "killed", {}).installation is None
    assert {name: (tmp_path / "killed" / name).read_bytes() for name in before} == before


def test_the_disk_is_that_of_the_nearest_directory(tmp_path: Path):
    found = storage.disk(tmp_path / "not" / "there")
    assert found is not None
    assert 0 < found.free <= found.total
