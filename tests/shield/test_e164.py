"""One number, however it is written. Sources: ITU-T E.164, RFC 3966; libphonenumber's examples are the oracle."""

import csv
from pathlib import Path

import pytest

from appliance.shield.e164 import e164

EXAMPLES = Path(__file__).parents[2].parent / "shared" / "pii" / "phone_examples.tsv"
COUNTRIES = {"FR", "BE", "CH", "LU", "DE", "AT", "ES", "PT", "IT", "NL", "GB", "IE", "PL", "US", "CA"}


@pytest.mark.skipif(not EXAMPLES.exists(), reason="the labelled data is not here")
def test_every_example_of_the_fifteen_countries_is_its_e164_form_in_each_of_its_spellings():
    with EXAMPLES.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["region"] in COUNTRIES]
    assert {row["region"] for row in rows} == COUNTRIES
    for row in rows:
        spellings = [row["e164"], row["international"], row["national"]]
        assert {e164(spelling, row["region"]) for spelling in spellings} == {row["e164"]}


@pytest.mark.skipif(not EXAMPLES.exists(), reason="the labelled data is not here")
def test_no_two_examples_are_one_number():
    with EXAMPLES.open(encoding="utf-8", newline="") as file:
        numbers = {row["e164"] for row in csv.DictReader(file, delimiter="\t")}
    assert len({e164(number, "FR") for number in numbers}) == len(numbers)


@pytest.mark.parametrize(
    "written",
    [
        "+33612345678", "+33 6 12 34 56 78", "0033 6 12 34 56 78", "+33 (0)6 12 34 56 78", "+33 ( 0 ) 6 12345678",
        "(+33) 6 12 34 56 78", "+33 06 12 34 56 78", "06.12.34.56.78", "06-12-34-56-78", "(06) 12 34 56 78",
        "0612345678",
    ],
)  # fmt: skip
def test_the_spellings_of_a_french_number_are_one(written: str):
    assert e164(written, "FR") == "+33612345678"


@pytest.mark.parametrize(
    ("written", "country", "number"),
    [
        ("020 7946 0958", "GB", "+442079460958"),
        ("+44 (0)20 7946 0958", "FR", "+442079460958"),
        ("(212) 555-0100", "US", "+12125550100"),
        ("1-212-555-0100", "US", "+12125550100"),
        ("011 33 6 12 34 56 78", "US", "+33612345678"),
        ("06 1234 5678", "IT", "+390612345678"),
        ("+39 06 1234 5678", "FR", "+390612345678"),
        ("+39 (0)6 1234 5678", "FR", "+390612345678"),
        ("+352 (0)621 123 456", "FR", "+352621123456"),
        ("+81 3-1234-5678", "FR", "+81312345678"),
    ],
)
def test_each_country_has_its_plan(written: str, country: str, number: str):
    assert e164(written, country) == number


@pytest.mark.parametrize("extension", ["ext. 12", "ext 12", "x12", "x 12", "poste 12", "poste: 12", "#12", ";ext=12"])
def test_an_extension_is_kept_apart(extension: str):
    assert e164(f"06 12 34 56 78 {extension}", "FR") == "+33612345678;ext=12"


@pytest.mark.parametrize(
    ("written", "country", "digits"),
    [
        ("020 7946 0958", "FR", "02079460958"),
        ("36 15", "FR", "3615"),
        ("0612345678", "BR", "0612345678"),
        ("", "FR", ""),
    ],
)
def test_what_is_not_understood_is_its_digits(written: str, country: str, digits: str):
    assert e164(written, country) == digits
