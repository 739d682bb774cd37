"""IBANs. Sources: ISO 13616; the vectors and the oracle are python-stdnum's."""

import re

import pytest
from stdnum import iban

from appliance.shield.iban_structures import STRUCTURES
from appliance.shield.ibans import find
from tests.shield.data import labelled_json
from tests.shield.found import values


def test_the_vectors_are_found_as_the_oracle_judges_them():
    vectors = [each for each in labelled_json("number_vectors.json")["iban"] if each]
    expected = {each: [each] if iban.is_valid(each) else [] for each in vectors}
    assert {each: values(find, f"to {each}, now") for each in vectors} == expected


def test_belgian_ones_stop_before_their_bic():
    vectors = [each for each in labelled_json("number_vectors.json")["be_iban"] if each]
    assert {each: values(find, each) for each in vectors if not values(find, each)} == {}
    assert all(len(iban.compact(values(find, each)[0])) == 16 for each in vectors)


@pytest.mark.parametrize("country", sorted(STRUCTURES))
def test_every_country_of_the_registry_is_found_in_any_grouping_and_case(country: str):
    value = made(country)
    grouped = " ".join(value[place : place + 4] for place in range(0, len(value), 4))
    for each in (value, value.lower(), grouped, grouped.replace(" ", "-")):
        assert values(find, f"({each})") == [each]


def made(country: str) -> str:
    """A valid IBAN of zeros, and of letters where the structure wants them; its check digits are the oracle's."""
    parts = re.findall(r"\[(A-Z|0-9|A-Z0-9)\]\{(\d+)\}", STRUCTURES[country].account.pattern)
    account = "".join(("A" if kind == "A-Z" else "0") * int(count) for kind, count in parts)
    return country + iban.calc_check_digits(country + "00" + account) + account


@pytest.mark.parametrize(
    "text",
    [
        "DE88370400440532013000",
        "XDE89370400440532013000",
        "DE893704004405320130001",
        "DE89 3704 0044 0532 0130",
        "ZZ89370400440532013000",
        "IBAN DE8937040044053201300",
        "the de 50 m of 2023",
    ],
)
def test_what_is_none(text: str):
    assert values(find, text) == []


def test_after_its_label_a_wrong_check_digit_is_a_typo():
    (found,) = find("mon iban : FR77 3000 6000 0112 3456 7890 189 BIC AGRIFRPP")
    assert (found.start, found.end, found.context) == (11, 44, "iban")
    assert values(find, "IBANFR7630006000011234567890189") == ["FR7630006000011234567890189"]
    assert values(find, "No IBAN: De 12 personnes et 34 enfants ici") == []
