"""Ranges of numbers. Every expected value is arithmetic."""

import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.engine.digits import LARGEST, integers, numbers
from appliance.engine.gbnf import COMPACT_SPACE, Rules
from tests.engine.gbnf_reader import Reader


def reader(expression: str) -> Reader:
    return Reader(Rules(COMPACT_SPACE).grammar(expression).text)


@pytest.mark.parametrize(
    ("least", "most"),
    [(0, 0), (0, 9), (1, 12), (7, 7), (95, 105), (150, 1999), (-3, 3), (-120, -9), (-1, 0), (0, 12_345), (10, 99)],
)
def test_small_ranges_number_by_number(least: int, most: int):
    inside = reader(integers(least, most))
    around = range(min(least, -200) - 30, most + 200)
    for number in around if len(around) < 3000 else [*range(-50, 300), *range(most - 150, most + 150)]:
        assert inside.accepts(str(number)) == (least <= number <= most), number
    for text in ("00", "007", "+1", "-0", "", "1.0", "1e1"):
        assert not inside.accepts(text)


@given(st.integers(-(10**15), 10**15), st.integers(0, 10**12), st.integers(-(10**12), 10**12))
def test_any_range(least: int, width: int, step: int):
    most = least + width
    inside = reader(integers(least, most))
    for number in (least, most, least - 1, most + 1, least + width // 2, least + step):
        assert inside.accepts(str(number)) == (least <= number <= most)


@pytest.mark.parametrize(("least", "most"), [(5, None), (-5, None), (None, 5), (None, -5), (0, None), (None, 0)])
def test_one_sided_ranges(least: int | None, most: int | None):
    inside = reader(integers(least, most))
    for number in [*range(-120, 120), LARGEST, -LARGEST]:
        expected = (least is None or least <= number) and (most is None or number <= most)
        assert inside.accepts(str(number)) == expected, number
    assert not inside.accepts(str(LARGEST + 1))


RANGES = [(0, 1), (-1, 1), (0, 100), (5, 5), (-7, -2), (-2, 0), (3, None), (None, 3), (-3, None), (None, -3)]
DECIMALS = ["0", "0.5", "1", "1.0", "1.000", "1.1", "0.999", "-0.5", "-1", "-1.5", "-2", "-2.000", "-7.5", "2.5"]
MORE = ["3", "3.0", "3.01", "2.99", "5", "5.0", "5.5", "4.9", "100", "100.0", "99.999", "100.01", "-3", "-2.99", "-3.5"]


@pytest.mark.parametrize(("least", "most"), RANGES)
@pytest.mark.parametrize("text", [*DECIMALS, *MORE])
def test_decimals(least: int | None, most: int | None, text: str):
    number = Decimal(text)
    expected = (least is None or least <= number) and (most is None or number <= most)
    assert reader(numbers(least, most)).accepts(text) == expected


@pytest.mark.parametrize(("least", "most"), RANGES)
def test_what_is_written_is_in_the_range(least: int | None, most: int | None):
    inside = reader(numbers(least, most))
    chance = random.Random(7)
    for _ in range(50):
        number = Decimal(inside.sentence(chance))
        assert least is None or least <= number
        assert most is None or number <= most
