"""The audit table: who changed what, before and after. Rows are added in the transaction of the change itself."""

import sqlite3
from collections.abc import Sequence
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
    return [_row(*row) for row in rows]


def newest_of(conn: sqlite3.Connection, actions: str, subjects: Sequence[str] | None) -> AuditRow | None:
    """The newest change whose action is like `actions`, a pattern of GLOB, to one of these subjects; None is any."""
    places = "" if subjects is None else f" AND subject IN ({', '.join('?' for _ in subjects)})"
    row = conn.execute(
        "SELECT n, at_ms, who, action, subject, before, after FROM audit"
        f" WHERE action GLOB ?{places} ORDER BY n DESC LIMIT 1",
        (actions, *(subjects or ())),
    ).fetchone()
    return None if row is None else _row(*row)


def last(conn: sqlite3.Connection) -> int:
    """The number of the newest row, 0 where there is none."""
    return conn.execute("SELECT ifnull(max(n), 0) FROM audit").fetchone()[0]


def _row(n: int, at_ms: int, who: str, action: str, subject: str, before: str | None, after: str | None) -> AuditRow:
    return AuditRow(n, at_ms, who, action, subject, _value(before), _value(after))


def _text(value: object) -> str | None:
    return None if value is None else orjson.dumps(value).decode()


def _value(text: str | None) -> object:
    return None if text is None else orjson.loads(text)
