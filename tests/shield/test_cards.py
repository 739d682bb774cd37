"""Payment cards. Sources: shield.md ("Detection"); the numbers are published ones for tests."""

import pytest

from appliance.shield.cards import find
from tests.shield.data import labelled_json
from tests.shield.found import values

PUBLISHED = {
    "Visa": ["4111111111111111", "4012888888881881", "4222222222222", "4000000000000000006"],
    "Mastercard": ["5555555555554444", "5105105105105100", "2223003122003222", "2720992593319364"],
    "American Express": ["378282246310005", "371449635398431", "341111111111111"],
    "Diners Club": ["30569309025904", "38520000023237", "36227206271667"],
    "Discover": ["6011111111111117", "6011000990139424", "6445644564456445"],
    "JCB": ["3530111333300000", "3566002020360505"],
    "UnionPay": ["6200000000000005", "6200000000000047"],
    "Maestro": ["6759649826438453", "5018000000000009"],
}


@pytest.mark.parametrize(("issuer", "numbers"), PUBLISHED.items())
def test_published_numbers_are_found_alone_and_grouped(issuer: str, numbers: list[str]):
    for number in numbers:
        assert values(find, f"pay with {number}.") == [number]
        if len(number) in (16, 19):
            for sign in (" ", "-"):
                grouped = sign.join(number[place : place + 4] for place in range(0, len(number), 4))
                assert values(find, f"pay with {grouped}, ok") == [grouped]


@pytest.mark.parametrize("grouped", ["3782 822463 10005", "3782-822463-10005", "3056 930902 5904"])
def test_groups_of_six(grouped: str):
    assert values(find, grouped) == [grouped]


def test_the_rule_names_the_issuer():
    assert [each.rule for each in find("4111111111111111 3530111333300000")] == [
        "Luhn and Visa's range",
        "Luhn and JCB's range",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111112",
        "card 4111111111111112",
        "1234567812345670",
        "0.4111111111111111",
        "4111111111111111.5",
        "a4111111111111111",
        "4111111111111111a",
        "x_4111111111111111",
        "12ab-4111111111111111",
        "fuzzer-4111111111111111",
        "https://example.com/case/4111111111111111",
        "41111111111111110000000",
        "1111 4111 1111 1111 1111",
        "4111 1111 1111 1111 1111",
        "522c 5281 5281 5290 5293",
        "SIRET 38012986600048",
        "38012986600048 (SIRET)",
        "Siren/Siret : 36227206271667",
        "411111111111111",
    ],
)
def test_what_is_none(text: str):
    assert values(find, text) == []


def test_companies_of_the_vectors_are_none_beside_their_word():
    numbers = labelled_json("number_vectors.json")
    for each in [*numbers["fr_siret"], *numbers["fr_siren"]]:
        assert values(find, f"SIRET {each}") == []


def test_articles_books_and_machines_of_the_vectors_are_none():
    numbers = labelled_json("number_vectors.json")
    found = {each: values(find, each) for kind in ("isbn", "imei", "luhn") for each in numbers[kind]}
    assert {each: value for each, value in found.items() if value} == {}


def test_lengths_that_maestro_seldom_has_need_a_word():
    assert values(find, "id 5018000000000000009") == []
    number = "6304000000000000"
    assert values(find, f"id {number}") == [number]
    assert [each.context for each in find("Maestro card 6799990100000000019")] == ["card"]
    assert values(find, "number 6799990100000000019") == []


@pytest.mark.parametrize(
    "text", ["card-4111111111111111", "https://example.com/?pan=4111111111111111", "x,4111111111111111,y"]
)
def test_labels_queries_and_fields(text: str):
    assert values(find, text) == ["4111111111111111"]


def test_what_follows_a_card_is_no_part_of_it():
    assert values(find, "4111 1111 1111 1111 123") == ["4111 1111 1111 1111"]
    assert values(find, "4111 1111 1111 1111 12/27") == ["4111 1111 1111 1111"]
