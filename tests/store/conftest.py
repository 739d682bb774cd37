import sqlite3
from datetime import UTC, datetime

import pytest

from appliance.ids import Ids
from appliance.store.defaults import ensure_defaults


class Counter:
    """Random bytes for tests: 1, 2, 3 … as big-endian numbers of the size that is asked for."""

    def __init__(self) -> None:
        self.last = 0

    def __call__(self, size: int) -> bytes:
        self.last += 1
        return self.last.to_bytes(size, "big")


@pytest.fixture
def ids() -> Ids:
    return Ids(Counter())


@pytest.fixture
def started(conn: sqlite3.Connection, ids: Ids) -> sqlite3.Connection:
    """The database after a first start: workspace `default` and user `admin` are there."""
    ensure_defaults(conn, datetime(2026, 11, 29, 12, tzinfo=UTC), ids)
    return conn


@pytest.fixture
def metered(conn: sqlite3.Connection) -> sqlite3.Connection:
    """The database with two workspaces and users, and three keys: 1 and 2 of the first workspace, 3 of the second."""
    for n in (1, 2):
        conn.execute("INSERT INTO workspaces (n, id, name, created_ms) VALUES (?1, ?1, ?1, 0)", (n,))
        conn.execute("INSERT INTO users (n, id, name, created_ms) VALUES (?1, ?1, ?1, 0)", (n,))
    for n, owner in ((1, 1), (2, 1), (3, 2)):
        conn.execute(
            "INSERT INTO keys (n, id, digest, name, workspace_n, user_n, scopes, created_ms)"
            " VALUES (?1, ?1, ?2, ?1, ?3, ?3, 'engine', 0)",
            (n, bytes([n]), owner),
        )
    return conn
