"""How the values of the admin API look to people, in the command line and in the console: times, durations, money,
sizes.

Pure, and without a terminal.
"""

from datetime import datetime

ABSENT = "–"

_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


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


def size(count: int) -> str:
    """Bytes in the largest decimal unit: `4.7 GB`, `512 MB`, `0 B`."""
    unit, divisor = next(((unit, divisor) for unit, divisor in _UNITS if count >= divisor), ("B", 1))
    return f"{count / divisor:.1f} {unit}" if divisor >= 10**9 else f"{count // divisor} {unit}"


def seconds(ms: int) -> str:
    """`0.25 s`, `12.3 s`."""
    return f"{ms / 1000:.2f} s" if ms < 10_000 else f"{ms / 1000:.1f} s"
