"""The audit table: who changed what, before and after. Rows are added in the transaction of the change itself."""

import sqlite3
from dataclasses import dataclass

import orjson


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One change. `who` is a login name; `before` and `after` are JSON values, None where there was nothing."""

    n: int
    at_ms: int
    who: str
    action: str
    subject: str
    before: object
    after: object


def insert(
    conn: sqlite3.Connection, *, at_ms: int, who: str, action: str, subject: str, before: object, after: object
) -> None:
    """Record a change; never hand in a secret."""
    conn.execute(
        "INSERT INTO audit (at_ms, who, action, subject, before, after) VALUES (?, ?, ?, ?, ?, ?)",
        (at_ms, who, action, subject, _text(before), _text(after)),
    )


def forget_values(conn: sqlite3.Connection, subject: str) -> None:
    """Of the changes to this subject, forget what it was before and after: who did what to it, and when, stays."""
    conn.execute("UPDATE audit SET before = NULL, after = NULL WHERE subject = ?", (subject,))


def newest(conn: sqlite3.Connection, *, limit: int, before_n: int | None = None) -> list[AuditRow]:
    """At most `limit` rows, newest first, whose number is below `before_n`."""
    rows = conn.execute(
        "SELECT n, at_ms, who, action, subject, before, after FROM audit WHERE n < ? ORDER BY n DESC LIMIT ?",
        (2**62 if before_n is None else before_n, limit),
    )
    return [
        AuditRow(n, at_ms, who, action, subject, _value(before), _value(after))
        for n, at_ms, who, action, subject, before, after in rows
    ]


def _text(value: object) -> str | None:
    return None if value is None else orjson.dumps(value).decode()


def _value(text: str | None) -> object:
    return None if text is None else orjson.loads(text)
