"""What all pages are: the lines around, loading beside the loop, errors in one place. Knows no page."""

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial, wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar, cast

from textual import getters
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.css.query import NoMatches
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Input

from appliance.admin.client import AdminError, looks
from tui.desk import Desk
from tui.feed import Picture
from tui.look import Tone
from tui.widgets.dialogs import Copy, Show
from tui.widgets.lines import KeyLine, Notice, PageLine, TopLine
from tui.widgets.table import Column, Row, Table, fitted

FLOW = "flow"
"""The group of such workers."""

T = TypeVar("T")
A = TypeVar("A")
Self = TypeVar("Self", bound="Page")
P = ParamSpec("P")


def one_at_a_time(
    flow: Callable[Concatenate[Self, P], Coroutine[Any, Any, None]],
) -> Callable[Concatenate[Self, P], None]:
    """An action with questions, in a worker. While a page's one is under way, another does not begin."""

    @wraps(flow)
    def begin(page: Self, /, *args: P.args, **kwargs: P.kwargs) -> None:
        if page.works(FLOW):
            page.say("The daemon has not answered yet: wait for it.", "plain")
        else:
            page.run_worker(partial(flow, page, *args, **kwargs), group=FLOW)

    return begin


SHOWN_OF_FILTER = 20
"""Columns, so that what to do fits beside it."""


class Page(Screen[None]):
    """A page names itself in `NAME` and says what is between the lines in `body`."""

    NAME: ClassVar[str]
    AUTO_FOCUS = ""
    app = getters.app(lambda: cast("type[App[None]]", App))

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk

    def compose(self) -> ComposeResult:
        yield TopLine()
        yield PageLine(self.NAME)
        with Vertical(id="body"):
            yield from self.body()
        field = Input(placeholder="show only lines with …", id="filter", select_on_focus=False, compact=True)
        field.cursor_blink = False
        field.display = False
        yield field
        yield Notice()
        yield KeyLine(self.NAME)

    def body(self) -> Iterable[Widget]:
        """The widgets of this page."""
        return ()

    async def load(self) -> None:
        """Ask the daemon for what this page shows, and show it."""

    def picture_changed(self, before: Picture, now: Picture) -> None:
        """Show what is new in the picture. Called only while this page is on the screen."""
        if now.fresh and (now.last_change != before.last_change or not before.fresh):
            self.reload()

    def on_screen_resume(self) -> None:
        self.show_top()
        self.resumed()
        tables = self.query(Table)
        if self.focused is None and tables:
            tables.first().focus()

    def resumed(self) -> None:
        """This page is on the screen again, after another one or a dialog."""
        self.reload()

    def left(self) -> None:
        """Another page is shown now."""

    def show_top(self) -> None:
        self.query_one(TopLine).show(self.desk.picture)

    def connection_changed(self, before: Picture, now: Picture) -> None:
        """The daemon went or came: say why, or that it is over."""
        if now.stale is not None and (before.stale is None or before.why != now.why):
            self.say(now.why, "bad")
        elif now.stale is None and before.stale is not None:
            self.clear_notice()

    def reload(self) -> None:
        """Load again; one that is under way is given up."""
        self.run_worker(self._loaded, group="load", exclusive=True)

    def works(self, group: str) -> bool:
        """Whether a worker of this page and group is under way."""
        return any(one.node is self and one.group == group and not one.is_finished for one in self.workers)

    def say(self, sentence: str, tone: Tone = "good") -> None:
        self.query_one(Notice).say(sentence, tone)

    def clear_notice(self) -> None:
        self.query_one(Notice).clear()

    async def tried(self, asked: Awaitable[T]) -> T | None:
        """What the daemon answers, or None after its refusal has been shown."""
        try:
            return await asked
        except AdminError as error:
            self.say(str(error), "bad")
            return None

    async def ask(self, dialog: ModalScreen[A]) -> A:
        """What a dialog is answered. To be awaited in a worker."""
        return await self.app.push_screen_wait(dialog)

    def open(self, dialog: Show) -> None:
        """Something to read, after which nothing happens."""
        self.app.push_screen(dialog)

    async def _loaded(self) -> None:
        try:
            await self.load()
        except NoMatches:
            if self.app.is_running and self.is_attached:  # else the console was left while the daemon answered
                raise
        except AdminError as error:
            # What is on the screen stays, and the top line says that it is stale.
            self.say(str(error), "bad")

    def action_copy(self) -> None:
        chosen = self.query(Table).first().chosen
        if chosen is not None:
            self.post_message(Copy(chosen.id))
            self.say(f"Sent to the terminal: {chosen.id}", "plain")

    # What is filtered is filtered here, where all lines are on the screen; the ledger asks the daemon instead.

    def action_filter(self) -> None:
        field = self.query_one("#filter", Input)
        field.display = True
        field.focus()

    def show_filtered(
        self, rows: Iterable[Row], *, columns: Sequence[Column] | None = None, more: bool = False
    ) -> None:
        """Show the rows that the filter lets through. `more`: there are others, which are not loaded."""
        every, typed = list(rows), self.query_one("#filter", Input).value
        wanted = typed.casefold()
        shown = [row for row in every if wanted in " ".join((row.id, *row.cells)).casefold()]
        none = f"None of the newest {len(every)} lines" if more else "No line"
        said = f"{none} contains “{_short(typed)}”. esc shows all." if every and not shown else ""
        self.query(Table).first().show(shown, columns=columns, instead=said)

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "filter":
            self.filter_changed()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id == "filter":
            self.query(Table).first().focus()

    def filter_changed(self) -> None:
        """The filter is another: show the lines that it lets through."""

    def key_escape(self) -> None:
        field = self.query_one("#filter", Input)
        field.value = ""
        field.display = False
        self.clear_notice()
        tables = self.query(Table)
        if tables:
            tables.first().focus()


def _short(typed: str) -> str:
    return fitted(looks.printable(typed), SHOWN_OF_FILTER).rstrip()
