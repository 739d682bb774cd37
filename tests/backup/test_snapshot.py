import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from appliance.backup import snapshot
from appliance.backup.snapshot import Stop
from appliance.errors import StateError
from tests.backup.conftest import installed, rows


def key_of(state_dir: Path) -> bytes:
    return (state_dir / "secret.key").read_bytes()


@pytest.fixture
def copy(state_dir: Path, tmp_path: Path) -> Path:
    into = tmp_path / "copy.db"
    snapshot.copy(state_dir / "synapse.db", into, Stop())
    return into


def test_a_copy_holds_the_same_and_is_its_owners_alone(state_dir: Path, copy: Path):
    (copy.parent / "copied").mkdir()
    copy.rename(copy.parent / "copied" / "synapse.db")
    assert rows(copy.parent / "copied") == rows(state_dir)
    assert (copy.parent / "copied" / "synapse.db").stat().st_mode & 0o777 == 0o600


def test_what_is_only_in_the_log_is_in_the_copy_too(state_dir: Path, tmp_path: Path):
    with closing(sqlite3.connect(state_dir / "synapse.db", isolation_level=None)) as writer:
        writer.execute("INSERT INTO live_settings (name, value) VALUES ('late', '1')")
        assert (state_dir / "synapse.db-wal").stat().st_size > 0
        writer.execute("BEGIN IMMEDIATE")  # and a transaction that is open holds nobody up
        writer.execute("INSERT INTO live_settings (name, value) VALUES ('open', '1')")
        snapshot.copy(state_dir / "synapse.db", tmp_path / "copy.db", Stop())
        writer.execute("ROLLBACK")
    with closing(sqlite3.connect(tmp_path / "copy.db")) as conn:
        assert conn.execute("SELECT name FROM live_settings").fetchall() == [("late",)]


def test_the_copy_says_what_it_is(state_dir: Path, copy: Path):
    found = snapshot.check(copy, key_of(state_dir), Stop())
    with closing(sqlite3.connect(copy)) as conn:
        (name,) = conn.execute("SELECT id FROM installation").fetchone()
    assert (found.schema, found.installation) == (len(snapshot.migrations()), name)
    assert b'"kty":"OKP"' in found.public_keys.replace(b" ", b"")


def test_the_key_of_another_installation_is_refused(copy: Path, tmp_path: Path):
    other = installed(tmp_path / "other")
    with pytest.raises(StateError, match="does not open with this key file"):
        snapshot.check(copy, key_of(other), Stop())


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("PRAGMA user_version = 999", "schema 999; this version knows"),
        ("PRAGMA application_id = 5", "another program's"),
        ("DELETE FROM installation", "no installation yet"),
        ("DELETE FROM signing_keys", "no signing key in use"),
        ("DROP TABLE signing_keys", "no such table"),
    ],
)
def test_what_is_not_ours_or_not_whole(state_dir: Path, copy: Path, change: str, what: str):
    with closing(sqlite3.connect(copy, isolation_level=None)) as conn:
        conn.execute(change)
    with pytest.raises(StateError, match=what):
        snapshot.check(copy, key_of(state_dir), Stop())


def test_a_damaged_page_is_found(state_dir: Path, copy: Path):
    content = bytearray(copy.read_bytes())
    content[4096 * 3 : 4096 * 9] = b"\xff" * 4096 * 6
    copy.write_bytes(content)
    with pytest.raises(StateError, match=r"damaged|malformed"):
        snapshot.check(copy, key_of(state_dir), Stop())


def test_an_index_that_does_not_go_with_its_table_is_found(state_dir: Path, copy: Path):
    with closing(sqlite3.connect(copy, isolation_level=None)) as conn:
        conn.execute("PRAGMA writable_schema = ON")
        conn.execute("UPDATE sqlite_schema SET sql = replace(sql, '(user_n', '(id') WHERE name = 'facts_by_user'")
        conn.execute("INSERT INTO fact_slots (content) VALUES (x'00')")
        conn.execute(
            "INSERT INTO facts (id, user_n, source, category, key, slot_n, bytes, confidence, created_ms, updated_ms)"
            " VALUES ('fct_1', 1, '', '', '', 1, 1, 1, 0, 0)"
        )
    with pytest.raises(StateError, match="The database is damaged"):
        snapshot.check(copy, key_of(state_dir), Stop())


def test_what_is_no_database(state_dir: Path, tmp_path: Path):
    (tmp_path / "text").write_text("hello " * 1000)
    with pytest.raises(StateError, match="not a database"):
        snapshot.check(tmp_path / "text", key_of(state_dir), Stop())
    with pytest.raises(StateError, match=r"cannot be opened|cannot be copied"):
        snapshot.copy(tmp_path / "none.db", tmp_path / "copy.db", Stop())


def test_a_path_with_signs_of_a_url(tmp_path: Path):
    state_dir = installed(tmp_path / "a?b#c %41")
    snapshot.copy(state_dir / "synapse.db", tmp_path / "copy?.db", Stop())
    assert snapshot.check(tmp_path / "copy?.db", key_of(state_dir), Stop()).schema


def test_it_ends_where_nobody_waits_for_it_any_more(state_dir: Path, tmp_path: Path):
    stop = Stop()
    stop.stop()
    with pytest.raises(StateError, match="interrupted"):
        snapshot.copy(state_dir / "synapse.db", tmp_path / "copy.db", stop)


def test_it_ends_in_the_middle_too():
    stop = Stop()
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with closing(sqlite3.connect(":memory:")) as conn:
        later = threading.Timer(0.05, stop.stop)
        later.start()
        with pytest.raises(sqlite3.OperationalError, match="interrupted"), stop.during(conn):
            conn.execute(endless).fetchone()
        later.join()
