"""The facts that were found in what users said, each of one user: for another's it is as if they did not exist.

Whatever deletes or replaces one is run by `Wiper.write`, so that the value is soon gone from the log of the database
too; `slots` sees to the file itself.
"""

import sqlite3
from typing import NamedTuple

from appliance.extraction.facts import Fact
from appliance.store import slots


class FactRow(NamedTuple):
    """One fact, with the label of the caller's choosing that groups it. Times are milliseconds since the epoch."""

    n: int
    id: str
    source: str
    category: str
    key: str
    value: str
    confidence: float
    created_ms: int
    updated_ms: int


_SELECT = """
    SELECT facts.n, facts.id, source, category, key, CAST(substr(content, 1, bytes) AS TEXT), confidence,
        created_ms, updated_ms
    FROM facts JOIN fact_slots ON fact_slots.n = slot_n
"""


def upsert(conn: sqlite3.Connection, user_n: int, source: str, fact: Fact, now_ms: int, new_id: str) -> FactRow | None:
    """Keep the fact. Where the user has one of this source, category and key, it takes on the new value and
    `updated_ms`, unless that is later than `now_ms`, and keeps its id and `created_ms`; `new_id` is for a new one.

    None, and nothing is kept, where the user was erased while the call was under way.
    """
    _secure(conn)
    if conn.execute("SELECT 1 FROM users WHERE n = ? AND erased_ms IS NULL", (user_n,)).fetchone() is None:
        return None
    content = fact.value.encode()
    there = conn.execute(
        "SELECT n, slot_n, bytes, updated_ms FROM facts WHERE user_n = ? AND source = ? AND category = ? AND key = ?",
        (user_n, source, fact.category, fact.key),
    ).fetchone()
    if there is None:
        n = conn.execute(
            "INSERT INTO facts (id, user_n, source, category, key, slot_n, bytes, confidence, created_ms, updated_ms)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)",
            (
                new_id,
                user_n,
                source,
                fact.category,
                fact.key,
                slots.put(conn, content),
                len(content),
                fact.confidence,
                now_ms,
            ),
        ).lastrowid
    else:
        n, slot_n, length, updated_ms = there
        if updated_ms <= now_ms:  # else somebody has said otherwise since
            conn.execute(
                "UPDATE facts SET slot_n = ?, bytes = ?, confidence = ?, updated_ms = ? WHERE n = ?",
                (slots.replace(conn, slot_n, length, content), len(content), fact.confidence, now_ms, n),
            )
    return FactRow(*conn.execute(f"{_SELECT} WHERE facts.n = ?", (n,)).fetchone())


def page(
    conn: sqlite3.Connection, user_n: int, *, source: str | None = None, category: str | None = None, limit: int
) -> list[FactRow]:
    """The user's facts, those that were updated last first; of this source and this category where they are given."""
    conditions = {"user_n": user_n, "source": source, "category": category}
    given = {name: value for name, value in conditions.items() if value is not None}
    where = " AND ".join(f"{name} = ?" for name in given)
    rows = conn.execute(
        f"{_SELECT} WHERE {where} ORDER BY updated_ms DESC, facts.n DESC LIMIT ?", (*given.values(), limit)
    )
    return [FactRow(*row) for row in rows]


def get(conn: sqlite3.Connection, user_n: int, fact_id: str) -> FactRow | None:
    row = conn.execute(f"{_SELECT} WHERE facts.id = ? AND user_n = ?", (fact_id, user_n)).fetchone()
    return FactRow(*row) if row else None


def delete(conn: sqlite3.Connection, user_n: int, fact_id: str) -> bool:
    """Whether there was one."""
    return _delete(conn, "user_n = ? AND id = ?", (user_n, fact_id)) > 0


def delete_source(conn: sqlite3.Connection, user_n: int, source: str) -> int:
    """Delete the user's facts of this source; how many they were."""
    return _delete(conn, "user_n = ? AND source = ?", (user_n, source))


def erase_user(conn: sqlite3.Connection, user_n: int) -> int:
    """Delete all facts of the user; how many they were."""
    return _delete(conn, "user_n = ?", (user_n,))


def _delete(conn: sqlite3.Connection, where: str, values: tuple[object, ...]) -> int:
    _secure(conn)
    rows = conn.execute(f"SELECT slot_n, bytes FROM facts WHERE {where}", values).fetchall()
    for slot_n, length in rows:
        slots.give_back(conn, slot_n, length)
    conn.execute(f"DELETE FROM facts WHERE {where}", values)
    return len(rows)


def _secure(conn: sqlite3.Connection) -> None:
    """Overwrite what is deleted, such as keys in the indexes."""
    conn.execute("PRAGMA secure_delete = ON")
