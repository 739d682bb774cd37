"""The usage ledger: one narrow row a call, without a word of what was said (routing.md, "Metering")."""

import sqlite3
from typing import NamedTuple


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
