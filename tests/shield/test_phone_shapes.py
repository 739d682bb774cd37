"""Spellings and lengths of telephone numbers. The oracle is `phonenumbers`; the examples are its own."""

import csv
import re

import phonenumbers
import pytest

from appliance.shield.phone_shapes import FRENCH, LENGTHS, NORTH_AMERICAN, home_pattern, trunk_pattern
from tests.shield.data import labelled


def examples() -> list[dict[str, str]]:
    with labelled("phone_examples.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_every_calling_code_is_known():
    assert {int(code) for code in LENGTHS} == set(phonenumbers.COUNTRY_CODE_TO_REGION_CODE)


def test_every_example_has_a_length_that_is_possible():
    for each in examples():
        number = phonenumbers.parse(each["e164"])
        national = len(each["e164"]) - 1 - len(str(number.country_code))
        assert national in LENGTHS[str(number.country_code)], each


@pytest.mark.parametrize("region", ["FR", "BE", "CH", "DE", "AT", "NL", "GB"])
def test_national_examples_with_a_trunk_0_have_a_known_spelling(region: str):
    patterns = re.compile(f"{FRENCH}|{trunk_pattern()}")
    national = [each["national"] for each in examples() if each["region"] == region]
    assert [each for each in national if not patterns.fullmatch(each)] == []


@pytest.mark.parametrize("region", ["ES", "PT", "PL", "LU"])
def test_national_examples_without_one_have_a_spelling_at_home(region: str):
    pattern = re.compile(home_pattern(region))
    national = [each["national"] for each in examples() if each["region"] == region]
    assert [each for each in national if not pattern.fullmatch(each)] == []


def test_a_country_that_always_writes_a_0_or_is_unknown_has_none_of_its_own():
    assert home_pattern("FR") == home_pattern("XX") == ""


@pytest.mark.parametrize(
    "number", ["(201) 555-0123", "(201)555-0123", "201-555-0123", "201.555.0123", "1-201-555-0123"]
)
def test_north_american_spellings(number: str):
    assert re.fullmatch(NORTH_AMERICAN, number)


@pytest.mark.parametrize("number", ["201 555 0123", "2015550123", "123-456-7890", "201.155.0123", "20-1555-0123"])
def test_spellings_that_amounts_and_codes_have_too(number: str):
    assert not re.fullmatch(NORTH_AMERICAN, number)


@pytest.mark.parametrize(
    ("number", "french"),
    [
        ("01 42 68 53 00", True),
        ("01.42-68/53 00", True),
        ("0142 68 53 00", True),
        ("01 4268 53 00", True),
        ("01 42 68 5300", True),
        ("O1.42.68.53.OO", True),
        ("00 42 68 53 00", False),
        ("01 426 853 00", False),
        ("0142 6853 00", False),
        ("01 42 68 53", False),
    ],
)
def test_french_pairs(number: str, french: bool):
    assert bool(re.fullmatch(FRENCH, number)) is french


def test_the_longest_shape_wins():
    found = re.match(trunk_pattern(), "030 12345678")
    assert found
    assert found[0] == "030 12345678"
