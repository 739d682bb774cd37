"""Source: operations.md, "A workspace `default` and a user `admin` exist from the start"."""

import sqlite3
from datetime import UTC, datetime

from appliance.ids import Ids
from appliance.store import audit, users, workspaces
from appliance.store.defaults import ensure_defaults

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def test_both_exist_after_the_first_start(conn: sqlite3.Connection, ids: Ids):
    ensure_defaults(conn, NOW, ids)
    assert [(row.name, row.created_ms) for row in workspaces.list_all(conn)] == [("default", 1_795_910_400_000)]
    assert [row.name for row in users.list_all(conn)] == ["admin"]


def test_a_second_start_changes_nothing(conn: sqlite3.Connection, ids: Ids):
    ensure_defaults(conn, NOW, ids)
    before = list(conn.iterdump())
    ensure_defaults(conn, datetime(2027, 1, 1, tzinfo=UTC), ids)
    assert list(conn.iterdump()) == before


def test_the_audit_says_that_the_program_made_them(conn: sqlite3.Connection, ids: Ids):
    ensure_defaults(conn, NOW, ids)
    assert [(row.who, row.action, row.subject) for row in audit.newest(conn, limit=9)] == [
        ("synapse", "user.create", "admin"),
        ("synapse", "workspace.create", "default"),
    ]
