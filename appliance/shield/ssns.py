"""Finds United States social security numbers, and the taxpayer numbers of the same shape.

Source: shield.md ("Detection"); SSA, "Social Security Number Randomization": areas 000, 666, group 00 and serial 0000
are never given. 9xx is a taxpayer's (ITIN), and accepted where it is written with separators.
"""

import re
from collections.abc import Iterator

from appliance.shield.context import glued_before, words_after, words_before
from appliance.shield.finding import Finding

_SSN = re.compile(r"[0-9][0-9]{2}([ .\-]?+)[0-9]{2}\1[0-9]{4}(?![0-9_A-Za-z]|[.\-][0-9A-Za-z])")
_WORDS = frozenset({"ssn", "ssns", "socialsecurity", "itin"})


def find(text: str) -> Iterator[Finding]:
    for found in _SSN.finditer(text):
        start, separator = found.start(), found[1]
        digits = found[0].replace(separator, "") if separator else found[0]
        if not _given(digits, bare=not separator) or _goes_on(text, start):
            continue
        word = _word(text, start, found.end())
        if word or separator == "-":
            rule = "number of nine digits beside its word" if not separator else "area, group and serial"
            yield Finding(start, found.end(), "SSN", rule, word)


def _word(text: str, start: int, end: int) -> str:
    for words in (words_before(text, start), words_after(text, end)[::-1]):
        for place, word in enumerate(words):
            if word in _WORDS:
                return word
            if word == "security" and words[place + 1 : place + 2] == ["social"]:
                return "social security"
    return ""


def _given(digits: str, *, bare: bool) -> bool:
    if bare and digits[0] == "9":
        return False
    return digits[:3] not in ("000", "666") and digits[3:5] != "00" and digits[5:] != "0000"


def _goes_on(text: str, start: int) -> bool:
    """Whether a longer number or code stands before."""
    return glued_before(text, start) or (start > 1 and text[start - 1] in ".-" and text[start - 2].isalnum())
