"""The names of the months in eight languages, and days and years spelled out in French: the words of dates.

Must not know how a date is put together. Source: CLDR (wide and abbreviated month names).
"""

import re
from collections.abc import Iterable, Iterator

_MONTHS = {
    1: "january jan janvier janv januar jänner enero ene gennaio gen januari janeiro stycznia styczeń sty",
    2: "february feb février fevrier févr fevr fév fev februar febrero febbraio februari fevereiro lutego luty lut",
    3: "march mar mars märz maerz mrz marzo maart mrt março marco marca marzec",
    4: "april apr avril avr abril abr aprile kwietnia kwiecień kwi",
    5: "may mai mayo maggio mag mei maio maja maj",
    6: "june jun juin juni junio giugno giu junho czerwca czerwiec cze",
    7: "july jul juillet juil juli julio luglio lug julho lipca lipiec lip",
    8: "august aug août aout agosto ago augustus sierpnia sierpień sie",
    9: "september sep sept septembre septiembre setiembre settembre set setembro września wrzesień wrz",
    10: "october oct octobre oktober okt octubre ottobre ott outubro out października październik paź",
    11: "november nov novembre noviembre novembro listopada listopad lis",
    12: "december dec décembre decembre déc dezember dez diciembre dic dicembre dezembro grudnia grudzień gru",
}
_AMBIGUOUS = frozenset({
    "may", "mar", "set", "out", "ago", "gen", "mag", "lis", "sie", "ene", "sty", "maj", "mei", "cze", "lip", "lut",
})  # fmt: skip
"""Months that are other words too, in one of the languages: only a year makes them months."""


def _any(names: Iterable[str]) -> str:
    return "(?:" + "|".join(sorted(names, key=len, reverse=True)) + r")(?![^\W\d_])\.?"


_NAMES = frozenset(name for names in _MONTHS.values() for name in names.split())
NAME = _any(_NAMES)
"""Matches one; to be used without regard to case."""

_WRITTEN = frozenset(form for name in _NAMES for form in (name, name.title(), name.upper()))
_WORD = re.compile(r"[^\W\d_]{3,12}")
_MONTH = re.compile(rf"(?<![^\W\d_]){NAME}", re.IGNORECASE)


def month_words(text: str) -> Iterator[re.Match[str]]:
    """The names of months in a text, with the dot of a short one."""
    # Most texts have none, and bare words are had sooner than matches.
    if not _WRITTEN.isdisjoint(_WORD.findall(text)):
        for word in _WORD.finditer(text):
            if word[0] in _WRITTEN and (name := _MONTH.match(text, word.start())):
                yield name


def is_ambiguous(written: str) -> bool:
    """Whether the name is as likely another word: `may`, `set`. With a capital, `May` is a month."""
    return written != "May" and written.lower().rstrip(".") in _AMBIGUOUS


_UNITS = "un|une|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize"
_TENS = "vingt|trente|quarante|cinquante|soixante|septante|octante|nonante"
_NUMBER_WORD = rf"(?:{_UNITS}|{_TENS}|mille|mil|cents?|vingts|et|\d{{1,4}})"
DAY_WORDS = rf"(?:premier|(?:{_TENS})(?:[ -]et[ -]un|[ -](?:{_UNITS}))?|{_UNITS})"
YEAR_WORDS = rf"(?:mille|mil|deux[ -]mille?)(?:[ -]{_NUMBER_WORD}){{0,8}}"
"""French: `deux`, `vingt et un`; `mille neuf cent soixante-dix-huit`."""
