"""The work of the medical rules grows with the text, no faster. The bound is generous and absolute."""

import time
from collections.abc import Callable, Iterable

import pytest

from appliance.shield import ages, dates, health_ids, records, urls, vins, zips
from appliance.shield.finding import Finding
from appliance.shield.names import Names

LENGTH = 100_000
MAX_SECONDS = 4
"""For that many characters: each takes 0.05 to 0.5 s here; what grows with the square would take a minute."""

RULES = (ages.find, dates.find, health_ids.find, records.find, urls.find, vins.find, zips.find)
UNITS = (
    "1",
    "1 ",
    "1.",
    "12/",
    "mai 1 ",
    "1|",
    "rue 75001 ",
    "MRN ",
    "| M | ",
    "A-1",
    "@",
    " ",
    "http://a)",
    "\n",
    "deux cent ",
)
NAME_UNITS = ("A", "A. ", "Dr ", "Jean ", "Jean-", "de la ", "nom : ", "A. B, ", "d'A", "É", " ", "(", "a", "A+")


@pytest.mark.parametrize("unit", UNITS)
def test_a_hostile_text_of_what_numbers_are_made_of(unit: str):
    text = unit * (LENGTH // len(unit))
    for rule in RULES:
        assert _seconds(rule, text) < MAX_SECONDS


@pytest.mark.parametrize("unit", NAME_UNITS)
def test_a_hostile_text_of_what_names_are_made_of(unit: str):
    names = Names()
    text = unit * (LENGTH // len(unit))
    assert _seconds(names.find, text) < MAX_SECONDS
    assert _seconds(names.known(["Jean Dupont"]), text) < MAX_SECONDS


def _seconds(rule: Callable[[str], Iterable[Finding]], text: str) -> float:
    started = time.perf_counter()
    for _ in rule(text):
        pass
    return time.perf_counter() - started
