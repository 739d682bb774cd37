"""The keys that sign: public part in the clear, private part sealed, and the log indexes each one signs."""

import sqlite3
from typing import NamedTuple


class SigningKeyRow(NamedTuple):
    """`public` is the raw 32-byte Ed25519 key; `last` is None while the key is in use."""

    keyid: str
    role: str
    public: bytes
    sealed: bytes
    first: int
    last: int | None


def insert(conn: sqlite3.Connection, row: SigningKeyRow) -> None:
    conn.execute("INSERT INTO signing_keys (keyid, role, public, sealed, first, last) VALUES (?, ?, ?, ?, ?, ?)", row)


def all_keys(conn: sqlite3.Connection) -> list[SigningKeyRow]:
    """Every key, oldest first, retired ones included."""
    rows = conn.execute("SELECT keyid, role, public, sealed, first, last FROM signing_keys ORDER BY n")
    return [SigningKeyRow(*row) for row in rows]
