"""Telephone numbers with a calling code after `+` or `00`: what is *possible*, never what is given out.

Source: shield.md ("Detection"); ITU-T E.164.
"""

import re
from itertools import islice

from appliance.shield.context import glued_before, in_code
from appliance.shield.finding import Finding
from appliance.shield.phone_edges import decimal_or_glued, extended, row_after, row_before
from appliance.shield.phone_labels import label as label_before
from appliance.shield.phone_shapes import JOINT, LENGTHS

PATTERN = rf"(?:\+ ?|00[ .\-]?)\(?[1-9](?:{JOINT}[0-9]){{5,20}}+"
"""A regular expression for what may be such a number; `prefixed` tells where it ends."""

_DIGITS = re.compile(r"[0-9]+")
_MOST_GROUPS = 10
_LONGEST_CODE = 3


def prefixed(text: str, start: int, stop: int, shapes: re.Pattern[str]) -> Finding | None:
    """A number with a calling code, of as many digits as may follow it; to the end of a group."""
    plus = text[start] == "+"
    glued = glued_before(text, start)
    label = "" if plus and not glued and text[start + 1] != " " else label_before(text, start)[0]
    if (glued and not (label or (plus and _after_word(text, start)))) or in_code(text, start):
        return None
    if plus and text[start - 1 : start] == "+":
        return None
    if plus and text[start + 1] == " " and not label:
        return None
    groups = [group.span() for group in islice(_DIGITS.finditer(text, start + (1 if plus else 2), stop), _MOST_GROUPS)]
    if _decimal(text, groups, stop) or not (plus or label or _dialled(text, groups)):
        return None
    separated = len(groups) > 1 or (not plus and groups[0][0] > start + 2)
    end = _end(text, groups, lenient=separated and (plus or bool(label)))
    if not end or decimal_or_glued(text, end):
        return None
    if not (plus or label) and (not separated or row_before(text, start) or row_after(text, end, shapes)):
        return None
    return Finding(start, extended(text, end), "PHONE", "number with a calling code", label)


def _after_word(text: str, start: int) -> bool:
    """Whether a number that begins with a plus follows a word right away, as in names of files (`scan+336…`):
    no variable (`x+1`), and no date, as in a version (`beta+20240105`)."""
    return start > 1 and text[start - 2 : start].isalpha() and not _DATE.match(text, start + 1)


_DATE = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])(?:[0-9]{2}){0,3}(?![0-9])")


def _end(text: str, groups: list[tuple[int, int]], *, lenient: bool) -> int:
    """The end of the last group that can be the last of the number; 0 if none can."""
    number, end = "", 0
    for first, last in groups:
        # The 0 of "+33 (0)6" is not dialled.
        if text[first:last] == "0" and number and len(number) <= _LONGEST_CODE:
            continue
        number += text[first:last]
        possible = _possible(number, lenient=lenient)
        if possible is None:
            break
        if possible:
            end = last
    return end


def _dialled(text: str, groups: list[tuple[int, int]]) -> bool:
    """Whether what follows 00 is a calling code by itself and a number that begins with no 0, as tables seldom have."""
    codes = [text[first:last] for first, last in groups]
    if codes[0] not in LENGTHS or len(codes) < 2 or text[groups[0][1]] == ".":
        return False
    if any(code.startswith("00") for code in codes[1:]):
        return False
    return codes[1][0] != "0" or codes[1] == "0" or codes[0] == "39"


def _decimal(text: str, groups: list[tuple[int, int]], stop: int) -> bool:
    """Whether two groups are the parts of a decimal number. A calling code, a dot and the rest is how registries of
    domains write. Source: RFC 5733, 2.5."""
    if len(groups) != 2 or text[groups[0][1] : groups[1][0]] != "." or groups[1][1] < stop:
        return False
    return text[groups[0][0] : groups[0][1]] not in LENGTHS


def _possible(number: str, *, lenient: bool) -> bool | None:
    """Whether digits after the prefix can be a whole number; None if they are too many already.

    If `lenient`, one digit fewer than possible passes: people leave one out.
    """
    for width in range(1, _LONGEST_CODE + 1):
        lengths = LENGTHS.get(number[:width])
        if lengths is not None:
            rest = len(number) - width
            if rest >= lengths.stop:
                return None
            return rest in lengths or (lenient and rest == lengths.start - 1)
    return None if len(number) > _LONGEST_CODE else False
