"""One of several values in a form: turned through, or looked up where they are many."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import getters
from textual.binding import Binding
from textual.message import Message
from textual.widget import Widget

from appliance.admin.client import looks
from tui.typed import TypedApp
from tui.widgets.dialogs import Pick
from tui.widgets.table import cut

MANY = 8
"""More than these are not turned through one by one."""

FRAME_COLUMNS = 5
"""Around a value."""


class Choice(Widget, can_focus=True):
    """Changed with the arrow keys or the space bar. Of many, Enter and the space bar show the list."""

    BINDINGS: ClassVar = [
        Binding("left", "turn(-1)"),
        Binding("right", "turn(1)"),
        Binding("space", "other(False)"),
        Binding("enter", "other(True)"),
    ]

    app = getters.app(TypedApp)

    class Taken(Message):
        """Enter: go on from here."""

    def __init__(self, choices: Sequence[str], value: str, id: str, label: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self._choices = choices
        self._label = label
        self.value = value if value in choices else choices[0]

    def offer(self, choices: Sequence[str]) -> None:
        """These are the values from now on; the one that is chosen stays."""
        self._choices = choices if self.value in choices else (self.value, *choices)
        self.refresh()

    def render(self) -> Text:
        many = f"  enter: all {len(self._choices)}" if self._many else ""
        room = max(self.size.width - FRAME_COLUMNS - len(many), 1)
        shown = cut(looks.printable(self.value), room)
        return Text.assemble(" ", (f"‹ {shown} ›", "reverse" if self.has_focus else ""), many)

    def action_turn(self, by: int) -> None:
        self._take(self._choices[(self._choices.index(self.value) + by) % len(self._choices)])

    def action_other(self, go_on: bool) -> None:
        if self._many:
            options = [(one, one, "") for one in self._choices]
            self.app.push_screen(Pick(self._label, options, chosen=self.value), partial(self._picked, go_on))
        elif go_on:
            self.post_message(self.Taken())
        else:
            self.action_turn(1)

    @property
    def _many(self) -> bool:
        return len(self._choices) > MANY

    def _picked(self, go_on: bool, value: str | None) -> None:
        if value is not None:
            self._take(value)
            if go_on:
                self.post_message(self.Taken())

    def _take(self, value: str) -> None:
        self.value = value
        self.refresh()
