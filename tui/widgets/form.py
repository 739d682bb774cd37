"""A few fields to be filled in before something is made or changed. Says of each what may stand there.

The form is there until what it was filled in for is done, or given up: what is refused is said in it, and stays typed.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Generic, TypeVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input, Static

from appliance.admin.client import AdminError, looks
from tui.typed import TypedApp
from tui.widgets.choice import Choice
from tui.widgets.frame import Dialog, Measured, Scrolled

T = TypeVar("T")

Given = Mapping[str, str]
"""What was typed, by the fields' names, without spaces around it."""

Check = Callable[[Given], str]
"""What is wrong with the values, in a sentence; "" where nothing is."""

ASKING = "Asking the daemon …"


@dataclass(frozen=True, slots=True)
class Field:
    """`choices`: one of these, else a text. `hint` says what may stand there, or what it is where it stays empty."""

    name: str
    label: str
    hint: str = ""
    value: str = ""
    choices: tuple[str, ...] = ()
    secret: bool = False


async def as_given(given: Given) -> Given:
    """To `submit` where the values are all that is wanted."""
    return given


class Form(Dialog[T | None], Generic[T]):
    """Enter goes to the next field, and from the last one does it: `done` is the word for that.

    Args:
        submit: does it, after `check`. The form ends with what it returns; it stays where that is None, and where an
            AdminError is raised, which it shows. Whatever is typed meanwhile is dropped.
        asking: what is said meanwhile.
    """

    AUTO_FOCUS = ""
    BINDINGS: ClassVar = [
        Binding("escape", "leave", "no"),
        Binding("ctrl+s", "do", "do it"),
        Binding("enter", "next", "next"),
        Binding("down,tab", "step(1)", "next", show=False),
        Binding("up,shift+tab", "step(-1)", "back", show=False),
    ]
    app = getters.app(TypedApp)

    def __init__(
        self,
        title: str,
        fields: Sequence[Field],
        *,
        done: str,
        submit: Callable[[Given], Awaitable[T | None]],
        lines: Sequence[str] = (),
        check: Check | None = None,
        asking: str = ASKING,
    ) -> None:
        super().__init__(title)
        self._fields = fields
        self._done = done
        self._submit = submit
        self._lines = lines
        self._check = check
        self._asking = asking
        self._busy = False
        self._made = {field.name: _widget(field) for field in fields}

    def content(self) -> ComposeResult:
        width = max(len(field.label) for field in self._fields) + 2
        with Scrolled():
            if self._lines:
                yield Static("\n".join(looks.printable(line) for line in self._lines), markup=False)
            for field in self._fields:
                with Horizontal(classes="field"):
                    label = Static(field.label, markup=False)
                    label.styles.width = width
                    yield label
                    yield self._made[field.name]
        yield Measured("", classes="wrong", markup=False)

    def keys(self) -> Sequence[str]:
        if len(self._fields) == 1:
            return f"enter or ^s: {self._done}", "esc change nothing"
        return f"enter: next field, at the last {self._done}", f"^s {self._done}", "esc change nothing"

    def on_mount(self) -> None:
        self._made[self._fields[0].name].focus()

    def offer(self, name: str, choices: Sequence[str]) -> None:
        """These are what can be chosen in a field. What is chosen there stays."""
        made = self._made[name]
        if isinstance(made, Choice):
            made.offer(choices)

    def on_input_submitted(self) -> None:
        self.action_next()

    def on_choice_taken(self) -> None:
        self.action_next()

    def action_next(self) -> None:
        if self.focused is self._made[self._fields[-1].name]:
            self.action_do()
        else:
            self.action_step(1)

    def action_step(self, by: int) -> None:
        if self._busy:
            return
        if by > 0:
            self.focus_next()
        else:
            self.focus_previous()

    def action_do(self) -> None:
        if self._busy:
            return
        given = {name: _value(made) for name, made in self._made.items()}
        wrong = self._check(given) if self._check else ""
        if wrong:
            self._say(f"✗ {wrong}")
            return
        # What was typed behind it was not meant for what comes now.
        self.app.drop_typed()
        self._busy, before = True, self.focused
        self.set_focus(None)
        self._say(self._asking)
        self.run_worker(partial(self._done_with, given, before))

    def action_leave(self) -> None:
        # Not while it is being done: whether it was would not be known.
        if not self._busy:
            self.dismiss(None)

    async def _done_with(self, given: Given, before: Widget | None) -> None:
        try:
            made = await self._submit(given)
        except AdminError as error:
            made = None
            self._say(f"✗ {error}")
        else:
            self._say("")
        self._busy = False
        if made is None:
            self.set_focus(before)
        else:
            self.dismiss(made)

    def _say(self, sentence: str) -> None:
        self.query_one(".wrong", Static).update(looks.printable(sentence))


def _widget(field: Field) -> Choice | Input:
    if field.choices:
        return Choice(field.choices, field.value, field.name, field.label)
    made = Input(
        field.value, placeholder=field.hint, password=field.secret, id=field.name, select_on_focus=False, compact=True
    )
    made.cursor_blink = False
    return made


def _value(made: Choice | Input) -> str:
    return made.value if isinstance(made, Choice) else made.value.strip()
