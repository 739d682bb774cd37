"""Rows of the log: signed entries in the order of their index, which the same transaction assigns."""

import sqlite3
from typing import NamedTuple


class EntryRow(NamedTuple):
    """One entry. `n` is its log index, `body` and `signature` are exact bytes, `entry` the SHA-256 of the message."""

    n: int
    payload_type: str
    body: bytes
    keyid: str
    signature: bytes
    entry: bytes


def next_index(conn: sqlite3.Connection) -> int:
    """The index that the next entry of this transaction gets; 0 for an empty log."""
    return conn.execute("SELECT coalesce(max(n) + 1, 0) FROM log_entries").fetchone()[0]


def insert(conn: sqlite3.Connection, row: EntryRow) -> None:
    conn.execute(
        "INSERT INTO log_entries (n, payload_type, body, keyid, signature, entry) VALUES (?, ?, ?, ?, ?, ?)", row
    )


def get(conn: sqlite3.Connection, index: int) -> EntryRow | None:
    row = conn.execute(
        "SELECT n, payload_type, body, keyid, signature, entry FROM log_entries WHERE n = ?", (index,)
    ).fetchone()
    return EntryRow(*row) if row else None
