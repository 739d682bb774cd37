"""Finds IBANs: a country, its length and structure, and the check digits; after the word IBAN a typo passes.

Source: shield.md ("Detection"), ISO 13616.
"""

import re
from collections.abc import Iterator

from appliance.shield.checks import mod_97
from appliance.shield.context import glued_after, glued_before, word_before
from appliance.shield.finding import Finding
from appliance.shield.iban_structures import STRUCTURES

# The two check digits are looked for first, since they are rarer than letters.
_START = re.compile(r"[0-9](?:(?<=[A-Za-z]{2}[0-9])|(?<=[A-Za-z]{2}[ -][0-9]))[0-9](?=[ \t\r\n.\-]{0,2}[A-Za-z0-9])")
_REST = {
    length: re.compile(rf"(?:[ \t\r\n.\-]{{0,2}}+[A-Za-z0-9]){{{length - 4}}}")
    for length in {structure.length for structure in STRUCTURES.values()}
}
_SEPARATORS = str.maketrans("", "", " \t\r\n.-")
_LABELS = frozenset({"iban"})


def find(text: str) -> Iterator[Finding]:
    end = 0
    for digits in _START.finditer(text):
        start = digits.start() - (2 if text[digits.start() - 1].isalpha() else 3)
        structure = STRUCTURES.get(text[start : start + 2].upper())
        if structure is None or start < end:
            continue
        rest = _REST[structure.length].match(text, digits.end())
        if rest is None or glued_after(text, rest.end()) or not _begins(text, start):
            continue
        value = text[start : rest.end()].translate(_SEPARATORS).upper()
        if structure.account.fullmatch(value, 4) and mod_97(value):
            end = rest.end()
            yield Finding(start, end, "IBAN", "country's structure and check digits")
        elif (label := word_before(text, start, _LABELS)) and _one_case(text[start : rest.end()]):
            end = rest.end()
            yield Finding(start, end, "IBAN", "country's length after its label", label)


def _begins(text: str, start: int) -> bool:
    return not glued_before(text, start) or text[max(0, start - 4) : start].upper() == "IBAN"


def _one_case(value: str) -> bool:
    """Prose that happens to follow a country's letters is of both cases."""
    return value in (value.upper(), value.lower())
