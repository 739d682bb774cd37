"""National health identifiers: the French NIR and the British NHS number.

A label masks a number whose check fails too, since a typing error is still personal.
Source: shield.md ("Detection"); INSEE (NIR: key is 97 less the number modulo 97, Corsica 2A and 2B as 19 and 18);
NHS Data Dictionary (modulus 11).
"""

import re
from collections.abc import Iterator

from appliance.shield.finding import Finding
from appliance.shield.med_context import before, nearest, numbers

LABEL_REACH = 80
"""Characters: a form's label can be long, as in "N° d'immatriculation (à compléter par l'assuré(e)) Agé de 75 ans"."""

MIN_LABELLED = 11
"""Digits of a number that a label alone makes a NIR: it has 13, or 15 with its key, and a writer may leave some out."""

_LEFT = r"(?<![\w.,+/-])(?<!\d )"
_NIR = re.compile(
    _LEFT + r"[12378][ .-]?\d\d[ .-]?\d\d[ .-]?(?:\d\d|2[ABab])[ .-]?\d{3}[ .-]?\d{3}[ .-]?\d\d(?!\w|[ .-]?\d)"
)
_ANY_NIR = re.compile(_LEFT + r"\d(?:[ .-]?\d){3,6}(?:[ .-]?\d|[ABab])(?:[ .-]?\d){5,8}(?!\w|[ .-]?\d)")
_NIR_LABEL = re.compile(
    r"(?<!\w)(?:nir|n[°º]?[ ]?ss|s[ée]cu(?:rit[ée])?(?: sociale)?|immatriculation|assur[ée]+(?:\(e\))?|insee|"
    r"assurance maladie|"
    r"carte vitale|n[ée]e? (?:le|en)|d['’]id)(?!\w)",
    re.IGNORECASE,
)
_NHS = re.compile(_LEFT + r"\d{3}([ -]?)\d{3}\1\d{4}(?!\w|[ -]?\d|[.,]\d)")
_NHS_LABEL = re.compile(r"(?<!\w)nhs(?:[ ]?(?:no|number|num|nr|#|n[°º]))?(?!\w)", re.IGNORECASE)
_NO_NHS = re.compile(
    r"(?<!\w)(?:tel|tél|phone|mobile|fax|call|ref|réf|reference|ratio|order|invoice|facture|commande|client|"
    r"siren|siret)\b[^\n]{0,12}$",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[ .-]")


def find(text: str) -> Iterator[Finding]:
    """Linear in the text's length."""
    done = 0
    for number in numbers(text):
        if number.start() >= done and (found := _nir(text, number.start()) or _nhs_number(text, number.start())):
            done = found.end
            yield found


def _nir(text: str, start: int) -> Finding | None:
    match = _NIR.match(text, start)
    if match and is_nir(match[0]):
        return Finding(*match.span(), "NIR", "number and key")
    match = match or _ANY_NIR.match(text, start)
    if match and len(_SEPARATORS.sub("", match[0])) >= MIN_LABELLED:
        label = nearest(_NIR_LABEL, before(text, start, LABEL_REACH))
        return Finding(*match.span(), "NIR", "label", label) if label else None
    return None


def _nhs_number(text: str, start: int) -> Finding | None:
    match = _NHS.match(text, start)
    if match is None:
        return None
    lead = before(text, start)
    if label := nearest(_NHS_LABEL, lead):
        return Finding(*match.span(), "NHS_NUMBER", "label", label)
    # Ten digits in a row pass the check by chance once in eleven times; only grouped ones are believed.
    if match[1] and is_nhs_number(match[0]) and not _NO_NHS.search(lead):
        return Finding(*match.span(), "NHS_NUMBER", "grouped digits and check digit")
    return None


def is_nir(value: str) -> bool:
    """Whether the last two digits of 15 are the key of the others."""
    compact = _SEPARATORS.sub("", value).upper()
    number = compact[:5] + compact[5:7].replace("2A", "19").replace("2B", "18") + compact[7:]
    return len(number) == 15 and number.isdecimal() and 97 - int(number[:13]) % 97 == int(number[13:])


def is_nhs_number(value: str) -> bool:
    """Whether the last digit of ten checks the others."""
    digits = [int(each) for each in value if each.isdecimal()]
    check = 11 - sum(digit * weight for digit, weight in zip(digits, range(10, 1, -1), strict=False)) % 11
    return len(digits) == 10 and check % 11 == digits[9] and check != 10
