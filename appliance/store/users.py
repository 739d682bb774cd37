"""The users: the people and programs that keys are given to. Names are unique."""

import sqlite3
from typing import NamedTuple

from appliance.errors import AdminError


class UserRow(NamedTuple):
    """One that was erased has its id for a name."""

    n: int
    id: str
    name: str
    created_ms: int
    erased_ms: int | None = None


_COLUMNS = ", ".join(UserRow._fields)


def insert(conn: sqlite3.Connection, *, user_id: str, name: str, created_ms: int) -> None:
    """Raises `AdminError` where the name is taken."""
    if by_name(conn, name) is not None:
        raise AdminError(f'There is a user "{name}" already.', advice="Choose another name.")
    conn.execute("INSERT INTO users (id, name, created_ms) VALUES (?, ?, ?)", (user_id, name, created_ms))


def by_name(conn: sqlite3.Connection, name: str) -> UserRow | None:
    row = conn.execute(f"SELECT {_COLUMNS} FROM users WHERE name = ?", (name,)).fetchone()
    return UserRow(*row) if row else None


def list_all(conn: sqlite3.Connection) -> list[UserRow]:
    """All of them, oldest first."""
    return [UserRow(*row) for row in conn.execute(f"SELECT {_COLUMNS} FROM users ORDER BY n")]


def erase(conn: sqlite3.Connection, n: int, erased_ms: int) -> None:
    """Forget the name. One that was erased before keeps its first time."""
    conn.execute("UPDATE users SET name = id, erased_ms = ifnull(erased_ms, ?) WHERE n = ?", (erased_ms, n))
