"""A date as ISO 8601, however it is written: in digits, or spelled out in fr, en, de, es, it, nl, pt or pl.

For telling whether two dates are the same. Pure; must not look at a calendar or a clock. Sources: ISO 8601-1 (`--05-12`
without the year is its older truncated form, which RFC 6350 keeps); month names: Unicode CLDR.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

_LAST_YEAR_OF_THIS_CENTURY = 29
"""Of the years written with two digits: 30 to 99 are 19xx. Births are told so more often than days to come."""

_MONTHS = (
    "janvier january januar janner enero gennaio januari janeiro styczen stycznia",
    "fevrier february februar feber febrero febbraio februari fevereiro luty lutego",
    "mars march marz maerz marzo maart marco marzec marca",
    "avril april abril aprile kwiecien kwietnia",
    "mai may mayo maggio mei maio maj maja",
    "juin june juni junio giugno junho czerwiec czerwca",
    "juillet july juli julio luglio julho lipiec lipca",
    "aout august agosto augustus sierpien sierpnia",
    "septembre september septiembre setiembre settembre setembro wrzesien wrzesnia",
    "octobre october oktober octubre ottobre outubro pazdziernik pazdziernika",
    "novembre november noviembre novembro listopad listopada",
    "decembre december dezember diciembre dicembre dezembro grudzien grudnia",
)
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
"""How Polish often writes a month between day and year."""

_WEEKDAYS = (
    "lundi mardi mercredi jeudi vendredi samedi dimanche monday tuesday wednesday thursday friday saturday sunday "
    "montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag "
    "lunes martes miercoles jueves viernes sabado domingo lunedi martedi mercoledi giovedi venerdi sabato domenica "
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag segunda terca quarta quinta sexta feira "
    "poniedziałek wtorek sroda czwartek piatek sobota niedziela "
    "mon tue tues wed thu thur thurs fri sat sun lun mer jeu ven sam dim"
)
_ARTICLES = "le the of de del den der el il do da dnia roku r er ere eme e st nd rd th o a"
"""With the endings of ordinals, as in `1er` and `3rd`."""
_FILLERS = frozenset(f"{_WEEKDAYS} {_ARTICLES}".split(" "))
_FIRSTS = "premier first erste ersten erster primero primo primeiro pierwszy pierwszego"
_FIRST = frozenset(_FIRSTS.split(" "))

_SHORTEST_ABBREVIATION = 3
_PIECE = re.compile(r"[0-9]+|[^\W\d_]+|[^\w]+|_")
_BETWEEN = re.compile(r"[\s/.,'’°-]+")
_YEAR = re.compile(r"(?<![0-9])(?:1[6-9]|2[01])[0-9]{2}(?![0-9])")
_LONGEST_DATE = 80
"""Characters; a longer text is no date, whatever it holds."""


def _months() -> Mapping[str, int]:
    """Names, and their beginnings that belong to one month alone (`jui` is no month, `juil` is one)."""
    meanings: dict[str, set[int]] = {"mrt": {3}}
    for month, names in enumerate(_MONTHS, 1):
        for name in names.split():
            for length in range(_SHORTEST_ABBREVIATION, len(name) + 1):
                meanings.setdefault(name[:length], set()).add(month)
    short = {name: months.pop() for name, months in meanings.items() if len(months) == 1}
    full = {name: month for month, names in enumerate(_MONTHS, 1) for name in names.split()}
    return short | full | {name: month for month, name in enumerate(_ROMAN, 1)}


_MONTH = _months()


def iso_date(text: str, country: str) -> str | None:
    """`1985-05-12`, `1985-05`, `1985`, or `--05-12` for a day without a year; None for what is not understood.

    `text` has neither accents nor capitals. `country` (ISO 3166, two letters): in the US the month comes first where
    both orders are possible.
    """
    if len(text) > _LONGEST_DATE:
        return None
    numbers: list[str] = []
    months: list[int] = []
    for piece in _PIECE.findall(text):
        if piece[0].isdigit():
            numbers.append(piece)
        elif piece in _FIRST:
            numbers.append("1")
        elif piece in _MONTH:
            months.append(_MONTH[piece])
        elif piece not in _FILLERS and not _BETWEEN.fullmatch(piece):
            return None
    if len(months) > 1:
        return None
    return _named(numbers, months[0]) if months else _in_digits(numbers, month_first=country == "US")


def year_of(text: str) -> str:
    """The year that a text names; empty if it names none, or several."""
    years = set(_YEAR.findall(text))
    return years.pop() if len(years) == 1 else ""


def _named(numbers: Sequence[str], month: int) -> str | None:
    match numbers:
        case [one] if _is_year(one):
            return _iso([(one, month, 0)])
        case [day]:
            return _iso([("", month, int(day))])
        case [year, day] if _is_year(year):
            return _iso([(year, month, int(day))])
        case [day, year]:
            return _iso([(year, month, int(day))])
        case _:
            return None


def _in_digits(numbers: Sequence[str], *, month_first: bool) -> str | None:
    match numbers:
        case [one] if len(one) == 8:
            return _iso(
                [
                    (one[:4], int(one[4:6]), int(one[6:])) if _YEAR.match(one[:4]) else ("", 0, 0),
                    (one[4:], int(one[2:4]), int(one[:2])),
                ]
            )
        case [one] if len(one) == 4:
            return one
        case [year, month, day] if _is_year(year):
            return _iso([(year, int(month), int(day)), (year, int(day), int(month))])
        case [a, b, year]:
            return _iso(_either(year, int(a), int(b), month_first))
        case [year, month] if _is_year(year):
            return _iso([(year, int(month), 0)])
        case [month, year] if _is_year(year):
            return _iso([(year, int(month), 0)])
        case [a, b]:
            return _iso(_either("", int(a), int(b), month_first))
        case _:
            return None


def _either(year: str, a: int, b: int, month_first: bool) -> Sequence[tuple[str, int, int]]:
    orders = [(year, b, a), (year, a, b)]
    return orders[::-1] if month_first else orders


def _is_year(number: str) -> bool:
    return len(number) == 4 or (len(number) == 2 and int(number) > 31)


def _iso(readings: Iterable[tuple[str, int, int]]) -> str | None:
    """The first reading that can be: a year as written (may be empty), a month, and a day, 0 if none is told."""
    for year, month, day in readings:
        if 1 <= month <= 12 and 0 <= day <= 31 and len(year) in (0, 2, 4):
            return (_century(year) or "-") + f"-{month:02}" + (f"-{day:02}" if day else "")
    return None


def _century(year: str) -> str:
    if len(year) != 2:
        return year
    return ("20" if int(year) <= _LAST_YEAR_OF_THIS_CENTURY else "19") + year
