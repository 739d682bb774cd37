"""How dates are written: with figures alone, and around the name of a month. Must not know what stands around them.

Each shape is tried at one place, so the work is bounded there. Source: shield.md ("Detection"), ISO 8601.
"""

import re
from typing import NamedTuple

from appliance.shield.months import DAY_WORDS, NAME, YEAR_WORDS, is_ambiguous

_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_YEAR = r"(?:1[89]\d\d|20\d\d|21\d\d)"
_TIME = r"(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?"
_NO_NUMBER_BEFORE = r"(?<!(?<![^\W_])\d )(?<!(?<![^\W\d_])\d\d )(?<!\d\d\d )"
"""What is one of several numbers in a row is no date by itself; after "C7" or "D10", a cycle, it may be."""

_ISO = re.compile(rf"(?<![\w/.-]){_YEAR}([-/.]){_MONTH}\1{_DAY}(?:{_TIME})(?![\w/-]|[.]\d)")
_NUMERIC = re.compile(
    rf"(?<![\w/.+])(?:(?<!\d[,-])|(?=\d\d?/)){_DAY}[ ]{{0,2}}(?P<sep>[-/.|])[ ]{{0,2}}{_DAY}[ ]{{0,2}}"
    rf"(?:(?P=sep)|\|)[ ]{{0,2}}"
    rf"(?:{_YEAR}|\d\d)(?!\w|[/.-]\d)"
)
WHOLE = ((_ISO, "ISO date"), (_NUMERIC, "day, month and year"))
"""Dates by their shape alone."""

SPACED = re.compile(rf"(?<![\w.,+]){_DAY} {_MONTH} {_YEAR}(?![\w]| ?\d|[.,]\d)")
APART = re.compile(r"(?<![\w.,])(?<!\d )\d(?: \d){6,7}(?! ?\d)(?!\w)")
"""`2 9 0 2 1 9 9 5`, from the boxes of a form."""

COMPACT = re.compile(
    rf"(?<![\w.,+-])(?:(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2]){_YEAR}"
    rf"|{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]))(?![\w-]|[.,]\d)"
)
PARTIAL = re.compile(
    rf"(?<![\w/.,+]){_NO_NUMBER_BEFORE}(?:{_DAY}[ ]{{0,2}}/[ ]{{0,2}}{_MONTH}|{_MONTH}/{_DAY}|\d\d\.(?:0[1-9]|1[0-2]))"
    r"(?!\w|[/%]|[.,-]\d| ?[/-] ?\d)"
)
"""A day and a month."""

PADDED = re.compile(r"\d\d.{1,5}\d\d")
MONTH_NUMBER = re.compile(rf"(?<![\w/.,+-]){_NO_NUMBER_BEFORE}(?:0[1-9]|1[0-2])/{_YEAR}(?![\w/]|[.,]\d)")

_ORDINAL = r"(?:er|re|ère|ème|e|st|nd|rd|th|º|ª|°|o|a)?"
_OF = r"(?:de |del |do |of |d['’]|del? a[ñn]o |do ano )?"
_NO_UNIT = r"(?!\d|[.,]\d|[ ]?(?:mg|ml|g|kg|%|µg|ui|iu|mm|cm)\b)"
_NOT_A_MEASURE = r"(?![\d:.,/]|[ ]?(?:h|mg|ml|g|kg|%|µg|ui|iu|mm|cm)\b)"

_DAY_AFTER = re.compile(
    rf"[ ]{{1,2}}{_DAY}(?:(?P<ordinal>st|nd|rd|th)\b)?(?P<year>,? ?{_YEAR}(?!\w)|"
    rf",? ['’]\d\d(?!\w))?(?:{_NOT_A_MEASURE}|(?=[.,:](?!\d)))(?!\w)",
    re.IGNORECASE,
)
_YEAR_AFTER = re.compile(
    rf"[ /,-]{{0,2}}{_OF}(?:{_YEAR}{_NO_UNIT}|{YEAR_WORDS})(?!\w)|[ /-]{{0,2}}"
    rf"(?P<short>['’]?\d\d)(?:{_NOT_A_MEASURE}|(?=[.,:](?!\d)))(?!\w)",
    re.IGNORECASE,
)
_DAY_BEFORE = re.compile(rf"(?<![\w/])(?:{_DAY}{_ORDINAL}\.?|{DAY_WORDS})[ -]{{0,2}}(?:de |of |d['’])?$", re.IGNORECASE)
_PART_BEFORE = re.compile(
    r"(?<![\w/-])(?:fin|début|debut|mi|courant|late|early|mid|ende|anfang|mitte|finales|principios|fine|inizio|"
    r"eind|begin)"
    r"[ -](?:de |d['’]|of )?$",
    re.IGNORECASE,
)
RANGE_OF_MONTHS = re.compile(
    rf"(?<![\w/-]){NAME}[ ](?:et|à|au|and|to|until|bis|und|y|a|e|al|tot|en|do|i|-)[ ]$", re.IGNORECASE
)
RANGE_OF_DAYS = re.compile(
    rf"(?<![\w/.,]){_NO_NUMBER_BEFORE}{_DAY}{_ORDINAL}(?:[ ]?[-/][ ]?|[ ](?:et|à|au|and|to|bis|und|y|al|"
    rf"tot)[ ](?:le |el |il |the )?)$",
    re.IGNORECASE,
)


class Labelled(NamedTuple):
    """What a labelled date looks like, and its label, both near enough to be one."""

    shape: re.Pattern[str]
    label: re.Pattern[str]


LABELLED = Labelled(
    re.compile(r"(?<![\w/.-])\d[\d/.|-]{4,10}\d(?![\w/])"),
    re.compile(
        r"(?<!\w)(?:n[ée]{1,2}(?:\(e\))? le|naissance|nacimiento|nascimento|nascita|geboren am|geburtsdatum|"
        r"geboortedatum|urodzenia|birth|"
        r"dob|ddn|fecha de ingreso)[ ]{0,2}:?[ ]{0,3}$",
        re.IGNORECASE,
    ),
)


def after_month(text: str, name: re.Match[str]) -> tuple[int, bool, bool]:
    """Where a date ends that has the month `name`, and whether a year and a day follow the month."""
    ambiguous = is_ambiguous(name[0])
    day = _DAY_AFTER.match(text, name.end())
    if day and (day["year"] or day["ordinal"] or not ambiguous):
        return day.end(), bool(day["year"]), True
    year = _YEAR_AFTER.match(text, name.end())
    if year and not (year["short"] and ambiguous):
        return year.end(), True, False
    return name.end(), False, False


def before_month(text: str, name: re.Match[str], *, sure: bool) -> int | None:
    """Where a date begins whose day stands before the month; None if none does. `sure` is a date that has its year."""
    if not sure and is_ambiguous(name[0]):
        return None
    lead = text[max(0, name.start() - 24) : name.start()]
    found = _DAY_BEFORE.search(lead) or (None if is_ambiguous(name[0]) else _PART_BEFORE.search(lead))
    return None if found is None else name.start() - len(lead) + found.start()
