"""Questions and texts before a page: yes or no, a word to be typed, a choice, something to read.

The answer that changes nothing is always the one that Enter and Escape give.
"""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.message import Message
from textual.widgets import Input, Static

from appliance.admin.client import looks
from tui.actions import Action
from tui.widgets.frame import Dialog, Measured, Scrolled
from tui.widgets.table import MARK, Column, Row, Table

SHOWN = 12
"""Choices at once. Where there are more, typing finds one."""


class Copy(Message):
    """Asks the app to send this to the terminal's clipboard."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Ask(Dialog[bool]):
    """Yes or no. `lines` say what will be done."""

    BINDINGS: ClassVar = [
        Binding("y", "answer(True)", "yes"),
        Binding("n,enter,escape", "answer(False)", "no"),
    ]

    def __init__(self, title: str, lines: Sequence[str], yes: str) -> None:
        super().__init__(title)
        self._lines = lines
        self._yes = yes

    def content(self) -> ComposeResult:
        yield _scrolled(self._lines)

    def keys(self) -> Sequence[str]:
        return f"y {self._yes}", "n or enter: no, change nothing"

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)


class TypeToConfirm(Dialog[bool]):
    """For what weighs most: the word has to be typed."""

    BINDINGS: ClassVar = [Binding("escape", "leave", "no")]

    def __init__(self, title: str, lines: Sequence[str], word: str) -> None:
        super().__init__(title)
        self._lines = lines
        self._word = word

    def content(self) -> ComposeResult:
        yield _scrolled(self._lines)
        yield Static(f'Type "{looks.printable(self._word)}" to do it:', markup=False)
        field = Input(select_on_focus=False)
        field.cursor_blink = False
        yield field
        yield Measured("", classes="wrong", markup=False)

    def keys(self) -> Sequence[str]:
        return "enter: do it, if the word is right", "esc: change nothing"

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip() == self._word:
            self.dismiss(True)
        elif not event.value.strip():
            self.dismiss(False)
        else:
            self.query_one(".wrong", Static).update("✗ That is another word. Nothing was changed.")

    def action_leave(self) -> None:
        self.dismiss(False)


class Pick(Dialog[str | None]):
    """One of several; each is an id, its title and what it means. What is typed leaves only those that contain it."""

    WIDE = True
    BINDINGS: ClassVar = [
        Binding("enter", "take", "choose"),
        Binding("escape", "leave", "none"),
        Binding("backspace", "shorten", "shorten", show=False),
    ]

    def __init__(self, title: str, options: Sequence[tuple[str, str, str]], *, chosen: str = "") -> None:
        super().__init__(title)
        self._options = options
        self._chosen = chosen
        self._wanted = ""

    def content(self) -> ComposeResult:
        width = max((cell_len(title) for _, title, _ in self._options), default=0)
        meanings = (Column(""),) if any(meaning for _, _, meaning in self._options) else ()
        first = Column("", width) if meanings else Column("")
        table = Table((first, *meanings), empty="There is nothing to choose from.")
        table.add_class("fits")
        yield table
        yield Measured("", classes="said", markup=False)

    def keys(self) -> Sequence[str]:
        many = ("type to find",) if len(self._options) > SHOWN else ()
        return "↑ ↓ move", *many, "enter choose", "esc change nothing"

    def on_mount(self) -> None:
        table = self.query_one(Table)
        self._show()
        table.styles.height = min(len(self._options), SHOWN) + 1
        table.choose(self._chosen)
        table.focus()

    def on_key(self, event: events.Key) -> None:
        if event.is_printable and event.character not in (None, " ") and len(self._options) > SHOWN:
            self._find(self._wanted + (event.character or ""))

    def on_table_moved(self) -> None:
        self._tell()

    def action_shorten(self) -> None:
        self._find(self._wanted[:-1])

    def action_take(self) -> None:
        chosen = self.query_one(Table).chosen
        self.dismiss(None if chosen is None else chosen.id)

    def action_leave(self) -> None:
        self.dismiss(None)

    def _find(self, wanted: str) -> None:
        if wanted != self._wanted:
            self._wanted = wanted
            self._show()
            self._tell()

    def _show(self) -> None:
        wanted = self._wanted.casefold()
        found = [option for option in self._options if wanted in " ".join(option).casefold()]
        rows = [Row(one, (looks.printable(title), looks.printable(meaning))) for one, title, meaning in found]
        self.query_one(Table).show(rows)

    def _tell(self) -> None:
        """What is looked for, and the whole of a name that is too long for its line."""
        table = self.query_one(Table)
        title = table.chosen.cells[0] if table.chosen else ""
        long = cell_len(title) > table.size.width - MARK
        told = (*((f"With “{self._wanted}”",) if self._wanted else ()), *((title,) if long else ()))
        self.query_one(".said", Static).update(looks.printable("   ".join(told)))


class Show(Dialog[str | None]):
    """Something to read. `copy` is what `y` sends to the terminal. A key of `actions` closes it with that name.

    `once`: what nobody can show again. Only Escape closes it, so that no key does that was meant for something else.
    """

    WIDE = True
    SCROLL = ""
    BINDINGS: ClassVar = [
        Binding("escape", "leave", "close"),
        Binding("q,enter", "close", "close"),
        Binding("y", "copy", "copy"),
        Binding("up,k", "scroll(-1)", "up", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("pageup", "scroll(-10)", "page up", show=False),
        Binding("pagedown,space", "scroll(10)", "page down", show=False),
    ]

    def __init__(
        self,
        title: str,
        body: Sequence[str] | Text,
        *,
        copy: str = "",
        actions: Sequence[Action] = (),
        once: bool = False,
    ) -> None:
        super().__init__(title)
        self._body = body
        self._copy = copy
        self._actions = actions
        self._once = once
        for action in actions:
            self._bindings.bind(action.key, f"close_with('{action.name}')", action.label)

    def content(self) -> ComposeResult:
        yield _scrolled(self._body)
        yield Measured("", classes="said", markup=False)

    def keys(self) -> Sequence[str]:
        own = [f"{action.shown_key} {action.label}" for action in self._actions]
        copy = ("y copy",) if self._copy else ()
        return *own, *copy, "↑ ↓ scroll", "esc: I have it, close" if self._once else "esc close"

    def say(self, body: Sequence[str] | Text) -> None:
        """Show this from now on, and its end."""
        self.query_one(".text", Static).update(_lines(body))
        self.query_one(Scrolled).scroll_end(animate=False)

    def action_copy(self) -> None:
        if self._copy:
            self.post_message(Copy(self._copy))
            self.query_one(".said", Static).update("Sent to the terminal; if it takes no such thing, it stands above.")

    def action_close(self) -> None:
        if not self._once:
            self.dismiss(None)

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_close_with(self, name: str) -> None:
        self.dismiss(name)


def _scrolled(body: Sequence[str] | Text) -> Scrolled:
    return Scrolled(Static(_lines(body), classes="text", markup=False))


def _lines(body: Sequence[str] | Text) -> Text:
    return body if isinstance(body, Text) else Text("\n".join(looks.printable(line) for line in body))
