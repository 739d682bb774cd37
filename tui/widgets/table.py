"""A list of lines with a cursor that repaints only the lines that change, for terminals at the end of a slow network.

Must not know what is listed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.look import STYLES, Tone

GAP = 2
MARK = 2
"""Columns before the first one, where the cursor stands."""

NEAR_END = 10
"""So many lines before the last one more are asked for."""

NOT_KNOWN = "Nothing is known yet."

SLACK = 5
"""So many lines must be left below the cursor for new rows above it."""


@dataclass(frozen=True, slots=True)
class Column:
    """`width` in terminal columns; 0 takes what the others leave."""

    title: str
    width: int = 0
    right: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """`id` tells lines apart. `tones` are of the cells, in order; what is missing is plain."""

    id: str
    cells: tuple[str, ...]
    tones: tuple[Tone, ...] = ()


class Table(ScrollView, can_focus=True):
    """`empty` is shown where there are no rows, once that is known."""

    BINDINGS: ClassVar = [
        Binding("up", "move(-1)", "up", show=False),
        Binding("down", "move(1)", "down", show=False),
        Binding("pageup", "turn(-1)", "page up", show=False),
        Binding("pagedown,space", "turn(1)", "page down", show=False),
        Binding("home", "move(-1000000)", "first", show=False),
        Binding("end", "move(1000000)", "last", show=False),
    ]

    class NearEnd(Message):
        """The cursor comes near the last line that is loaded."""

        def __init__(self, table: "Table") -> None:
            self.table = table
            super().__init__()

        @property
        def control(self) -> "Table":
            return self.table

    class Moved(NearEnd):
        """Another line is chosen."""

    def __init__(self, columns: Sequence[Column], *, empty: str, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._columns = tuple(columns)
        self._rows: tuple[Row, ...] = ()
        self._empty = empty
        self._instead = ""
        self._cursor = 0
        self.known = False
        """Whether anything was shown."""

    @property
    def chosen(self) -> Row | None:
        return self._rows[self._cursor] if self._rows else None

    @property
    def line(self) -> int:
        """Where the cursor is, counted from 0."""
        return self._cursor

    @property
    def lines_shown(self) -> int:
        """How many rows there is room for."""
        return max(self.size.height - 1, 1)

    @property
    def near_top(self) -> bool:
        """Whether new rows above the others would be seen, and would not push what is chosen out of sight."""
        return not self.scroll_offset.y and (not self._cursor or self._cursor + SLACK < self.lines_shown)

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._rows

    def choose(self, row_id: str) -> None:
        """Put the cursor on a row, where it is there."""
        for at, row in enumerate(self._rows):
            if row.id == row_id:
                self._go(at)

    def go_to_top(self) -> None:
        self._go(0)

    def show(
        self,
        rows: Sequence[Row],
        *,
        columns: Sequence[Column] | None = None,
        empty: str | None = None,
        instead: str = "",
    ) -> None:
        """Show these; the cursor stays on its row wherever that is now, and in sight where it was. `instead` of what
        is said where there are no rows, for this time."""
        before, chosen = self._rows, self.chosen
        anew = (columns is not None and tuple(columns) != self._columns) or (empty is not None and empty != self._empty)
        self._instead = instead
        self._columns = self._columns if columns is None else tuple(columns)
        self._empty = self._empty if empty is None else empty
        self._rows, self.known = tuple(rows), True
        where = {row.id: at for at, row in enumerate(self._rows)}
        cursor = where.get(chosen.id, self._cursor) if chosen else 0
        moved = self._cursor
        self._cursor = min(cursor, max(len(self._rows) - 1, 0))
        self.virtual_size = Size(self.size.width, max(len(self._rows), 1) + 1)
        scrolled = self._follow(moved)
        if scrolled or anew or not before or not self._rows or len(before) > len(self._rows):
            self.refresh()
            return
        for at, row in enumerate(self._rows):
            if at >= len(before) or before[at] != row or (moved != self._cursor and at in (moved, self._cursor)):
                self._refresh_row(at)

    def action_move(self, by: int) -> None:
        self._go(self._cursor + by)

    def action_turn(self, by: int) -> None:
        self._go(self._cursor + by * max(self.size.height - 2, 1))

    def on_resize(self) -> None:
        self.virtual_size = Size(self.size.width, max(len(self._rows), 1) + 1)
        self._bring_into_view()

    def on_focus(self) -> None:
        self._refresh_row(self._cursor)

    def on_blur(self) -> None:
        self._refresh_row(self._cursor)

    def render_line(self, y: int) -> Strip:
        if y == 0:
            return self._strip(tuple(column.title for column in self._columns), (), Style(bold=True, dim=True), "  ")
        at = y - 1 + self.scroll_offset.y
        # Every segment has a style: without colour (NO_COLOR), Textual changes that of each.
        if not self._rows and y == 2:
            empty = (self._instead or self._empty) if self.known else NOT_KNOWN
            return Strip([Segment(fitted(f"  {empty}", self.size.width).rstrip(), Style())])
        if at >= len(self._rows):
            return Strip.blank(self.size.width, Style())
        row = self._rows[at]
        here = at == self._cursor
        over = Style(reverse=here and self.has_focus, bold=here)
        return self._strip(row.cells, row.tones, over, "▸ " if here else "  ")

    def _strip(self, cells: tuple[str, ...], tones: tuple[Tone, ...], over: Style, mark: str) -> Strip:
        segments = [Segment(mark, over)]
        for at, (column, width) in enumerate(zip(self._columns, self._widths(), strict=True)):
            if at:
                segments.append(Segment(" " * GAP, over))
            text = fitted(cells[at], width, right=column.right)
            tone: Tone = tones[at] if at < len(tones) else "plain"
            # The chosen line is reversed: in colour its cells would be patches.
            segments.append(Segment(text, over if over.reverse else STYLES[tone] + over))
        return Strip(segments).adjust_cell_length(self.size.width, over)

    def _widths(self) -> list[int]:
        taken = MARK + GAP * (len(self._columns) - 1) + sum(column.width for column in self._columns)
        rest = max(self.size.width - taken, 0)
        open_ones = [at for at, column in enumerate(self._columns) if not column.width]
        share, left = divmod(rest, len(open_ones) or 1)
        extra = {at: share + (nth < left) for nth, at in enumerate(open_ones)}
        return [column.width or extra[at] for at, column in enumerate(self._columns)]

    def _go(self, to: int) -> None:
        to = min(max(to, 0), max(len(self._rows) - 1, 0))
        if len(self._rows) - to <= NEAR_END:
            self.post_message(self.NearEnd(self))
        if to == self._cursor:
            return
        before, self._cursor = self._cursor, to
        if not self._bring_into_view():
            self._refresh_row(before)
            self._refresh_row(to)
        self.post_message(self.Moved(self))

    def _follow(self, before: int) -> bool:
        """Scroll where the cursor's row would else move on the screen; stay at the top while it is in sight there."""
        first, by = self.scroll_offset.y, self._cursor - before
        in_sight = self._cursor < self.lines_shown
        if not by or (not first and in_sight):
            return False
        self.scroll_to(y=max(first + by, 0), animate=False, force=True, immediate=True)
        return True

    def _bring_into_view(self) -> bool:
        """Scroll to the cursor's row where it is out of sight; whether it was."""
        to, first, visible = self._cursor, self.scroll_offset.y, self.lines_shown
        if first <= to < first + visible:
            return False
        self.scroll_to(y=to if to < first else to - visible + 1, animate=False, force=True, immediate=True)
        self.refresh()
        return True

    def _refresh_row(self, at: int) -> None:
        """The header is line 0 and never scrolls, so that row 0 is a line further down than the lines that scroll."""
        self.refresh_line(at + 1)


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """Exactly so many columns; what is too long is cut, and says so."""
    text = cut(text, width)
    room = " " * (width - cell_len(text))
    return room + text if right else text + room


def cut(text: str, width: int) -> str:
    """So many columns at most."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)) + "…" if width else ""
