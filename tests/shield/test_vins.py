"""Vehicle numbers. Vectors: the examples of 49 CFR 565.15 and of its literature (1M8GDM9AXKP042788)."""

import pytest

from appliance.shield.vins import find, is_vin


@pytest.mark.parametrize("value", ["1M8GDM9AXKP042788", "1HGCM82633A004352", "5GZCZ43D13S812715"])
def test_a_right_check_digit(value: str):
    assert is_vin(value)
    assert is_vin(value.lower())


@pytest.mark.parametrize("value", ["1M8GDM9A1KP042788", "11111111111111111", "1HGCM82633A00435", "AAAAAAAAAAAAAAAAA"])
def test_a_wrong_one(value: str):
    assert not is_vin(value)


@pytest.mark.parametrize("position", range(17))
def test_a_slip_of_one_digit_is_noticed(position: int):
    value = "1HGCM82633A004352"
    other = "7" if value[position] != "7" else "1"
    assert not is_vin(value[:position] + other + value[position + 1 :]) or value[position] in "GPX"


@pytest.mark.parametrize(
    "text", ["x1HGCM82633A004352", "1HGCM82633A004352x", "1HGCM82633A004352-1", "1HGCM82633A00435O"]
)
def test_what_is_part_of_something_longer_or_has_a_letter_that_none_has(text: str):
    assert list(find(text)) == []


def test_a_label_masks_a_wrong_one():
    assert [(each.rule, each.context) for each in find("VIN: 1HGCM82633A004353")] == [("label", "vin")]
