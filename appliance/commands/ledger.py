"""`synapse ledger` and `synapse ledger export`: what calls were, what they come to, and all of them as CSV."""

import csv
import io
from collections.abc import AsyncIterator
from dataclasses import fields

from appliance.admin import looks, wire
from appliance.admin.client import Client
from appliance.admin.ledger_wire import By, CallsQuestion, LedgerCall, Percentiles, Sum, SumsQuestion, Which
from appliance.commands import text
from appliance.commands.outcome import Outcome

EXPORT_ROWS = 1_000
"""Calls that are asked for at once: an export of years is never in memory."""

NOTHING = "There are no such calls."
WHOLE_DAYS = "Sums are of whole days in UTC: the first and the last day count from midnight to midnight."
TIMES = "Times: half of the calls took so long at most, and 95 of 100."

_COLUMNS = [item.name for item in fields(LedgerCall)]
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the beginning of a formula: a caller chooses the address of its calls."""


async def show(client: Client, which: Which, limit: int, cursor: str | None) -> Outcome:
    """The newest calls, and what all of them come to."""
    total = (await client.sums(SumsQuestion(which))).sums[0]
    calls: list[LedgerCall] = []
    while True:
        page = await client.calls(CallsQuestion(which, min(limit - len(calls), EXPORT_ROWS), cursor))
        calls += page.calls
        cursor = page.next
        if cursor is None or len(calls) >= limit:
            break
    document = {"sum": wire.encode(total), "calls": [wire.encode(call) for call in calls], "next": cursor}
    if not total.calls:
        return Outcome(document, (NOTHING,))
    more = [] if cursor is None else [f"Older ones: the same with --before {cursor}"]
    if not calls:
        more = ["Their rows are older than they are kept (retention.ledger_days); their sums stay."]
    return Outcome(document, (*_summary(total), "", *_calls(calls)), notes=(*more, *_notes(which)))


def _notes(which: Which) -> tuple[str, ...]:
    """What a reader of sums has to know."""
    partial = any(at is not None and not at.endswith("T00:00:00.000Z") for at in (which.since, which.until))
    return (*((WHOLE_DAYS,) if partial else ()), TIMES)


async def show_sums(client: Client, which: Which, by: By) -> Outcome:
    found = await client.sums(SumsQuestion(which, by))
    if not found.sums:
        return Outcome(wire.encode(found), (NOTHING,))
    headers = (by.upper(), "CALLS", "TOKENS", "QUESTIONS", "COST", "SAVED", "FIRST TOKEN", "TOTAL")
    rows = [
        (
            one.group or looks.ABSENT,
            str(one.calls),
            f"{one.prompt_tokens}+{one.completion_tokens}",
            looks.questions(one.questions_milli),
            _cost(one),
            looks.dollars(one.saved_micro),
            _times(one.first_token),
            _times(one.total),
        )
        for one in found.sums
    ]
    return Outcome(wire.encode(found), text.table(headers, rows, whole=range(1, len(headers))), notes=_notes(which))


async def export(client: Client, which: Which) -> AsyncIterator[bytes]:
    """CSV (RFC 4180), a header line first, oldest calls first; a cell is empty where there is nothing to say."""
    cursor: str | None = None
    rows = [_COLUMNS]
    while True:
        page = await client.calls(CallsQuestion(which, EXPORT_ROWS, cursor, oldest_first=True))
        rows += [[_cell(getattr(call, name)) for name in _COLUMNS] for call in page.calls]
        if rows:
            yield _csv(rows)
        cursor, rows = page.next, []
        if cursor is None:
            return


def _csv(rows: list[list[str]]) -> bytes:
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue().encode()


def _cell(value: str | int | None) -> str:
    if isinstance(value, bool):
        return str(value).lower()  # as in JSON
    if not isinstance(value, str):
        return "" if value is None else str(value)
    shown = looks.printable(value)  # no line, no end of a text, and nothing that a terminal would obey
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown


def _summary(total: Sum) -> tuple[str, ...]:
    lines = [
        f"calls      {total.calls}, {total.prompt_tokens} tokens read and {total.completion_tokens} written",
        f"questions  {looks.questions(total.questions_milli)}",
        f"cost       {_cost(total)}, saved against the full model {looks.dollars(total.saved_micro)}",
    ]
    if total.total is not None:
        lines.append(f"times      first token {_times(total.first_token)}, whole answer {_times(total.total)}")
    return tuple(lines)


def _cost(one: Sum) -> str:
    unknown = f" + {one.cost_unknown} unknown" if one.cost_unknown else ""
    return f"{looks.dollars(one.cost_micro)}{unknown}"


def _times(found: Percentiles | None) -> str:
    return looks.ABSENT if found is None else f"{looks.seconds(found.p50)}, {looks.seconds(found.p95)}"


def _calls(calls: list[LedgerCall]) -> tuple[str, ...]:
    headers = ("AT", "KEY", "TASK", "MODEL", "MACHINE", "TOKENS", "QUESTIONS", "TIME", "ENDING")
    rows = [
        (
            looks.moment(call.at),
            call.key,
            call.task or looks.ABSENT,
            call.model or looks.ABSENT,
            _where(call),
            f"{call.prompt_tokens}+{call.completion_tokens}",
            looks.questions(call.questions_milli),
            looks.seconds(call.total_ms),
            call.ending,
        )
        for call in calls
    ]
    return text.table(headers, rows, whole=(0, 6, 7, 8))


def _where(call: LedgerCall) -> str:
    """Who answered. What left the building begins with a parenthesis, which a narrow terminal does not cut off."""
    if call.node is not None:
        return f"(left) {call.node}" if call.left else call.node
    if call.provider is not None:
        return f"({call.provider})"
    return "(left)" if call.left else looks.ABSENT
