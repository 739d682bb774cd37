"""When the same provider is asked once more: which failures may pass, how often, and after how long a pause.

Knows no connection; a caller says what failed. Source: RFC 9110, section 10.2.3 (`Retry-After`).
"""

from datetime import datetime
from email.utils import parsedate_to_datetime

PAUSES = (0.5, 1.5)
"""Seconds before the second and the third try: two more are all that a waiting caller is asked to wait for."""

LONGEST_PAUSE = 10.0
"""Seconds. A provider that wants to be left alone for longer is: the next one answers, or the caller is told."""

LONGEST_ASKED = 86_400.0
"""Seconds. A day is as good as for ever, and what is longer may be no number that anybody can count to."""

PASSING_STATUSES = frozenset({429, 500, 502, 503, 529})
"""Too many requests, faults and overload (529 is Anthropic's): what may be gone in a moment."""


def retry_after(value: str | None, now: datetime) -> float | None:
    """The seconds that a `Retry-After` header asks for, 0 to `LONGEST_ASKED`; None where it says none."""
    text = (value or "").strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():  # some send fractions, against the standard
        return min(float(text), LONGEST_ASKED)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if at.tzinfo is None:
        return None
    return min(max(0.0, (at - now).total_seconds()), LONGEST_ASKED)


def pause(retries: int, asked: float | None) -> float | None:
    """Seconds to wait after that many retries, `asked` being what the provider asks for; None to try no more."""
    if retries >= len(PAUSES):
        return None
    seconds = PAUSES[retries] if asked is None else asked
    return seconds if seconds <= LONGEST_PAUSE else None
