"""What all dialogs are: a frame with a title and, always on the screen, their keys. Knows no question."""

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from appliance.admin.client import looks

T = TypeVar("T")

FRAME_LINES = 2
FEWEST_LINES = 2
"""Of what scrolls, however small the terminal is."""


class Measured(Static):
    """Text that says when it takes another number of lines."""

    class Resized(Message):
        """What is around has to be fitted."""

    def on_resize(self) -> None:
        self.post_message(self.Resized())


class Scrolled(VerticalScroll):
    """What there may be too little room for. The field that is typed into stays in sight."""

    def __init__(self, *children: Widget) -> None:
        super().__init__(*children, can_focus=False, classes="fits")

    def on_resize(self) -> None:
        self.post_message(Measured.Resized())
        if (focused := self.screen.focused) is not None and self in focused.ancestors:
            focused.scroll_visible(animate=False)


class Dialog(ModalScreen[T]):
    """Of its `content`, what has the class `fits` scrolls where there is too little room."""

    WIDE = False
    SCROLL = "pgup pgdn scroll"
    """Stands with the keys where not everything is on the screen; "" where they say so in any case."""

    BINDINGS: ClassVar = [
        Binding("pageup", "scroll(-5)", "page up", show=False),
        Binding("pagedown", "scroll(5)", "page down", show=False),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._scrolls = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall" if self.WIDE else "dialog"):
            yield Static(looks.printable(self._title), classes="title", markup=False)
            yield from self.content()
            yield Measured(self._key_line(), classes="keys", markup=False)

    def content(self) -> ComposeResult:
        """What is between the title and the keys."""
        yield from ()

    def keys(self) -> Sequence[str]:
        """Each key with what it does."""
        return ()

    def on_resize(self) -> None:
        self._hint(scrolls=False)
        self._fit()

    def on_measured_resized(self) -> None:
        self._fit()

    def action_scroll(self, by: int) -> None:
        self.query_one(Scrolled).scroll_relative(y=by, animate=False)

    def _fit(self) -> None:
        """The keys stay on the screen, whatever lines the rest takes."""
        others = self.query(".dialog > *").exclude(".fits")
        taken = sum(one.outer_size.height + one.styles.margin.height for one in others)
        room = max(self.size.height - FRAME_LINES - taken, FEWEST_LINES)
        for part in self.query(".fits"):
            part.styles.max_height = room
            if isinstance(part, Scrolled) and part.virtual_size.height > room:
                self._hint(scrolls=True)

    def _hint(self, *, scrolls: bool) -> None:
        if scrolls != self._scrolls:
            self._scrolls = scrolls
            self.query_one(".keys", Measured).update(self._key_line())

    def _key_line(self) -> str:
        scroll = (self.SCROLL,) if self._scrolls and self.SCROLL else ()
        return "   ".join((*self.keys(), *scroll))
