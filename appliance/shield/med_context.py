"""The words near a place in a text, for the medical rules that live by them. Must not know any rule.

Rules begin at a number and look back from it, since there are few numbers and many words.
"""

import re
from collections.abc import Iterator

from appliance.shield.lexicon import fold

REACH = 40
"""Characters that are looked at on one side: about a line's worth of label."""

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"(?<!\d)\d+")


def before(text: str, start: int, reach: int = REACH) -> str:
    """What stands before `start`, at most `reach` characters."""
    return text[max(0, start - reach) : start]


def words_in(stretch: str) -> list[str]:
    """The words of a short stretch of text, folded."""
    return [fold(word) for word in _WORD.findall(stretch)]


def nearest(pattern: re.Pattern[str], stretch: str) -> str:
    """The last match of `pattern` in a short stretch of text, in small letters; empty if there is none."""
    last = max(pattern.finditer(stretch), key=lambda match: match.start(), default=None)
    return last[0].strip(" :.#°=\"'").lower() if last else ""


def numbers(text: str) -> Iterator[re.Match[str]]:
    """The runs of digits."""
    return _NUMBER.finditer(text)
