"""How things look to people in a terminal: tables as wide as it is, times, durations, questions."""

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Sequence
from datetime import datetime

WIDTH = 80
"""Columns of a terminal that does not say how many it has."""

GAP = 2

ABSENT = "–"


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


def printable(text: str) -> str:
    """The text without anything that a terminal would obey."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def moment(rfc3339: str | None) -> str:
    """A time of the API, to the minute: `2026-11-29 18:57Z`."""
    return ABSENT if rfc3339 is None else f"{rfc3339[:10]} {rfc3339[11:16]}Z"


def duration(start: datetime, end: datetime) -> str:
    """The two largest units: `3 h 12 min`."""
    seconds = max(0, int((end - start).total_seconds()))
    days, hours, minutes = seconds // 86_400, seconds // 3600 % 24, seconds // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{seconds} s"


def questions(milli: int) -> str:
    """Thousandths of a question as a decimal: 12500 is `12.5`."""
    return f"{milli / 1000:.3f}".rstrip("0").rstrip(".") if milli % 1000 else str(milli // 1000)


def dollars(micro: int) -> str:
    """Millionths of a dollar: `$12.34`, and as many decimals as small sums need: `$0.000125`."""
    sign, micro = ("-" if micro < 0 else ""), abs(micro)
    if micro >= 1_000_000 or not micro:
        return f"{sign}${micro / 1_000_000:.2f}"
    return f"{sign}${f'{micro / 1_000_000:.6f}'.rstrip('0').ljust(4, '0')}"


def seconds(ms: int) -> str:
    """`0.25 s`, `12.3 s`."""
    return f"{ms / 1000:.2f} s" if ms < 10_000 else f"{ms / 1000:.1f} s"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    fitted = [_fit(cell, width) for cell, width in zip(cells, widths, strict=True)]
    return (" " * GAP).join(fitted).rstrip()


def _fit(text: str, width: int) -> str:
    if _width(text) > width:
        kept = ""
        for one in text:
            if _width(kept + one) > width - 1:
                break
            kept += one
        text = kept + "…"
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Columns that a terminal uses: two for East Asian wide characters, none for combining marks."""
    return sum(_columns(one) for one in text)


def _columns(one: str) -> int:
    return 0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1
