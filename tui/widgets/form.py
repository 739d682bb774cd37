"""A few fields to be filled in before something is made or changed. Says of each what may stand there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static

from appliance.admin.client import looks

Check = Callable[[Mapping[str, str]], str]
"""What is wrong with the values, in a sentence; "" where nothing is."""


@dataclass(frozen=True, slots=True)
class Field:
    """`choices`: one of these, else a text. `hint` says what may stand there, or what it is where it stays empty."""

    name: str
    label: str
    hint: str = ""
    value: str = ""
    choices: tuple[str, ...] = ()
    secret: bool = False


class Choice(Widget, can_focus=True):
    """One of a few values, changed with the arrow keys or the space bar."""

    BINDINGS: ClassVar = [Binding("left", "turn(-1)"), Binding("right,space", "turn(1)")]

    def __init__(self, choices: Sequence[str], value: str, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self._choices = choices
        self.value = value if value in choices else choices[0]

    def render(self) -> Text:
        return Text.assemble(" ", (f"‹ {self.value} ›", "reverse" if self.has_focus else ""))

    def action_turn(self, by: int) -> None:
        self.value = self._choices[(self._choices.index(self.value) + by) % len(self._choices)]
        self.refresh()


class Form(ModalScreen[dict[str, str] | None]):
    """Enter goes to the next field, and from the last one does it: `done` is the word for that, after `check`."""

    BINDINGS: ClassVar = [
        Binding("escape", "leave", "no"),
        Binding("ctrl+s", "do", "do it"),
        Binding("enter", "next", "next", priority=True),
        Binding("down", "app.focus_next", "next", show=False),
        Binding("up", "app.focus_previous", "back", show=False),
    ]

    def __init__(
        self, title: str, fields: Sequence[Field], *, done: str, lines: Sequence[str] = (), check: Check | None = None
    ) -> None:
        super().__init__()
        self._title = title
        self._fields = fields
        self._done = done
        self._lines = lines
        self._check = check

    def compose(self) -> ComposeResult:
        width = max(len(field.label) for field in self._fields) + 2
        with Vertical(classes="dialog"):
            yield Static(looks.printable(self._title), classes="title", markup=False)
            if self._lines:
                yield Static("\n".join(looks.printable(line) for line in self._lines), markup=False)
            with VerticalScroll(can_focus=False, classes="fields"):
                for field in self._fields:
                    with Horizontal(classes="field"):
                        label = Static(field.label, markup=False)
                        label.styles.width = width
                        yield label
                        yield _widget(field)
            yield Static("", classes="wrong", markup=False)
            yield Static(
                f"enter: next field, at the last {self._done}   ^s {self._done}   esc change nothing",
                classes="keys",
                markup=False,
            )

    def action_next(self) -> None:
        last = self.query_one(f"#{self._fields[-1].name}")
        if self.focused is last:
            self.action_do()
        else:
            self.focus_next()

    def action_do(self) -> None:
        values = {field.name: self._value(field) for field in self._fields}
        wrong = self._check(values) if self._check else ""
        if wrong:
            self.query_one(".wrong", Static).update(f"✗ {looks.printable(wrong)}")
        else:
            self.dismiss(values)

    def action_leave(self) -> None:
        self.dismiss(None)

    def _value(self, field: Field) -> str:
        if field.choices:
            return self.query_one(f"#{field.name}", Choice).value
        return self.query_one(f"#{field.name}", Input).value.strip()


def _widget(field: Field) -> Widget:
    if field.choices:
        return Choice(field.choices, field.value, field.name)
    made = Input(
        field.value, placeholder=field.hint, password=field.secret, id=field.name, select_on_focus=False, compact=True
    )
    made.cursor_blink = False
    return made
