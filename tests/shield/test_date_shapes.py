"""The shapes of dates by themselves. Source: ISO 8601 and the habits that shield.md names."""

import re

import pytest

from appliance.shield.date_shapes import APART, COMPACT, PARTIAL, WHOLE, after_month, before_month
from appliance.shield.months import month_words


@pytest.mark.parametrize(
    ("text", "rule"),
    [("2022-07-19", "ISO date"), ("19/07/2022", "day, month and year"), ("7-19-22", "day, month and year")],
)
def test_a_whole_date_has_one_shape(text: str, rule: str):
    assert [name for shape, name in WHOLE if shape.fullmatch(text)] == [rule]


@pytest.mark.parametrize("text", ["31121995", "19951231"])
def test_eight_digits_in_either_order(text: str):
    assert COMPACT.fullmatch(text)


@pytest.mark.parametrize(
    ("shape", "text"),
    [(COMPACT, "31131995"), (COMPACT, "00121995"), (APART, "1 2 3 4 5 6"), (PARTIAL, "32/01"), (PARTIAL, "3.1")],
)
def test_what_has_none(shape: re.Pattern[str], text: str):
    assert shape.fullmatch(text) is None


@pytest.mark.parametrize(
    ("text", "end", "has_year", "has_day"),
    [
        ("mai 2020, x", 8, True, False),
        ("May 5th x", 7, False, True),
        ("January 22, 2023 x", 16, True, True),
        ("mai x", 3, False, False),
        ("may 5 mg", 3, False, False),
    ],
)
def test_what_follows_a_month(text: str, end: int, has_year: bool, has_day: bool):
    [name] = month_words(text)
    assert after_month(text, name) == (end, has_year, has_day)


@pytest.mark.parametrize(
    ("text", "start"), [("le 3 mai", 3), ("le 3 de mayo", 3), ("premier juin", 0), ("fin juin", 0), ("en juin", None)]
)
def test_what_stands_before_it(text: str, start: int | None):
    [name] = month_words(text)
    assert before_month(text, name, sure=False) == start
