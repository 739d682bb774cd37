"""Ledger: every call, newest first, or what calls come to by day, key, model and so on; and their export.

Which calls are asked for is the matter of `tui.asked`, how they look that of `tui.calls`.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar, cast

from rich.text import Text
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Sparkline, Static

from appliance.admin.client import AdminError, ledger_wire, looks
from tui import actions, asked, calls, files
from tui.actions import Action
from tui.asked import Asked
from tui.feed import Picture
from tui.look import STYLES
from tui.screens.page import Page, one_at_a_time
from tui.widgets.dialogs import Ask, Pick, Show
from tui.widgets.form import Field, Form, Given, as_given
from tui.widgets.table import Table

PAGE_SIZE = 100
"""Calls that are asked for at once."""

MOST = 500
"""Calls in the list: who looks for older ones says which."""

_CALLS = "calls"
_CERTIFICATE = Action("certificate", "c", "certificate", "Open the certificate of this call.")
_ITS_CALLS = Action("calls", "c", "its calls", "Show the calls that this is the sum of.")


class LedgerPage(Page):
    NAME = "ledger"
    BINDINGS: ClassVar = actions.bindings("ledger")

    def body(self) -> Iterable[Widget]:
        self._asked = Asked()
        """What the person wants to see; what is on the screen is `_shown`, None before anything is."""
        self._shown: Asked | None = None
        self._calls: tuple[ledger_wire.LedgerCall, ...] = ()
        self._sums: tuple[ledger_wire.Sum, ...] = ()
        self._total: ledger_wire.Sum | None = None
        self._next: str | None = None
        self._newer = False
        self._head = Text()
        yield Static("", id="asked", classes="block", markup=False)
        with Vertical(id="chart-of-days"):
            yield Static("", id="days-title", markup=False)
            yield Sparkline([], id="calls-a-day")
        yield Table(calls.call_columns(0), empty="Looking …")

    async def load(self) -> None:
        wanted = self._asked
        try:
            if wanted.by is None:
                await self._load_calls(wanted)
            else:
                await self._load_sums(wanted, wanted.by)
            (total,) = (await self._ask_sums(wanted, None)).sums
        except AdminError:
            # The screen still shows, and says, what was asked for before.
            self._asked = self._shown or Asked()
            raise
        self._total = total
        self._show_head()

    def resumed(self) -> None:
        self._news(self.desk.picture)

    def picture_changed(self, before: Picture, now: Picture) -> None:
        if now.fresh and (not before.fresh or _newest(now) != _newest(before)):
            self._news(now)

    def on_resize(self) -> None:
        if self._shown is not None:
            self._show_lines()
            self._show_head()

    def on_table_near_end(self) -> None:
        if self._shown != self._asked or self._next is None or self.works("load"):
            return
        if len(self._calls) >= MOST:
            self.say(f"{MOST} calls are loaded. / says which to show, e exports all of them.", "plain")
        elif not self.works("more"):
            self.run_worker(self._more, group="more")

    def on_table_moved(self) -> None:
        if self._newer and not self.query_one(Table).line:
            self.reload()

    def key_escape(self) -> None:
        self.clear_notice()
        self._want(Asked())

    # What is done with the keys

    def action_left(self) -> None:
        self._want(self._asked.turned())

    def action_day(self) -> None:
        self._want(self._asked.next_day())

    @one_at_a_time
    async def action_filter(self) -> None:
        now = self.desk.tools.now()
        form = Form(
            "Which calls?",
            self._asked.fields(now),
            done="show them",
            check=lambda given: asked.problem(given, now),
            submit=as_given,
            asking="",
        )
        given = await self.ask(form)
        if given is not None:
            self._want(self._asked.filled(given, now))

    @one_at_a_time
    async def action_group(self) -> None:
        options = [(_CALLS, "calls", "no sums: each call on its line"), *calls.GROUPS]
        by = await self.ask(Pick("Sums by", options, chosen=self._asked.by or _CALLS))
        if by is not None:
            self._want(replace(self._asked, by=None if by == _CALLS else cast(ledger_wire.By, by)))

    @one_at_a_time
    async def action_open(self) -> None:
        if (call := self._chosen_call) is not None:
            details = Show(f"Call of {call.key}", calls.call_details(call), copy=call.proof_id, actions=(_CERTIFICATE,))
            if await self.ask(details) is not None:
                self._open_certificate(call.proof_id)
        elif (chosen := self._chosen_sum) is not None:
            shown, by, each = chosen
            title = f"Sums by {calls.group_word(by)}"
            if await self.ask(Show(title, calls.sum_details(each, by), actions=(_ITS_CALLS,))) is not None:
                self._want(shown.narrowed(each.group or ""))

    def action_certificate(self) -> None:
        if (call := self._chosen_call) is not None:
            self._open_certificate(call.proof_id)
        elif self._chosen_sum is not None:
            self.say("A sum has no certificate: enter, then c, shows its calls.", "plain")

    @one_at_a_time
    async def action_export(self) -> None:
        now = self.desk.tools.now()
        wanted = self._shown or self._asked

        async def write(given: Given) -> str | None:
            path = files.full_path(given["file"])
            taken = files.taken(path)
            if taken and not await self.ask(Ask(f"Replace {path}?", ("What is in it now is lost.",), "replace it")):
                return None
            pieces = self.desk.tools.export(self.desk.client, wanted.which(now))
            size = await files.write(path, pieces, replace=taken)
            return f"{size} bytes are written to {path}."

        form = Form(
            "Export calls to a CSV file",
            (Field("file", "File", value=f"~/synapse-ledger-{now.date().isoformat()}.csv"),),
            lines=(f"Which: {wanted.words(now)}.", files.WHERE),
            done="write it",
            check=lambda given: files.problem(given["file"]),
            submit=write,
            asking="Writing …",
        )
        written = await self.ask(form)
        if written is not None:
            self.say(written)

    # What is on the screen

    def _want(self, wanted: Asked) -> None:
        if wanted != self._asked:
            self._asked = wanted
            self.reload()

    def _open_certificate(self, proof_id: str) -> None:
        self.desk.wanted["certificates"] = proof_id
        self.desk.go("certificates")

    @property
    def _chosen_call(self) -> ledger_wire.LedgerCall | None:
        row = self.query_one(Table).chosen
        if row is None or self._shown is None or self._shown.by is not None:
            return None
        return next((call for call in self._calls if call.proof_id == row.id), None)

    @property
    def _chosen_sum(self) -> tuple[Asked, ledger_wire.By, ledger_wire.Sum] | None:
        row, shown = self.query_one(Table).chosen, self._shown
        if row is None or shown is None or shown.by is None:
            return None
        return next(((shown, shown.by, each) for each in self._sums if (each.group or "") == row.id), None)

    async def _load_calls(self, wanted: Asked) -> None:
        which, anew = wanted.which(self.desk.tools.now()), wanted != self._shown
        size = PAGE_SIZE if anew else self._enough
        found: tuple[ledger_wire.LedgerCall, ...] = ()
        cursor: str | None = None
        while True:
            page = await self.desk.client.calls(ledger_wire.CallsQuestion(which, size - len(found), cursor))
            found, cursor = (*found, *page.calls), page.next
            ended = cursor is None or len(found) >= size
            # Rare calls come a few at a time, out of a long ledger: the first are shown while others are looked for.
            if ended or anew:
                self._take(wanted, found, cursor)
            if ended:
                return

    async def _more(self) -> None:
        wanted, cursor = self._asked, self._next
        size = min(PAGE_SIZE, MOST - len(self._calls))
        question = ledger_wire.CallsQuestion(wanted.which(self.desk.tools.now()), size, cursor)
        page = await self.tried(self.desk.client.calls(question))
        # Not where other calls were loaded meanwhile.
        if page is not None and (wanted, cursor) == (self._shown, self._next):
            self._calls, self._next = (*self._calls, *page.calls), page.next
            self._show_lines()

    async def _load_sums(self, wanted: Asked, by: ledger_wire.By) -> None:
        self._sums = (await self._ask_sums(wanted, by)).sums
        self._take(wanted, (), None)

    async def _ask_sums(self, wanted: Asked, by: ledger_wire.By | None) -> ledger_wire.Sums:
        which = wanted.which(self.desk.tools.now())
        return await self.desk.client.sums(ledger_wire.SumsQuestion(which, by))

    def _take(self, wanted: Asked, found: tuple[ledger_wire.LedgerCall, ...], cursor: str | None) -> None:
        table = self.query_one(Table)
        to_top = wanted != self._shown or not table.line
        if wanted != self._shown:
            self._total = None
        self._shown, self._calls, self._next, self._newer = wanted, found, cursor, False
        self._show_lines()
        self._show_head()
        if to_top:
            table.go_to_top()

    def _news(self, picture: Picture) -> None:
        """Load what is new, or only say that there is something where it would move what is being read."""
        shown, newest = self._shown, _newest(picture)
        if shown is None or self._live:
            self.reload()
        elif shown.may_grow(self.desk.tools.now()) and all(call.proof_id != newest for call in self._calls):
            self._newer = True
            self._show_head()

    @property
    def _live(self) -> bool:
        """Whether new calls may push down what is on the screen."""
        return self._shown is None or self._shown.by is not None or self.query_one(Table).near_top

    @property
    def _enough(self) -> int:
        """So many calls, loaded again, have the chosen one among them."""
        return PAGE_SIZE if self.query_one(Table).line < PAGE_SIZE // 2 else max(len(self._calls), PAGE_SIZE)

    def _show_lines(self) -> None:
        table, width, shown = self.query_one(Table), self.size.width, self._shown or Asked()
        empty = "No call yet." if shown == Asked() else "There is no such call. esc shows all."
        empty = empty if self._next is None else "Looking further back …"
        if shown.by is None:
            rows, columns = [calls.call_row(call, width) for call in self._calls], calls.call_columns(width)
        else:
            rows, columns = calls.sum_rows(self._sums, shown.by, width), calls.sum_columns(shown.by, width)
        table.show(rows, columns=columns, empty=empty)
        title, days = calls.chart(self._sums) if shown.by == "day" else ("", [])
        self.query_one("#chart-of-days").display = bool(days)
        if days:
            self.query_one("#days-title", Static).update(title)
            self.query_one("#calls-a-day", Sparkline).data = days

    def _show_head(self) -> None:
        shown = self._shown or Asked()
        parts = ["…"] if self._total is None else calls.total_parts(self._total)
        if shown.cut_days():
            parts.append("sums of whole days")
        text = Text.assemble((self._title(shown), STYLES["strong"]))
        text.append(f"\n{calls.joined(parts, self.size.width)}", STYLES["plain"])
        if text != self._head:
            self._head = text
            self.query_one("#asked", Static).update(text)

    def _title(self, shown: Asked) -> str:
        by = "" if shown.by is None else f"Sums by {calls.group_word(shown.by)}: "
        hints = (*(("newer calls: home",) if self._newer else ()), *(("esc: all",) if shown != Asked() else ()))
        return looks.printable(" · ".join((f"{by}{shown.words(self.desk.tools.now())}", *hints)))


def _newest(picture: Picture) -> str:
    calls_told = picture.status.last_calls if picture.status else ()
    return calls_told[0].proof_id if calls_told else ""
