"""Questions and texts before a page: yes or no, a word to be typed, a choice, something to read.

The answer that changes nothing is always the one that Enter and Escape give.
"""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from appliance.admin.client import looks
from tui.actions import Action
from tui.widgets.table import Column, Row, Table


class Copy(Message):
    """Asks the app to send this to the terminal's clipboard."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Ask(ModalScreen[bool]):
    """Yes or no. `lines` say what will be done."""

    BINDINGS: ClassVar = [
        Binding("y", "answer(True)", "yes"),
        Binding("n,enter,escape", "answer(False)", "no"),
    ]

    def __init__(self, title: str, lines: Sequence[str], yes: str) -> None:
        super().__init__()
        self._title = title
        self._lines = lines
        self._yes = yes

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield _title(self._title)
            yield _text(self._lines)
            yield _keys(f"y {self._yes}", "n or enter: no, change nothing")

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)


class TypeToConfirm(ModalScreen[bool]):
    """For what weighs most: the word has to be typed."""

    BINDINGS: ClassVar = [Binding("escape", "leave", "no")]

    def __init__(self, title: str, lines: Sequence[str], word: str) -> None:
        super().__init__()
        self._title = title
        self._lines = lines
        self._word = word

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield _title(self._title)
            yield _text(self._lines)
            yield Static(f'Type "{looks.printable(self._word)}" to do it:', markup=False)
            field = Input(select_on_focus=False)
            field.cursor_blink = False
            yield field
            yield Static("", classes="wrong", markup=False)
            yield _keys("enter: do it, if the word is right", "esc: change nothing")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip() == self._word:
            self.dismiss(True)
        elif not event.value.strip():
            self.dismiss(False)
        else:
            self.query_one(".wrong", Static).update("✗ That is another word. Nothing was changed.")

    def action_leave(self) -> None:
        self.dismiss(False)


class Pick(ModalScreen[str | None]):
    """One of several; each is an id, its title and what it means."""

    BINDINGS: ClassVar = [Binding("enter", "take", "choose"), Binding("escape", "leave", "none")]

    def __init__(self, title: str, options: Sequence[tuple[str, str, str]], *, chosen: str = "") -> None:
        super().__init__()
        self._title = title
        self._options = options
        self._chosen = chosen

    def compose(self) -> ComposeResult:
        width = max((len(title) for _, title, _ in self._options), default=0)
        with Vertical(classes="dialog"):
            yield _title(self._title)
            yield Table((Column("", width), Column("")), empty="There is nothing to choose from.")
            yield _keys("↑ ↓ move", "enter choose", "esc change nothing")

    def on_mount(self) -> None:
        table = self.query_one(Table)
        table.show([Row(one, (title, meaning)) for one, title, meaning in self._options])
        table.styles.height = min(len(self._options), 12) + 1
        table.choose(self._chosen)
        table.focus()

    def action_take(self) -> None:
        chosen = self.query_one(Table).chosen
        self.dismiss(None if chosen is None else chosen.id)

    def action_leave(self) -> None:
        self.dismiss(None)


FRAME_LINES = 6
"""Of a text to read, besides its title: its border, what was said, the keys, and the space between."""

FRAME_COLUMNS = 4


class Show(ModalScreen[str | None]):
    """Something to read. `copy` is what `y` sends to the terminal. A key of `actions` closes it with that name."""

    BINDINGS: ClassVar = [
        Binding("escape,q,enter", "leave", "close"),
        Binding("y", "copy", "copy"),
        Binding("up,k", "scroll(-1)", "up", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("pageup", "scroll(-10)", "page up", show=False),
        Binding("pagedown,space", "scroll(10)", "page down", show=False),
    ]

    def __init__(
        self, title: str, body: Sequence[str] | Text, *, copy: str = "", actions: Sequence[Action] = ()
    ) -> None:
        super().__init__()
        self._title = title
        self._body = body
        self._copy = copy
        self._actions = actions
        for action in actions:
            self._bindings.bind(action.key, f"close_with('{action.name}')", action.label)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall"):
            yield _title(self._title)
            with VerticalScroll(can_focus=False):
                yield _text(self._body)
            keys = [f"{action.shown_key} {action.label}" for action in self._actions]
            yield Static("", classes="said", markup=False)
            yield _keys(*keys, *(("y copy",) if self._copy else ()), "↑ ↓ scroll", "esc close")

    def on_resize(self) -> None:
        # The keys stay on the screen however long the text is: it scrolls.
        title_lines = 1 + cell_len(looks.printable(self._title)) // max(self.size.width - FRAME_COLUMNS, 1)
        self.query_one(VerticalScroll).styles.max_height = max(self.size.height - FRAME_LINES - title_lines, 3)

    def say(self, body: Sequence[str] | Text) -> None:
        """Show this from now on, and its end."""
        self.query_one(".text", Static).update(_lines(body))
        self.query_one(VerticalScroll).scroll_end(animate=False)

    def action_copy(self) -> None:
        if self._copy:
            self.post_message(Copy(self._copy))
            self.query_one(".said", Static).update("Sent to the terminal; if it takes no such thing, it stands above.")

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_close_with(self, name: str) -> None:
        self.dismiss(name)


def _title(title: str) -> Static:
    return Static(looks.printable(title), classes="title", markup=False)


def _text(body: Sequence[str] | Text) -> Static:
    return Static(_lines(body), classes="text", markup=False)


def _lines(body: Sequence[str] | Text) -> Text:
    return body if isinstance(body, Text) else Text("\n".join(looks.printable(line) for line in body))


def _keys(*keys: str) -> Static:
    return Static("   ".join(keys), classes="keys", markup=False)
