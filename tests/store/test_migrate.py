import sqlite3
from pathlib import Path

import pytest

from appliance.errors import StateError
from appliance.store import migrate as module
from appliance.store.migrate import migrate, migrations


@pytest.fixture
def conn(tmp_path: Path):
    conn = sqlite3.connect(tmp_path / "synapse.db", isolation_level=None)
    yield conn
    conn.close()


def test_migrations_are_numbered_without_gaps():
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_a_new_file_gets_the_newest_schema_once(conn: sqlite3.Connection):
    migrate(conn)
    migrate(conn)
    assert conn.execute("PRAGMA user_version").fetchone()[0] == len(migrations())


def test_every_table_has_an_explicit_integer_primary_key(conn: sqlite3.Connection):
    migrate(conn)
    tables = [row[0] for row in conn.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in tables:
        primary = [row[2] for row in conn.execute(f"PRAGMA table_info({table})") if row[5]]
        assert primary == ["INTEGER"], table


def test_a_newer_schema_is_refused(conn: sqlite3.Connection):
    migrate(conn)
    conn.execute("PRAGMA user_version = 999")
    with pytest.raises(StateError, match="999"):
        migrate(conn)


def test_another_programs_database_is_left_alone(conn: sqlite3.Connection):
    conn.execute("CREATE TABLE theirs (n INTEGER PRIMARY KEY)")
    with pytest.raises(StateError, match="another program"):
        migrate(conn)


def test_a_migration_that_fails_leaves_nothing_behind(conn: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch):
    broken = [*migrations(), (len(migrations()) + 1, "CREATE TABLE half (n INTEGER PRIMARY KEY); SELECT nonsense;")]
    monkeypatch.setattr(module, "migrations", lambda: broken)
    with pytest.raises(sqlite3.Error):
        migrate(conn)
    assert conn.execute("PRAGMA user_version").fetchone()[0] == len(broken) - 1
    assert not conn.execute("SELECT 1 FROM sqlite_schema WHERE name = 'half'").fetchone()
