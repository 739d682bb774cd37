"""How things look to people in a terminal: tables as wide as it is, and what `looks` knows of single values."""

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Sequence

from appliance.admin.looks import printable

WIDTH = 80
"""Columns of a terminal that does not say how many it has."""

GAP = 2


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, whole: Sequence[int] = ()) -> tuple[str, ...]:
    """Aligned columns, as wide as the terminal at most; where nobody looks, nothing is cut.

    Args:
        headers: one for each column.
        rows: the cells; what cannot be printed in them is shown as its code.
        whole: the columns that are never cut, such as ids. Others are cut, the widest first.
    """
    lines = [[printable(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(headers))]
    flexible = [column for column in range(len(headers)) if column not in whole]
    room = available()
    while room is not None and sum(widths) + GAP * (len(widths) - 1) > room:
        widest = max(flexible, key=lambda column: widths[column], default=None)
        if widest is None or widths[widest] <= 3:
            break
        widths[widest] -= 1
    return tuple(_line(line, widths) for line in lines)


def available() -> int | None:
    """Columns of the terminal that stdout is, None where it is none, such as a pipe or a file."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size((WIDTH, 24)).columns


def wrapped(sentence: str, *, indent: str = "") -> tuple[str, ...]:
    """A sentence as lines of a terminal, or of 80 columns where nobody looks; names are never cut. `indent` stands
    before every line but the first."""
    width = available() or WIDTH
    return tuple(
        textwrap.wrap(sentence, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    )


def fit(text: str, width: int) -> str:
    """The text in so many columns: cut with `…`, or filled up with spaces."""
    if _width(text) > width:
        kept = ""
        for one in text:
            if _width(kept + one) > width - 1:
                break
            kept += one
        text = kept + "…"
    return text + " " * (width - _width(text))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    fitted = [fit(cell, width) for cell, width in zip(cells, widths, strict=True)]
    return (" " * GAP).join(fitted).rstrip()


def _width(text: str) -> int:
    """Columns that a terminal uses: two for East Asian wide characters, none for combining marks."""
    return sum(_columns(one) for one in text)


def _columns(one: str) -> int:
    return 0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
