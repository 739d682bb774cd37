"""The ledger as an administrator asks for it: names in place of row numbers, both ways.

Each function is a job for the database. Must not know HTTP.
"""

import re
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from appliance.admin import changes, ledger_wire, wire
from appliance.admin.ledger_wire import CallsPage, CallsQuestion, LedgerCall, Sum, Sums, SumsQuestion, Which
from appliance.store import keys, ledger_pages, rollups, workspaces
from appliance.store.keys import Caller
from appliance.store.latency import Percentiles
from appliance.store.ledger import LedgerRow
from appliance.store.ledger_pages import Cursor, Filters
from appliance.store.rollups import SumRow
from appliance.times import from_ms, parse_rfc3339, rfc3339, to_ms

MAX_PAGE = 1_000
"""Calls of the largest page: bounds the memory and the time of one answer."""

_EPOCH = date(1970, 1, 1)


def calls(conn: sqlite3.Connection, question: CallsQuestion, machines: Sequence[wire.Machine]) -> CallsPage:
    """A page of calls.

    Raises:
        InvalidInput: a time, a cursor or the limit makes no sense.
        UnknownSubject: there is no such key or workspace.
    """
    if not 1 <= question.limit <= MAX_PAGE:
        raise wire.InvalidInput(f"limit is {question.limit}.", advice=f"It must be from 1 to {MAX_PAGE}.")
    read = ledger_pages.page_forward if question.oldest_first else ledger_pages.page
    cursor = None if question.cursor is None else _cursor(question.cursor)
    found = read(conn, _filters(conn, question.which, machines), question.limit, cursor)
    known = {row.key_n: row for row in keys.list_all(conn)}
    names = {machine.id: machine.name for machine in machines}
    following = None if found.next is None else f"{found.next.at_ms}-{found.next.n}"
    return CallsPage(tuple(_call(row, known[row.key_n], names) for row in found.rows), following)


def sums(conn: sqlite3.Connection, question: SumsQuestion, machines: Sequence[wire.Machine]) -> Sums:
    """What the calls come to. Raises as `calls` does."""
    names = _names(conn, question.by, machines)
    rows = rollups.sums(conn, _filters(conn, question.which, machines), question.by)
    return Sums(tuple(_sum(row, question.by, names) for row in rows))


def _filters(conn: sqlite3.Connection, which: Which, machines: Sequence[wire.Machine]) -> Filters:
    since, until = _time(which.since, "since"), _time(which.until, "until")
    if since is not None and until is not None and since >= until:
        raise wire.InvalidInput("The span ends before it begins.", advice="Give the earlier time as since.")
    return Filters(
        since_ms=since,
        until_ms=until,
        workspace_n=None if which.workspace is None else changes.find_workspace(conn, which.workspace).n,
        key_n=None if which.key is None else changes.find_key(conn, which.key).key_n,
        model=which.model,
        node=which.node and next((one.id for one in machines if one.name == which.node), which.node),
        task=which.task,
        ending=which.ending,
        left_building=None if which.left is None else int(which.left),
    )


def _time(text: str | None, name: str) -> int | None:
    try:
        return None if text is None else to_ms(parse_rfc3339(text))
    except ValueError as error:
        raise wire.InvalidInput(f"{name} must be a time such as 2026-11-30T00:00:00Z.") from error


def _cursor(text: str) -> Cursor:
    found = re.fullmatch(r"(\d{1,15})-(\d{1,15})", text, re.ASCII)
    if found is None:
        raise wire.InvalidInput("That is no cursor.", advice="Give the `next` of the page before as it came.")
    return Cursor(int(found[1]), int(found[2]))


def _call(row: LedgerRow, key: Caller, machines: Mapping[str, str]) -> LedgerCall:
    """A machine that is not known any more is shown by its id."""
    return LedgerCall(
        at=rfc3339(from_ms(row.at_ms)),
        proof_id=row.proof_id,
        workspace=key.workspace,
        key_id=key.key_id,
        key=key.key_name,
        user=key.user,
        dialect=row.dialect,
        address=row.address,
        task=row.task,
        tier=row.tier,
        provider=row.provider,
        model=row.model,
        node=machines.get(row.node, row.node) if row.node else None,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        questions_milli=row.questions_milli,
        cost_micro=row.cost_micro,
        full_cost_micro=row.full_cost_micro,
        queue_ms=row.queue_ms,
        first_token_ms=row.first_token_ms,
        total_ms=row.total_ms,
        masked=row.masked,
        ending=row.ending,
        left=bool(row.left_building),
    )


def _names(
    conn: sqlite3.Connection, by: ledger_wire.By | None, machines: Sequence[wire.Machine]
) -> Mapping[int | str | None, str]:
    """What groups are called that have a number or an id."""
    match by:
        case "workspace":
            return {row.n: row.name for row in workspaces.list_all(conn)}
        case "key":
            return {row.key_n: f"{row.key_name} ({row.key_id})" for row in keys.list_all(conn)}
        case "node":
            return {machine.id: machine.name for machine in machines}
        case "left":
            return {1: "left", 0: "stayed"}
        case _:
            return {}


def _sum(row: SumRow, by: ledger_wire.By | None, names: Mapping[int | str | None, str]) -> Sum:
    group = row.group
    if by == "day" and isinstance(group, int):
        named = (_EPOCH + timedelta(group)).isoformat()
    else:
        named = None if group is None else names.get(group, str(group))
    return Sum(
        group=named,
        calls=row.calls,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        questions_milli=row.questions_milli,
        cost_micro=row.cost_micro,
        cost_unknown=row.cost_unknown,
        full_cost_micro=row.full_cost_micro,
        saved_micro=row.saved_micro,
        masked=row.masked,
        first_token=_percentiles(row.first_token),
        total=_percentiles(row.total),
    )


def _percentiles(found: Percentiles | None) -> ledger_wire.Percentiles | None:
    return None if found is None else ledger_wire.Percentiles(*found)
