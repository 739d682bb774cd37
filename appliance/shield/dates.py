"""Dates that say more than a year: in figures, ISO, or with the month spelled out. The finding covers the year too.

Must not know tokens. A blood pressure, a page number, a version or the date of a law is not personal.
Source: shield.md ("Detection"), HIPAA Safe Harbor (45 CFR 164.514(b)(2)(i)(C)).
"""

import re
from collections.abc import Iterator

from appliance.shield.date_shapes import (
    APART,
    COMPACT,
    LABELLED,
    MONTH_NUMBER,
    PADDED,
    PARTIAL,
    RANGE_OF_DAYS,
    RANGE_OF_MONTHS,
    SPACED,
    WHOLE,
    after_month,
    before_month,
)
from appliance.shield.finding import Finding
from appliance.shield.med_context import before, nearest, numbers
from appliance.shield.months import month_words

_PRESSURE = re.compile(
    r"(?<!\w)(?:ta|pa|tas|tad|tension|bp|rr|blood pressure|blutdruck|presi[oó]n|pressione|tensi[oó]n|bloeddruk|"
    r"tens[aã]o|ci[sś]nienie|"
    r"score|apgar|oeil|œil|acuit[eé]|agudeza|visus|eye|vision|eva|vas|nrs|page|grade|stade|ratio|av|od|og|oi|"
    r"os|glasgow|gcs|"
    r"douleur|pain|force|niveau|version|v|release|chapitre|chapter|section|article|art|§|figure|fig|"
    r"table)\b[^\n,;\d]{0,12}$",
    re.IGNORECASE,
)
"""Before a fraction: a blood pressure, an acuity, a score, a version."""

_ACUITY = re.compile(r"(?<!\w)(?:av|acuit[ée]|agudeza|visus|vision|eva|score|apgar)\b[^\n;]{0,36}$", re.IGNORECASE)
"""Further before one that is not written with two digits each, as a date in a form is."""

_UNIT = re.compile(
    r" ?(?:mm ?hg|cmhg|mg|µg|ug|g|kg|ml|cm|mm|l|cp|cpr|comprim|tablet|tab|dose|%|°|h\b|ui|iu|bpm|/min|"
    r"points?\b|pts?\b|x\b|ans\b|"
    r"ampoules?|gouttes|semaines?|jours?|mois|weeks?|days?|months?|hours?|heures?)",
    re.IGNORECASE,
)
_LEADS_TO_A_DATE = re.compile(
    r"(?:(?<!\w)(?:le|du|au|dès|des|depuis|jusqu['’]au|on|since|until|from|by|to|dated?|am|vom|bis|seit|el|del|"
    r"desde|hasta|il|dal|al|op|"
    r"van|tot|sinds|em|no dia|dia|desde|dnia|od|do|j0|[cdj]\d{1,2}|et|and|und|rdv|date)[ :=]{1,3})$",
    re.IGNORECASE,
)
_OF_A_LAW = re.compile(
    r"(?<!\w)(?:loi|décret|decret|arrêté|arrete|ordonnance|directive|circulaire|règlement|law|act|regulation|"
    r"gesetz|verordnung|ley|"
    r"real decreto|legge|decreto|wet|lei|ustawa|n°)\b[^\n;:]{0,24}$",
    re.IGNORECASE,
)
_OF_A_JOURNAL = re.compile(r";\d+[(:]")
_VERSION = re.compile(r"(?<!\w)(?:version|release|v|ver|rev|build)\.?[ ]?$", re.IGNORECASE)
_PHONE = re.compile(r"(?<!\w)(?:t[ée]l|phone|fax|mobile)\b[^\n,;]{0,12}$|[+]\d[\d .-]{0,12}$", re.IGNORECASE)


def find(text: str) -> Iterator[Finding]:
    """Every date of the text; linear in its length."""
    yield from _in_figures(text)
    for name in month_words(text):
        if date := _spelled_out(text, name):
            yield date


def _in_figures(text: str) -> Iterator[Finding]:
    done = 0
    for number in numbers(text):
        if number.start() >= done and (date := _at(text, number.start())):
            done = date.end
            yield date


def _at(text: str, start: int) -> Finding | None:
    """The date that begins with the digit at `start`."""
    for shape, rule in WHOLE:
        if match := shape.match(text, start):
            return _date(text, *match.span(), rule) if _is_personal(text, match) else None
    if (match := SPACED.match(text, start)) and not _PHONE.search(before(text, start)):
        return _date(text, *match.span(), "day, month and year")
    if (match := APART.match(text, start)) and _are_a_date(match[0].replace(" ", "")):
        return _date(text, *match.span(), "eight digits apart")
    if (match := MONTH_NUMBER.match(text, start)) and _is_personal(text, match):
        return _date(text, *match.span(), "month and year")
    match = PARTIAL.match(text, start) or COMPACT.match(text, start)
    if match and (context := _partial_context(text, match)):
        return _date(text, *match.span(), "day and month", context)
    if (match := LABELLED.shape.match(text, start)) and (context := nearest(LABELLED.label, before(text, start))):
        # Whatever stands there, since "16/018/1961" is the date of birth with a slip of the key.
        return Finding(*match.span(), "DATE", "label", context)
    return None


def _are_a_date(digits: str) -> bool:
    """Seven digits are a date that lost its last: `1002201`."""
    return bool(COMPACT.fullmatch(digits) or COMPACT.fullmatch(digits + "0"))


def _spelled_out(text: str, name: re.Match[str]) -> Finding | None:
    """The date around the name of a month."""
    end, has_year, has_day = after_month(text, name)
    start = before_month(text, name, sure=has_year)
    if start is None:
        if not (has_year or has_day):
            return None
        start = name.start()
    lead = before(text, start)
    if _OF_A_LAW.search(lead) or _OF_A_JOURNAL.match(text, end):
        return None
    return _date(text, start, end - text.endswith(".", start, end), "month spelled out")


def _is_personal(text: str, match: re.Match[str]) -> bool:
    lead = before(text, match.start())
    return not (_OF_A_LAW.search(lead) or _OF_A_JOURNAL.match(text, match.end()) or _VERSION.search(lead))


def _partial_context(text: str, match: re.Match[str]) -> str:
    """What says that a day and a month without separators or a year are a date; empty if nothing does."""
    lead = before(text, match.start())
    if ranged := RANGE_OF_DAYS.search(lead):
        lead = lead[: ranged.start()]
    if lead.endswith("(") and PADDED.match(match[0]):
        return "("
    context = nearest(_LEADS_TO_A_DATE, lead)
    if not context or _PRESSURE.search(lead) or _UNIT.match(text, match.end()):
        return ""
    return "" if _ACUITY.search(lead) and not PADDED.match(match[0]) else context


def _date(text: str, start: int, end: int, rule: str, context: str = "") -> Finding:
    """With the first day or month of a range, whose year it shares: `18 au 29/03/2020`, `mai à juin 2029`."""
    lead = before(text, start, 24)
    for shape in (RANGE_OF_DAYS, RANGE_OF_MONTHS):
        if found := shape.search(lead):
            return Finding(start - len(lead) + found.start(), end, "DATE", rule, context)
    return Finding(start, end, "DATE", rule, context)
