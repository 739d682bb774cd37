"""Where a telephone number begins and ends: what around a shape makes it part of something longer.

Must not know the shapes, or words. Source: shield.md ("Detection": not timestamps, decimals, UUIDs, hashes).
"""

import re

from appliance.shield.context import glued_after, in_code

_EXTENSION = re.compile(
    r"[ ,]{0,2}(?:[xX#]|[Ee]xt(?:ension)?\.?:?|[Pp]oste|[Dd]urchwahl|DW|[Ii]nt\.?|[Ii]nterno|toestel|wewn\.?)"
    r" ?[0-9]{1,6}(?![0-9A-Za-z_])"
)
_WORD = re.compile(r"[^\W\d_]{3}")
_ENDS_BEFORE = frozenset({"", "\n", "\r", "\t", ",", ";", "[", "{", "<", ">", "|", '"', "'", "="})
_ENDS_AFTER = frozenset({"", "\n", "\r", "\t", ";", ")", "]", "}", "<", ">", "|", '"', "'"})
"""What parts a value from any other, so that nothing beyond needs a look. A comma may come before an extension."""


def in_longer(text: str, start: int, end: int, ended: int, shapes: re.Pattern[str]) -> bool:
    """Whether a shape is only part of a longer number, a code, a date, or a row of numbers of one width."""
    if text[start - 1 : start] not in _ENDS_BEFORE and ended != start - 1 and _from_before(text, start):
        return True
    return text[end : end + 1] not in _ENDS_AFTER and _goes_on(text, start, end, shapes)


def _from_before(text: str, start: int) -> bool:
    before = text[max(0, start - 2) : start]
    if len(before) == 2 and before[1] in ".-/:" and before[0].isdigit():
        return True
    return in_code(text, start) or row_before(text, start)


def _goes_on(text: str, start: int, end: int, shapes: re.Pattern[str]) -> bool:
    if glued_after(text, end) and not _EXTENSION.match(text, end):
        # A space may be missing before a word; digits alone before letters are a hash.
        return text[start:end].isdigit() or not _WORD.match(text, end)
    after = text[end : end + 2]
    if len(after) == 2 and ((after[0] in ".-" and after[1].isdigit()) or (after[0] == ":" and after[1].isalnum())):
        return True
    return row_after(text, end, shapes)


def row_before(text: str, start: int) -> bool:
    """Whether a group of as many digits, also hexadecimal ones, stands before: this is a row of a table or a dump."""
    if text[start - 1 : start] != " ":
        return False
    previous, first = _ROW_BEFORE.search(text, max(0, start - 8), start), _FIRST_DIGITS.search(text, start)
    return bool(previous and first and _alike(previous[1], first[0]))


def row_after(text: str, end: int, shapes: re.Pattern[str]) -> bool:
    """The same for one after, which does not begin another number."""
    following = _ROW_AFTER.match(text, end)
    if not following or shapes.match(text, following.start(1)):
        return False
    last = _LAST_DIGITS.search(text, max(0, end - 12), end)
    return bool(last and _alike(following[1], last[0]))


def _alike(group: str, other: str) -> bool:
    return len(group) == len(other) and any(each.isdigit() for each in group)


_FIRST_DIGITS = re.compile(r"[0-9]+")
_LAST_DIGITS = re.compile(r"[0-9]+\Z")
_ROW_BEFORE = re.compile(r"(?<![0-9A-Za-z])([0-9A-Fa-f]{1,5}) \Z")
_ROW_AFTER = re.compile(r" ([0-9A-Fa-f]+)(?![0-9A-Za-z])")


def decimal_or_glued(text: str, end: int) -> bool:
    after = text[end : end + 2]
    if glued_after(text, end) and not _EXTENSION.match(text, end):
        return True
    return len(after) == 2 and after[0] in ".:" and after[1].isdigit()


def extended(text: str, end: int) -> int:
    extension = _EXTENSION.match(text, end)
    return extension.end() if extension else end
