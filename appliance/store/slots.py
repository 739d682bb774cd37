"""Where values lie that have to be gone once they are deleted: in slots that never move, overwritten where they are.

`PRAGMA secure_delete` alone does not do it. When rows are inserted and deleted SQLite evens out the pages of a table,
and copies of rows stay in what is then the unused part of a page: nothing overwrites them when the row itself goes. So
no slot is ever deleted, or given another length, and new ones come at the end: then no page is evened out. A slot that
is given back is filled with zeros and used again. Until the next checkpoint a value is still in the log: see `wiping`.

Source: the file format of SQLite ("B-tree Pages"), and `tests/store/test_slots.py`, which looks at every byte.
"""

import sqlite3

STEP = 64
"""Bytes: the lengths of slots are multiples of it, so that most values fit into most slots that are free."""


def put(conn: sqlite3.Connection, content: bytes) -> int:
    """Keep `content` in a slot; its number."""
    size = _size(len(content))
    free = conn.execute("SELECT n FROM fact_slots_free WHERE size = ? LIMIT 1", (size,)).fetchone()
    if free is None:
        padded = content.ljust(size, b"\0")
        return conn.execute("INSERT INTO fact_slots (content) VALUES (?)", (padded,)).lastrowid or 0
    conn.execute("DELETE FROM fact_slots_free WHERE n = ?", free)
    _overwrite(conn, free[0], content.ljust(size, b"\0"))
    return free[0]


def replace(conn: sqlite3.Connection, slot_n: int, length: int, content: bytes) -> int:
    """Overwrite the `length` bytes that the slot holds; its number, another one where the new ones need more or less
    room."""
    size = _size(length)
    if _size(len(content)) == size:
        _overwrite(conn, slot_n, content.ljust(size, b"\0"))
        return slot_n
    give_back(conn, slot_n, length)
    return put(conn, content)


def give_back(conn: sqlite3.Connection, slot_n: int, length: int) -> None:
    """Fill the slot, which holds `length` bytes, with zeros."""
    size = _size(length)
    _overwrite(conn, slot_n, bytes(size))
    conn.execute("INSERT INTO fact_slots_free (n, size) VALUES (?, ?)", (slot_n, size))


def _size(length: int) -> int:
    return max(1, -(-length // STEP)) * STEP


def _overwrite(conn: sqlite3.Connection, slot_n: int, padded: bytes) -> None:
    conn.execute("UPDATE fact_slots SET content = ? WHERE n = ?", (padded, slot_n))
