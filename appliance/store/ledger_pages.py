"""Browsing the ledger: pages by keyset, each in bounded time whatever is asked for."""

import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

from appliance.store.ledger import LedgerRow

SCAN = 4_000
"""Rows that one page looks through at most: a few milliseconds. Where they do not fill it, the page is short."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which calls: None takes any. From `since_ms` on and before `until_ms`.

    An empty `model`, `node` or `task` takes the calls that reached none. `left_building`: 1 those that were sent to
    anybody outside, 0 the others.
    """

    since_ms: int | None = None
    until_ms: int | None = None
    workspace_n: int | None = None
    key_n: int | None = None
    model: str | None = None
    node: str | None = None
    task: str | None = None
    ending: str | None = None
    left_building: int | None = None

    def named(self) -> dict[str, int | str]:
        """The columns that are filtered by equality, with their values."""
        asked = {name: getattr(self, name) for name in _INDEXES}
        return {name: value for name, value in asked.items() if value is not None}


class Cursor(NamedTuple):
    """A place between two rows: to be handed back as it came."""

    at_ms: int
    n: int


class Page(NamedTuple):
    """`next` goes on after these rows, None where there are no more. A page may be short, even empty, and go on."""

    rows: list[LedgerRow]
    next: Cursor | None


_INDEXES = {
    "workspace_n": "ledger_by_workspace",
    "key_n": "ledger_by_key",
    "model": "ledger_by_model",
    "node": "ledger_by_node",
    "task": "ledger_by_task",
    "ending": "ledger_by_ending",
    "left_building": "ledger_by_left",
}
_BY_TIME = "ledger_by_time"
_COLUMNS = ", ".join(LedgerRow._fields)
_NOWHERE = Cursor(0, 0)


def page(conn: sqlite3.Connection, filters: Filters, limit: int, before: Cursor | None = None) -> Page:
    """At most `limit` rows, newest first, from after `before` on."""
    return _page(conn, filters, limit, before, newest_first=True)


def page_forward(conn: sqlite3.Connection, filters: Filters, limit: int, after: Cursor | None = None) -> Page:
    """At most `limit` rows, oldest first, from after `after` on."""
    return _page(conn, filters, limit, after, newest_first=False)


def _page(conn: sqlite3.Connection, filters: Filters, limit: int, cursor: Cursor | None, *, newest_first: bool) -> Page:
    order, further, back = ("DESC", "<", ">=") if newest_first else ("ASC", ">", "<=")
    ordered = f"ORDER BY at_ms {order}, n {order}"
    span, values = _span(filters, cursor, further)
    named = {name: value if value != "" else None for name, value in filters.named().items()}

    def fence(name: str | None) -> Cursor | None:
        """Where a look along this index ends; None where it reaches the last row."""
        chosen = [f"{name} IS :{name}"] if name else []
        row = conn.execute(
            f"SELECT at_ms, n FROM ledger INDEXED BY {_INDEXES[name] if name else _BY_TIME}"
            f" WHERE {' AND '.join([*chosen, *span])} {ordered} LIMIT 1 OFFSET {SCAN - 1}",
            {**values, **named},
        ).fetchone()
        return Cursor(*row) if row else None

    # The rarest value is the one whose index reaches furthest: the page then looks through few rows in vain.
    drivers: list[str | None] = list(named) or [None]
    fences = {driver: fence(driver) for driver in drivers}
    furthest = min if newest_first else max
    driver, end = next(
        (one for one in fences.items() if one[1] is None),
        furthest(fences.items(), key=lambda one: one[1] or _NOWHERE),
    )
    where = [*span, *(f"{name} IS :{name}" if name == driver else _also(name) for name in named)]
    if end is not None:
        where.append(f"(at_ms, n) {back} (:end_ms, :end_n)")
        values |= {"end_ms": end.at_ms, "end_n": end.n}
    found = conn.execute(
        f"SELECT at_ms, n, {_COLUMNS} FROM ledger INDEXED BY {_INDEXES[driver] if driver else _BY_TIME}"
        f" WHERE {' AND '.join(where)} {ordered} LIMIT :limit",
        {**values, **named, "limit": limit + 1},
    ).fetchall()
    rows = [LedgerRow(*row[2:]) for row in found[:limit]]
    if len(found) > limit:
        end = Cursor(*found[limit - 1][:2])
    return Page(rows, end)


def _also(name: str) -> str:
    """The condition that another index has the row too: unlike the row itself, its neighbours there are read anyway."""
    return (
        f"EXISTS (SELECT 1 FROM ledger AS also INDEXED BY {_INDEXES[name]}"
        f" WHERE also.{name} IS :{name} AND also.at_ms = ledger.at_ms AND also.n = ledger.n)"
    )


def _span(filters: Filters, cursor: Cursor | None, further: str) -> tuple[list[str], dict[str, int | str | None]]:
    """The conditions of time, and their values. There is always one, for the indexes to be entered by."""
    conditions, values = ["at_ms >= :since_ms"], {"since_ms": filters.since_ms or 0}
    if filters.until_ms is not None:
        conditions.append("at_ms < :until_ms")
        values["until_ms"] = filters.until_ms
    if cursor is not None:
        conditions.append(f"(at_ms, n) {further} (:cursor_ms, :cursor_n)")
        values |= {"cursor_ms": cursor.at_ms, "cursor_n": cursor.n}
    return conditions, dict(values)
