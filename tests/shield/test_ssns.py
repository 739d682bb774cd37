"""Social security numbers. Source: shield.md ("Detection"); the oracles are python-stdnum's SSN and ITIN."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stdnum.us import ssn

from appliance.shield.ssns import find
from tests.shield.found import values


@given(st.integers(0, 899), st.integers(0, 99), st.integers(0, 9999))
def test_with_separators_as_the_oracle_judges_it_but_for_its_list_of_samples(area: int, group: int, serial: int):
    number = f"{area:03}-{group:02}-{serial:04}"
    expected = [number] if ssn.is_valid(number) or number in SAMPLES else []
    assert values(find, f"id {number}.") == expected


SAMPLES = ("078-05-1120", "457-55-5462", "219-09-9999")
"""Published ones, which the oracle lists as invalid: in a prompt they stand for somebody all the same."""


@pytest.mark.parametrize("text", ["SSN 219 09 9999", "social security no. 219.09.9999", "219 09 9999 is my SSN"])
def test_other_separators_beside_the_word(text: str):
    assert len(values(find, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "219 09 9999",
        "219.09.9999",
        "219099999",
        "order 219099999",
        "security 219099999",
        "SSN 900099999",
        "SSN 000099999",
        "666-12-3456",
        "000-12-3456",
        "219-00-9999",
        "219-09-0000",
        "219-09 9999",
        "1219-09-9999",
        "219-09-99990",
        "12-219-09-9999",
        "219-09-9999-1",
        "x219-09-9999",
    ],
)
def test_what_is_none(text: str):
    assert values(find, text) == []


def test_a_taxpayers_number_needs_its_separators():
    assert values(find, "987-65-4321") == ["987-65-4321"]


def test_the_word_is_told():
    assert [each.context for each in find("SSN: 219099999")] == ["ssn"]
    assert [each.context for each in find("His social security number is 219-09-9999")] == ["social security"]
