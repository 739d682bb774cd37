"""The workspaces: whom a key works for, and whose certificates a call makes. Names are unique."""

import sqlite3
from typing import NamedTuple

from appliance.errors import AdminError


class WorkspaceRow(NamedTuple):
    """`allowance_milli` is in thousandths of a question a calendar month, None without an allowance."""

    n: int
    id: str
    name: str
    created_ms: int
    allowance_milli: int | None


_COLUMNS = ", ".join(WorkspaceRow._fields)


def insert(conn: sqlite3.Connection, *, workspace_id: str, name: str, created_ms: int) -> None:
    """Raises `AdminError` where the name is taken."""
    if by_name(conn, name) is not None:
        raise AdminError(f'There is a workspace "{name}" already.', advice="Choose another name.")
    conn.execute("INSERT INTO workspaces (id, name, created_ms) VALUES (?, ?, ?)", (workspace_id, name, created_ms))


def by_name(conn: sqlite3.Connection, name: str) -> WorkspaceRow | None:
    row = conn.execute(f"SELECT {_COLUMNS} FROM workspaces WHERE name = ?", (name,)).fetchone()
    return WorkspaceRow(*row) if row else None


def list_all(conn: sqlite3.Connection) -> list[WorkspaceRow]:
    """All of them, oldest first."""
    return [WorkspaceRow(*row) for row in conn.execute(f"SELECT {_COLUMNS} FROM workspaces ORDER BY n")]


def set_allowance(conn: sqlite3.Connection, n: int, allowance_milli: int | None) -> None:
    conn.execute("UPDATE workspaces SET allowance_milli = ? WHERE n = ?", (allowance_milli, n))
