"""The usage ledger: one narrow row a call, without a word of what was said (routing.md, "Metering")."""

import sqlite3
from datetime import UTC, date, datetime
from typing import Literal, NamedTuple

from appliance.times import to_ms


class LedgerRow(NamedTuple):
    """One call. Money in micro-dollars (None: unknown), questions in thousandths, times in milliseconds.

    What a call never reached, such as a model for a refused one, is None.
    """

    at_ms: int
    proof_id: str
    workspace_n: int
    key_n: int
    user_n: int
    dialect: str
    address: str
    ending: str
    total_ms: int
    task: str | None = None
    tier: str | None = None
    provider: str | None = None
    model: str | None = None
    node: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    questions_milli: int = 0
    cost_micro: int | None = None
    full_cost_micro: int | None = None
    queue_ms: int | None = None
    first_token_ms: int | None = None
    masked: int = 0


_COLUMNS = ", ".join(LedgerRow._fields)
_PLACES = ", ".join("?" for _ in LedgerRow._fields)


def insert(conn: sqlite3.Connection, row: LedgerRow) -> None:
    """Raises `sqlite3.IntegrityError` where the call has a row already."""
    conn.execute(f"INSERT INTO ledger ({_COLUMNS}) VALUES ({_PLACES})", row)


def get(conn: sqlite3.Connection, proof_id: str) -> LedgerRow | None:
    row = conn.execute(f"SELECT {_COLUMNS} FROM ledger WHERE proof_id = ?", (proof_id,)).fetchone()
    return LedgerRow(*row) if row else None


def newest(conn: sqlite3.Connection, limit: int) -> list[LedgerRow]:
    """At most `limit` rows, newest first."""
    rows = conn.execute(f"SELECT {_COLUMNS} FROM ledger ORDER BY n DESC LIMIT ?", (limit,))
    return [LedgerRow(*row) for row in rows]


def questions_milli(
    conn: sqlite3.Connection, of: Literal["key", "workspace"], n: int, first: date, before: date
) -> int:
    """Thousandths of a question that a key or a workspace has used from the UTC day `first` until `before`."""
    column = {"key": "key_n", "workspace": "workspace_n"}[of]
    days = [to_ms(datetime(day.year, day.month, day.day, tzinfo=UTC)) for day in (first, before)]
    query = f"SELECT coalesce(sum(questions_milli), 0) FROM ledger WHERE {column} = ? AND at_ms >= ? AND at_ms < ?"
    return conn.execute(query, (n, *days)).fetchone()[0]
