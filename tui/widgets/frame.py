"""What all dialogs are: a frame with a title and, always on the screen, their keys. Knows no question."""

from collections.abc import Sequence
from typing import TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from appliance.admin.client import looks

T = TypeVar("T")

FRAME_LINES = 2
FEWEST_LINES = 2
"""Of what scrolls, however small the terminal is."""


class Dialog(ModalScreen[T]):
    """Of its `content`, what has the class `fits` scrolls where there is too little room."""

    WIDE = False

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall" if self.WIDE else "dialog"):
            yield Static(looks.printable(self._title), classes="title", markup=False)
            yield from self.content()
            yield Static("   ".join(self.keys()), classes="keys", markup=False)

    def content(self) -> ComposeResult:
        """What is between the title and the keys."""
        yield from ()

    def keys(self) -> Sequence[str]:
        """Each key with what it does."""
        return ()

    def on_resize(self) -> None:
        self.fit()

    def fit(self) -> None:
        """The keys stay on the screen, once it is known how many lines the rest takes."""
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        others = self.query(".dialog > *").exclude(".fits")
        taken = sum(one.outer_size.height + one.styles.margin.height for one in others)
        for part in self.query(".fits"):
            part.styles.max_height = max(self.size.height - FRAME_LINES - taken, FEWEST_LINES)
