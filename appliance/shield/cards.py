"""Finds payment cards: 13 to 19 digits that pass Luhn and lie in an issuer's range.

A number beside SIRET or SIREN is a company's, and every one of those passes Luhn too.
Source: shield.md ("Detection"), ISO/IEC 7812-1; the issuers' published ranges.
"""

import re
from collections.abc import Iterator

from appliance.shield.checks import luhn
from appliance.shield.context import glued_after, glued_before, in_code, word_around, word_before
from appliance.shield.finding import Finding

_ISSUERS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("Visa", "4", (13, 16, 19)),
    ("Mastercard", "51-55 2221-2720", (16,)),
    ("American Express", "34 37", (15,)),
    ("Diners Club", "300-305 3095 36 38-39", (14, 16)),
    ("Discover", "6011 644-649 65", (16, 19)),
    ("JCB", "3528-3589", (16, 17, 18, 19)),
    ("UnionPay", "62 81", (16, 17, 18, 19)),
    ("Mir", "2200-2204", (16, 17, 18, 19)),
    ("RuPay", "60 82", (16,)),
    ("Troy", "9792", (16,)),
    ("Maestro", "50 56-58 61 63 66-69", (16,)),
)
"""Name, what the number begins with, how many digits it has."""

_MAESTRO = range(13, 20)
"""The lengths that numbers of Maestro may have. Its range is a tenth of all numbers, so that those which its cards
do not have in practice count only where a word says that this is a card."""


def _by_beginning() -> dict[tuple[str, int], str]:
    """The issuer, by the first four digits and the length."""
    issuers: dict[tuple[str, int], str] = {}
    for name, ranges, lengths in _ISSUERS:
        for each in ranges.split():
            first, _, last = each.partition("-")
            for four in range(int(first.ljust(4, "0")), int((last or first).ljust(4, "9")) + 1):
                issuers |= {(str(four), length): name for length in lengths}
    return issuers


_BY_BEGINNING = _by_beginning()

_CANDIDATE = re.compile(
    r"[0-9][0-9]{3}(?:[0-9]{9,15}+"
    r"|([ \t\-])(?:[0-9]{4}\1[0-9]{4}\1[0-9]{1,4}(\1[0-9]{1,3}(?![0-9]))?|[0-9]{6}\1[0-9]{4,5}))(?![0-9])"
)
"""All digits together, or grouped as cards are: in fours, or 4-6-5 and 4-6-4."""

_NOT_DIGITS = str.maketrans("", "", " -")
_COMPANY = frozenset({"siret", "siren", "rcs"})
_CARD = frozenset({
    "card", "cards", "credit", "debit", "maestro", "cc", "cb", "carte", "karte", "kreditkarte", "kartennummer",
    "tarjeta", "carta", "cartao", "kaart", "kaartnummer", "karta", "karty", "pan",
})  # fmt: skip


def find(text: str) -> Iterator[Finding]:
    for found in _CANDIDATE.finditer(text):
        start, end = found.span()
        if _goes_on(text, start, end, found[1]):
            continue
        rule, word = _judged(text, start, end)
        if not rule and found[2]:
            # What looks like a last group may be the card's code, or the month that it expires in.
            end = found.start(2)
            rule, word = _judged(text, start, end)
        if rule:
            yield Finding(start, end, "CREDIT_CARD", rule, word)


def _judged(text: str, start: int, end: int) -> tuple[str, str]:
    """By which rule this is a card, and the word that decided; empty if it is none."""
    digits = text[start:end].translate(_NOT_DIGITS)
    issuer, word = _BY_BEGINNING.get((digits[:4], len(digits)), ""), ""
    maestro = not issuer and digits[:2] in _MAESTRO_BEGINNINGS and len(digits) in _MAESTRO
    if not (issuer or maestro) or not luhn(digits):
        return "", ""
    if maestro:
        issuer, word = "Maestro", word_before(text, start, _CARD)
    if (maestro and not word) or word_around(text, start, end, _COMPANY):
        return "", ""
    return f"Luhn and {issuer}'s range", word


def _goes_on(text: str, start: int, end: int, separator: str | None) -> bool:
    """Whether these digits are part of a longer number, a decimal one or a code, or of a row of groups of four."""
    if glued_before(text, start) or glued_after(text, end) or in_code(text, start):
        return True
    if _IN_PATH.search(text, max(0, start - 100), start) and not word_before(text, start, _CARD, 12):
        return True
    if text[start - 1 : start] == "." and text[start - 2 : start - 1].isdigit():
        return True
    if text[end : end + 1] in ("-", ".") and text[end + 1 : end + 2].isalnum():
        return True
    if separator is None:
        return False
    return bool(_ROW_AFTER.match(text, end) or _ROW_BEFORE.search(text, max(0, start - 6), start))


_IN_PATH = re.compile(r"[A-Za-z]-\Z|://[^\s?]*/\Z")
"""A name's hyphen, or the path of a URL, in which other long numbers stand."""
_ROW_AFTER = re.compile(r"[ \-][0-9A-Fa-f]{4}(?![0-9A-Za-z])")
_ROW_BEFORE = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{4}[ \-]\Z")
_MAESTRO_BEGINNINGS = frozenset({"50", "56", "57", "58", *(str(each) for each in range(60, 70))})
