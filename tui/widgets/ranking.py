"""An order to be written: which of several, best first. Nothing is changed before it is saved."""

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding

from tui.widgets.frame import Dialog
from tui.widgets.table import Column, Row, Table


class Ranking(Dialog[tuple[str, ...] | None]):
    """`candidates` are ids, each with what to know of it; `ranked` those that are in already, best first."""

    BINDINGS: ClassVar = [
        Binding("space", "take", "in or out", priority=True),
        Binding("u", "shift(-1)", "up"),
        Binding("d", "shift(1)", "down"),
        Binding("enter", "save", "save"),
        Binding("escape", "leave", "change nothing"),
    ]

    def __init__(self, title: str, candidates: Sequence[tuple[str, str]], ranked: Sequence[str]) -> None:
        super().__init__(title)
        self._about = dict(candidates)
        self._ranked = [name for name in ranked if name in self._about]

    def content(self) -> ComposeResult:
        width = max((cell_len(name) for name in self._about), default=4)
        columns = (Column("", 6), Column("NAME", width), Column(""))
        table = Table(columns, empty="There is nobody to choose from.")
        table.add_class("fits")
        yield table

    def keys(self) -> Sequence[str]:
        return "↑ ↓ move", "space in or out", "u up", "d down", "enter save", "esc leave it"

    def on_mount(self) -> None:
        table = self.query_one(Table)
        table.styles.height = min(len(self._about), 12) + 1
        self._show()
        table.focus()

    def action_take(self) -> None:
        if (name := self._chosen) is not None:
            if name in self._ranked:
                self._ranked.remove(name)
            else:
                self._ranked.append(name)
            self._show()

    def action_shift(self, by: int) -> None:
        name = self._chosen
        if name is None or name not in self._ranked:
            return
        at = self._ranked.index(name)
        to = min(max(at + by, 0), len(self._ranked) - 1)
        self._ranked.insert(to, self._ranked.pop(at))
        self._show()

    def action_save(self) -> None:
        self.dismiss(tuple(self._ranked))

    def action_leave(self) -> None:
        self.dismiss(None)

    @property
    def _chosen(self) -> str | None:
        row = self.query_one(Table).chosen
        return None if row is None else row.id

    def _show(self) -> None:
        others = [name for name in self._about if name not in self._ranked]
        rows = [Row(name, (f"● {rank}.", name, self._about[name])) for rank, name in enumerate(self._ranked, 1)]
        rows += [Row(name, ("○ out", name, self._about[name]), ("dim", "dim", "dim")) for name in others]
        self.query_one(Table).show(rows)
