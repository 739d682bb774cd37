"""Sums over days, out of what `ledger.insert` counts: they cost the same after years, and outlive the rows."""

import sqlite3
from typing import Literal, NamedTuple

from appliance.store.latency import Percentiles, percentiles
from appliance.store.ledger import DAY_MS, SUMS
from appliance.store.ledger_pages import Filters

By = Literal["day", "workspace", "key", "model", "node", "task", "left"]

_LAST_DAY = 2**31

_COLUMN: dict[str, str] = {
    "workspace": "workspace_n",
    "key": "key_n",
    "model": "model",
    "node": "node",
    "task": "task",
    "left": "left_building",
}


class SumRow(NamedTuple):
    """One group. `group` is a day since the epoch, a row number of a workspace or key, 1 for what left the building and
    0 for what stayed, or a name ('': none reached).

    Money in micro-dollars, over the calls whose cost is known; `cost_unknown` counts the others, and `saved_micro` is
    what the full model would have cost more. Questions in thousandths. The percentiles are of the calls that a model
    answered; None where there are none, or where the group is narrowed by a second dimension.
    """

    group: int | str | None
    calls: int
    prompt_tokens: int
    completion_tokens: int
    questions_milli: int
    cost_micro: int
    cost_unknown: int
    full_cost_micro: int
    saved_micro: int
    masked: int
    first_token: Percentiles | None
    total: Percentiles | None


def month_milli(
    conn: sqlite3.Connection,
    *,
    first_day: int,
    last_day: int,
    key_n: int | None = None,
    workspace_n: int | None = None,
) -> int:
    """Thousandths of a question that one key, or one workspace, has used from the first day to the last, both counted.

    Days are whole ones since the epoch, in UTC. Exactly one of the two is given.
    """
    dimension, group = ("key", key_n) if key_n is not None else ("workspace", workspace_n)
    return conn.execute(
        "SELECT ifnull(sum(questions_milli), 0) FROM ledger_groups"
        " WHERE dimension = ? AND grp = ? AND day BETWEEN ? AND ?",
        (dimension, group, first_day, last_day),
    ).fetchone()[0]


def sums(conn: sqlite3.Connection, filters: Filters, by: By | None = None) -> list[SumRow]:
    """What the calls come to, by group and in the order of the groups; without `by` one row, of zeros for no calls.

    A day that the span of `filters` touches counts as a whole.
    """
    first = (filters.since_ms or 0) // DAY_MS
    last = (filters.until_ms - 1) // DAY_MS if filters.until_ms is not None else _LAST_DAY
    alone = _alone(filters, by)
    if alone is None:
        return _from_days(conn, filters, by, first, last)
    return _from_groups(conn, alone, by, first, last)


class _Alone(NamedTuple):
    """One dimension of ledger_groups, and the group in it that is asked for (None: each)."""

    dimension: str
    group: int | str | None


def _alone(filters: Filters, by: By | None) -> _Alone | None:
    """The one dimension that answers the question; None where it is about several at once."""
    named = filters.named()
    asked = {name for name, column in _COLUMN.items() if column in named}
    if by is not None and by != "day":
        asked.add(by)
    if not asked and "ending" not in named:
        return _Alone("all", "")
    if len(asked) != 1 or "ending" in named:
        return None
    dimension = asked.pop()
    return _Alone(dimension, named.get(_COLUMN[dimension]))


def _from_groups(conn: sqlite3.Connection, alone: _Alone, by: By | None, first: int, last: int) -> list[SumRow]:
    group = {None: "NULL", "day": "day"}.get(by, "grp")
    where = "dimension = :dimension AND day BETWEEN :first AND :last"
    if alone.group is not None:
        where += " AND grp = :group"
    values = {"dimension": alone.dimension, "group": alone.group, "first": first, "last": last}
    summed = conn.execute(
        f"SELECT {group}, {_summed()} FROM ledger_groups WHERE {where}{_grouped(by)}", values
    ).fetchall()
    first_tokens: dict[int | str | None, dict[int, int]] = {}
    totals: dict[int | str | None, dict[int, int]] = {}
    for name, bucket, tokens, whole in conn.execute(
        f"SELECT {group}, bucket, sum(first_tokens), sum(totals) FROM ledger_times WHERE {where} GROUP BY 1, 2", values
    ):
        first_tokens.setdefault(name, {})[bucket] = tokens
        totals.setdefault(name, {})[bucket] = whole
    return [
        SumRow(
            *row,
            first_token=percentiles(first_tokens.get(row[0], {})),
            total=percentiles(totals.get(row[0], {})),
        )
        for row in summed
    ]


def _from_days(conn: sqlite3.Connection, filters: Filters, by: By | None, first: int, last: int) -> list[SumRow]:
    group = {None: "NULL", "day": "day"}.get(by) or _COLUMN[str(by)]
    named = filters.named()
    where = "".join(f" AND {name} = :{name}" for name in named)
    rows = conn.execute(
        f"SELECT {group}, {_summed()} FROM ledger_days WHERE day BETWEEN :first AND :last{where}{_grouped(by)}",
        {**named, "first": first, "last": last},
    )
    return [SumRow(*row, first_token=None, total=None) for row in rows]


def _summed() -> str:
    return ", ".join(f"ifnull(sum({name}), 0)" for name in SUMS)


def _grouped(by: By | None) -> str:
    return " GROUP BY 1 ORDER BY 1" if by else ""
