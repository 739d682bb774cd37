"""The usage ledger: one narrow row a call, without a word of what was said (routing.md, "Metering").

What writes a row also counts it in the roll-ups (`rollups.py` reads them), which stay when the row is deleted.
"""

import sqlite3
from typing import NamedTuple

from appliance.store.latency import bucket_of


class LedgerRow(NamedTuple):
    """One call. Money in micro-dollars (None: unknown), questions in thousandths, times in milliseconds.

    What a call never reached, such as a model for a refused one, is None. `left_building`: 1 where it was sent to
    anybody outside, whoever answered it in the end, else 0.
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
    left_building: int = 0


DAY_MS = 86_400_000
"""A day of the roll-ups: `at_ms // DAY_MS` counts them from the epoch, in UTC."""

ANSWERED = frozenset({"complete", "length", "context_cut"})
"""The endings of calls that a model answered: how long others took says nothing of how fast it answers."""

SUMS = (
    "calls",
    "prompt_tokens",
    "completion_tokens",
    "questions_milli",
    "cost_micro",
    "cost_unknown",
    "full_cost_micro",
    "saved_micro",
    "masked",
)
"""The columns of both tables of sums."""

_COLUMNS = ", ".join(LedgerRow._fields)
_KEY = ("day", "workspace_n", "key_n", "user_n", "provider", "model", "node", "task", "ending", "left_building")
_GROUP = ("dimension", "grp", "day")
_DIMENSIONS = 7


def _upsert(table: str, key: tuple[str, ...], counted: tuple[str, ...], rows: int) -> str:
    """SQL that counts `rows` rows into `table`, the sums of the same key added up."""
    places = f"({', '.join('?' for _ in (*key, *counted))})"
    added = ", ".join(f"{name} = {name} + excluded.{name}" for name in counted)
    return (
        f"INSERT INTO {table} ({', '.join((*key, *counted))}) VALUES {', '.join([places] * rows)}"
        f" ON CONFLICT ({', '.join(key)}) DO UPDATE SET {added}"
    )


_INSERT = f"INSERT INTO ledger ({_COLUMNS}) VALUES ({', '.join('?' for _ in LedgerRow._fields)})"
_COUNT_DAY = _upsert("ledger_days", _KEY, SUMS, 1)
_COUNT_GROUPS = _upsert("ledger_groups", _GROUP, SUMS, _DIMENSIONS)
_COUNT_TIMES = {
    rows: _upsert("ledger_times", (*_GROUP, "bucket"), ("first_tokens", "totals"), rows)
    for rows in (_DIMENSIONS, 2 * _DIMENSIONS)
}


def insert(conn: sqlite3.Connection, row: LedgerRow) -> None:
    """Write the row and count it in the roll-ups of its day.

    Raises:
        sqlite3.IntegrityError: the call has a row already; nothing is counted.
    """
    conn.execute(_INSERT, row)
    count(conn, row)


def count(conn: sqlite3.Connection, row: LedgerRow, calls: int = 1) -> None:
    """Count so many calls like this one in the roll-ups of its day; `insert` does it for each row."""
    day = row.at_ms // DAY_MS
    sums = [calls * value for value in _sums(row)]
    model, node, task = row.model or "", row.node or "", row.task or ""
    whose = (row.workspace_n, row.key_n, row.user_n)
    key = (day, *whose, row.provider or "", model, node, task, row.ending, row.left_building)
    conn.execute(_COUNT_DAY, (*key, *sums))
    groups = (
        ("all", "", day),
        ("workspace", row.workspace_n, day),
        ("key", row.key_n, day),
        ("model", model, day),
        ("node", node, day),
        ("task", task, day),
        ("left", row.left_building, day),
    )
    conn.execute(_COUNT_GROUPS, [value for group in groups for value in (*group, *sums)])
    if row.ending in ANSWERED:
        times = [(bucket_of(row.total_ms), 0, calls)]
        if row.first_token_ms is not None:
            times.append((bucket_of(row.first_token_ms), calls, 0))
        counted = [value for group in groups for time in times for value in (*group, *time)]
        conn.execute(_COUNT_TIMES[len(times) * _DIMENSIONS], counted)


def _sums(row: LedgerRow) -> tuple[int, ...]:
    """What one row adds to each of `SUMS`."""
    own, full = row.cost_micro, row.full_cost_micro
    return (
        1,
        row.prompt_tokens,
        row.completion_tokens,
        row.questions_milli,
        own or 0,
        int(own is None),
        full or 0,
        full - own if own is not None and full is not None else 0,
        row.masked,
    )


def get(conn: sqlite3.Connection, proof_id: str) -> LedgerRow | None:
    row = conn.execute(f"SELECT {_COLUMNS} FROM ledger WHERE proof_id = ?", (proof_id,)).fetchone()
    return LedgerRow(*row) if row else None


def newest(conn: sqlite3.Connection, limit: int) -> list[LedgerRow]:
    """At most `limit` rows, newest first."""
    rows = conn.execute(f"SELECT {_COLUMNS} FROM ledger ORDER BY n DESC LIMIT ?", (limit,))
    return [LedgerRow(*row) for row in rows]
