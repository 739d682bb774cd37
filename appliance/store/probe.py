"""Asks the storage whether it has room for a call, by writing as much. Changes nothing that anybody reads."""

import sqlite3

CALL_BYTES = 256 * 1024
"""More than intent, certificate and ledger row of a call write together, with the pages of their indexes."""


def write_like_a_call(conn: sqlite3.Connection) -> None:
    """Write as much as a call does: what little room a full disk has left lets a single page through."""
    conn.execute("INSERT OR REPLACE INTO storage_probe (n, bytes) VALUES (1, randomblob(?))", (CALL_BYTES,))
