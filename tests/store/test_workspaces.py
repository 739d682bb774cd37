import sqlite3

import pytest

from appliance.errors import AdminError
from appliance.store import workspaces


def _insert(conn: sqlite3.Connection, n: int, name: str) -> None:
    workspaces.insert(conn, workspace_id=f"ws_{n}", name=name, created_ms=n)


def test_they_are_listed_oldest_first(conn: sqlite3.Connection):
    assert workspaces.list_all(conn) == []
    _insert(conn, 2, "zoe")
    _insert(conn, 1, "ann")
    assert [(row.id, row.name, row.created_ms) for row in workspaces.list_all(conn)] == [
        ("ws_2", "zoe", 2),
        ("ws_1", "ann", 1),
    ]


def test_one_is_found_by_its_exact_name(conn: sqlite3.Connection):
    _insert(conn, 1, "Ann")
    found = workspaces.by_name(conn, "Ann")
    assert found is not None
    assert (found.id, found.n) == ("ws_1", 1)
    assert workspaces.by_name(conn, "ann") is None


def test_a_name_is_taken_once(conn: sqlite3.Connection):
    _insert(conn, 1, "ann")
    with pytest.raises(AdminError, match=r'There is a workspace "ann" already\. Choose another name\.'):
        _insert(conn, 2, "ann")
    assert len(workspaces.list_all(conn)) == 1
