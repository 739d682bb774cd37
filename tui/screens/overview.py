"""Overview: how the gateway is at this moment, what it did today, and what to do next on a fresh installation."""

from collections.abc import Iterable
from datetime import timedelta
from typing import ClassVar

from rich.text import Text
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Sparkline, Static

from appliance.admin.client import ledger_wire, looks, wire
from tui import actions
from tui.feed import Picture
from tui.look import STYLES, short_moment, state, tone
from tui.screens.page import Page
from tui.widgets.table import Column, Row, Table

DAYS = 30
"""Of the little chart."""

COLUMNS = (
    Column("WHEN", 11),
    Column("TASK", 10),
    Column("MODEL"),
    Column("MACHINE", 16),
    Column("TOOK", 8, right=True),
    Column("ENDING", 13),
)


class OverviewPage(Page):
    NAME = "overview"
    BINDINGS: ClassVar = actions.bindings("overview")

    def body(self) -> Iterable[Widget]:
        yield Static("", id="lanes", classes="block", markup=False)
        with Horizontal(id="today"):
            yield Static("", id="sums", markup=False)
            with Vertical(id="chart"):
                yield Static(f"Calls a day, {DAYS} days", markup=False)
                yield Sparkline([], id="days")
        yield Static("", id="guide", classes="block", markup=False)
        yield Table(COLUMNS, empty="No call yet.")

    async def load(self) -> None:
        self._show_picture()
        today = self.desk.tools.now().replace(hour=0, minute=0, second=0, microsecond=0)
        ask = self.desk.client.sums
        days = await ask(
            ledger_wire.SumsQuestion(ledger_wire.Which(since=(today - timedelta(days=DAYS - 1)).isoformat()), "day")
        )
        (whole,) = (await ask(ledger_wire.SumsQuestion(ledger_wire.Which(since=today.isoformat())))).sums
        (left,) = (await ask(ledger_wire.SumsQuestion(ledger_wire.Which(since=today.isoformat(), left=True)))).sums
        self.query_one("#sums", Static).update(_sums(whole, left))
        by_day = {each.group: each.calls for each in days.sums}
        all_days = [(today - timedelta(days=back)).date().isoformat() for back in reversed(range(DAYS))]
        self.query_one(Sparkline).data = [float(by_day.get(day, 0)) for day in all_days]

    def picture_changed(self, before: Picture, now: Picture) -> None:
        self._show_picture()
        calls_before = before.status.last_calls if before.status else ()
        if now.fresh and now.status and (not before.fresh or now.status.last_calls != calls_before):
            self.reload()

    def _show_picture(self) -> None:
        picture = self.desk.picture
        if picture.status is None:
            return
        self.query_one("#lanes", Static).update(_lanes(picture.status))
        guide = self.query_one("#guide", Static)
        guide.update(_guide(picture.status))
        guide.display = bool(_steps(picture.status))
        self.query_one(Table).show([_row(call) for call in picture.status.last_calls])


def _lanes(status: wire.Status) -> Text:
    text = Text()
    text.append(f"{status.base_url}", STYLES["strong"])
    keys = status.keys.active
    text.append(f"   {keys} {'key' if keys == 1 else 'keys'} · {status.calls_in_flight} running now")
    for lane in status.lanes:
        how = "ready" if lane.ready else "not ready"
        here = "stays here" if lane.local else "leaves the building"
        machines = f"{lane.machines} {'machine' if lane.machines == 1 else 'machines'} · " if lane.machines else ""
        text.append("\n")
        text.append(f"{state(how):<12}", STYLES[tone(how)])
        text.append(looks.printable(f"{lane.name:<16} {here} · {machines}{lane.model or lane.why or looks.ABSENT}"))
        if lane.why and lane.model:
            text.append(f"\n            {looks.printable(lane.why)}", STYLES["warn"])
    return text


def _sums(today: ledger_wire.Sum, left: ledger_wire.Sum) -> Text:
    first = today.first_token
    text = Text.assemble(("Today (UTC)\n", STYLES["strong"]))
    text.append(f"{state('stayed')}  {today.calls - left.calls:>6} calls\n", STYLES["plain"])
    text.append(f"{state('left')}    {left.calls:>6} calls", STYLES["warn" if left.calls else "plain"])
    text.append(f"   {left.masked} values masked\n" if left.calls else "\n")
    text.append(f"First token  {looks.seconds(first.p50)} (median)\n" if first else "First token  –\n")
    text.append(f"Cost         {looks.dollars(today.cost_micro)}   saved {looks.dollars(today.saved_micro)}")
    return text


def _steps(status: wire.Status) -> list[str]:
    """What is missing on a fresh installation, each with its next step."""
    steps: list[str] = []
    local = next((lane for lane in status.lanes if lane.local), None)
    if local is not None and not local.ready:
        steps.append("No model answers yet: press 8, then p, and get one.")
    if not status.keys.active:
        steps.append("No tool has a key yet: press 5, then n, and make one.")
    if status.backup is None:
        steps.append("No backup yet: leave with q, then run  synapse backup FILE")
    return steps


def _guide(status: wire.Status) -> Text:
    steps = _steps(status)
    text = Text.assemble(("What to do next\n", STYLES["strong"]))
    for number, step in enumerate(steps, 1):
        text.append(f"  {number}. {step}" + ("\n" if number < len(steps) else ""))
    return text


def _row(call: wire.Call) -> Row:
    cells = (
        short_moment(call.at),
        call.task or looks.ABSENT,
        call.model or looks.ABSENT,
        call.node or looks.ABSENT,
        looks.seconds(call.total_ms),
        state(call.ending),
    )
    tones = ("plain", "plain", "plain", "plain", "plain", tone(call.ending))
    return Row(call.proof_id, tuple(looks.printable(cell) for cell in cells), tones)
