"""How calls of the ledger, and what they come to, look as lines of a table and in full."""

from collections.abc import Sequence
from datetime import date, timedelta

from appliance.admin.client import ledger_wire, looks
from tui.look import Tone, bar, short_moment, state, tone
from tui.widgets.table import Column, Row

WIDE = 110
"""Columns of the terminal from which on a line says more."""

BAR = 12

CHART_DAYS = 60

_CALLS = (
    Column("WHEN", 11),
    Column("BUILDING", 8),
    Column("KEY", 10),
    Column("MODEL"),
    Column("TOOK", 7, right=True),
    Column("ENDING", 13),
)
_MORE = (Column("TASK", 10), Column("MACHINE", 16), Column("COST", 9, right=True))

GROUPS: tuple[tuple[ledger_wire.By, str, str], ...] = (
    ("day", "day", "what each day in UTC comes to, and a chart"),
    ("key", "key", "which tool asks how much"),
    ("model", "model", "which model answers how much"),
    ("node", "machine", "which machine answers how much"),
    ("task", "task", "what kind of task is asked for"),
    ("workspace", "workspace", "who pays for it"),
    ("left", "left", "what left the building, and what stayed"),
)

_GROUP_WORDS = {by: word for by, word, _ in GROUPS}


def group_word(by: ledger_wire.By) -> str:
    return _GROUP_WORDS[by]


def call_columns(width: int) -> tuple[Column, ...]:
    return (*_CALLS[:4], *_MORE, *_CALLS[4:]) if width >= WIDE else _CALLS


def call_row(call: ledger_wire.LedgerCall, width: int) -> Row:
    where = "left" if call.left else "stayed"
    more = (call.task or looks.ABSENT, call.node or call.provider or looks.ABSENT, _cost(call.cost_micro))
    shown = more if width >= WIDE else ()
    cells = (
        short_moment(call.at),
        state(where),
        call.key,
        call.model or looks.ABSENT,
        *shown,
        looks.seconds(call.total_ms),
        state(call.ending),
    )
    plain: tuple[Tone, ...] = ("plain",) * (len(shown) + 3)
    tones = ("plain", tone(where), *plain, tone(call.ending))
    return Row(call.proof_id, tuple(looks.printable(cell) for cell in cells), tones)


def call_details(call: ledger_wire.LedgerCall) -> list[str]:
    """All that the ledger has of it."""
    where = f"{state('left')} the building" if call.left else f"{state('stayed')} in the building"
    full = "" if call.full_cost_micro is None else f"; the full model: {looks.dollars(call.full_cost_micro)}"
    return [
        f"When         {call.at}",
        f"Ending       {state(call.ending)}",
        f"Building     {where}",
        f"Masked       {_counted(str(call.masked), 'value')}",
        f"Key          {call.key} ({call.key_id})",
        f"User         {call.user}",
        f"Workspace    {call.workspace}",
        f"Asked for    {call.address or looks.ABSENT} (dialect: {call.dialect})",
        f"Task         {call.task or looks.ABSENT}",
        f"Tier         {call.tier or looks.ABSENT}",
        f"Provider     {call.provider or 'nobody was asked'}",
        f"Model        {call.model or looks.ABSENT}",
        f"Machine      {call.node or looks.ABSENT}",
        f"Tokens       {call.prompt_tokens} read, {call.completion_tokens} written",
        f"Questions    {looks.questions(call.questions_milli)}",
        f"Cost         {_cost(call.cost_micro)}{full}",
        f"Queued       {_time(call.queue_ms)}",
        f"First token  {_time(call.first_token_ms)}",
        f"Took         {looks.seconds(call.total_ms)}",
        f"Certificate  {call.proof_id}",
    ]


def total_parts(total: ledger_wire.Sum) -> list[str]:
    """What calls come to, in pieces that a line is put together from."""
    unknown = f" + {total.cost_unknown} of unknown cost" if total.cost_unknown else ""
    parts = [
        _counted(str(total.calls), "call"),
        _counted(looks.questions(total.questions_milli), "question"),
        f"cost {looks.dollars(total.cost_micro)}{unknown}",
        f"saved {looks.dollars(total.saved_micro)}",
        f"{_counted(str(total.masked), 'value')} masked",
    ]
    if total.first_token is not None:
        parts.append(f"first token {looks.seconds(total.first_token.p50)} (median)")
    return parts


def joined(parts: Sequence[str], width: int) -> str:
    """With dots between, in as many lines as it takes; no piece is broken."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines[-1] else part
        if lines[-1] and len(longer) > width:
            lines.append(part)
        else:
            lines[-1] = longer
    return "\n".join(lines)


def sum_columns(by: ledger_wire.By, width: int) -> tuple[Column, ...]:
    more = (Column("MASKED", 9, right=True), Column("FIRST TOKEN", 11, right=True)) if width >= WIDE else ()
    return (
        Column(group_word(by).upper()),
        Column("CALLS", 9, right=True),
        Column("", BAR),
        Column("QUESTIONS", 10, right=True),
        Column("COST", 10, right=True),
        Column("SAVED", 9, right=True),
        *more,
    )


def sum_rows(sums: Sequence[ledger_wire.Sum], by: ledger_wire.By, width: int) -> list[Row]:
    """Days newest first, everything else by how many calls it has."""
    most = max((each.calls for each in sums), default=0)
    return [_sum_row(each, by, most, width) for each in _ordered(sums, by)]


def sum_details(each: ledger_wire.Sum, by: ledger_wire.By) -> list[str]:
    return [
        f"{group_word(by).capitalize():<12} {_group(each, by)}",
        f"Calls        {each.calls}",
        f"Tokens       {each.prompt_tokens} read, {each.completion_tokens} written",
        f"Questions    {looks.questions(each.questions_milli)}",
        f"Cost         {looks.dollars(each.cost_micro)}",
        f"Not in it    {each.cost_unknown} calls whose price is not known",
        f"Full model   {looks.dollars(each.full_cost_micro)}",
        f"Saved        {looks.dollars(each.saved_micro)}",
        f"Masked       {each.masked} values",
        f"First token  {_percentiles(each.first_token)}",
        f"Took         {_percentiles(each.total)}",
    ]


def chart(sums: Sequence[ledger_wire.Sum]) -> tuple[str, list[float]]:
    """The days of the chart in words, and how many calls each of them has, those without any too. One alone is none."""
    by_day = {date.fromisoformat(each.group): each.calls for each in sums if each.group}
    if len(by_day) < 2:
        return "", []
    last = max(by_day)
    first = max(min(by_day), last - timedelta(days=CHART_DAYS - 1))
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    return f"Calls a day, {first} to {last}", [float(by_day.get(day, 0)) for day in days]


def _ordered(sums: Sequence[ledger_wire.Sum], by: ledger_wire.By) -> list[ledger_wire.Sum]:
    if by == "day":
        return sorted(sums, key=lambda each: each.group or "", reverse=True)
    return sorted(sums, key=lambda each: (-each.calls, each.group or ""))


def _sum_row(each: ledger_wire.Sum, by: ledger_wire.By, most: int, width: int) -> Row:
    first = looks.ABSENT if each.first_token is None else looks.seconds(each.first_token.p50)
    cells = (
        _group(each, by),
        str(each.calls),
        bar(each.calls / most if most else 0.0, BAR),
        looks.questions(each.questions_milli),
        looks.dollars(each.cost_micro),
        looks.dollars(each.saved_micro),
        *((str(each.masked), first) if width >= WIDE else ()),
    )
    name: Tone = tone(each.group or "") if by == "left" else "plain"
    return Row(each.group or "", tuple(looks.printable(cell) for cell in cells), (name,))


def _group(each: ledger_wire.Sum, by: ledger_wire.By) -> str:
    if not each.group:
        return f"{looks.ABSENT} (none)"
    return state(each.group) if by == "left" else each.group


def _counted(number: str, word: str) -> str:
    return f"{number} {word}" if number == "1" else f"{number} {word}s"


def _cost(micro: int | None) -> str:
    return "unknown" if micro is None else looks.dollars(micro)


def _time(ms: int | None) -> str:
    return looks.ABSENT if ms is None else looks.seconds(ms)


def _percentiles(found: ledger_wire.Percentiles | None) -> str:
    if found is None:
        return looks.ABSENT
    return f"{looks.seconds(found.p50)} for half of the calls, {looks.seconds(found.p95)} for 95 of 100 at most"
