"""The installation's own name, made once, when the database is new."""

import sqlite3


def get(conn: sqlite3.Connection) -> str | None:
    row = conn.execute("SELECT id FROM installation").fetchone()
    return row[0] if row else None


def create(conn: sqlite3.Connection, installation_id: str, created_ms: int) -> None:
    """Raises `sqlite3.IntegrityError` where there is one already."""
    conn.execute("INSERT INTO installation (n, id, created_ms) VALUES (1, ?, ?)", (installation_id, created_ms))
