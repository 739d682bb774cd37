"""Postal codes. Source: the shapes of the national posts; US states by USPS; HIPAA Safe Harbor (B)."""

import pytest

from appliance.shield.zips import find


def found(text: str) -> list[str]:
    return [text[each.start : each.end] for each in find(text)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("47-83 Boulevard de l'Hôpital, 75013 Paris", "75013"),
        ("19 AVENUE DE LA REPUBLIQUE, 92 100 BOULOGNE-BILLANCOURT", "92 100"),
        ("7 rue Blaise Pascal 65000 dans la périphérie", "65000"),
        ("habite à Vincennes dans le 94300.", "94300"),
        ("F-67000 Strasbourg, rue du Dôme", "67000"),
        ("Musterstraße 12, 80331 München", "80331"),
        ("Via Roma 3, 00184 Roma", "00184"),
        ("Calle Mayor 5, 28013 Madrid", "28013"),
        ("Damstraat 4, 1012 JL Amsterdam", "1012 JL"),
        ("Rua Augusta 8, 1100-053 Lisboa", "1100-053"),
        ("ul. Długa 4, 00-238 Warszawa", "00-238"),
        ("Bahnhofstrasse 1, 8001 Zürich", "8001"),
        ("Springfield, IL 62701", "62701"),
        ("IL 62701-1234", "62701-1234"),
        ("zip code 94103", "94103"),
        ("PLZ: 10115", "10115"),
        ("CP: 28035.", "28035"),
        ("EC1A 1BB", "EC1A 1BB"),
    ],
)
def test_a_code_in_an_address(text: str, code: str):
    assert found(text) == [code]


@pytest.mark.parametrize(
    "text",
    [
        "12345",
        "plaquettes 75000",
        "CRP 12345, plaquettes 150000",
        "en 2019 Paris",
        "QQ1 1AA",
        "T4 3CM",
        "rue 12345678 Paris",
        "12345.6 Paris",
        "order 75001-22",
    ],
)
def test_what_is_none(text: str):
    assert found(text) == []


def test_the_word_that_decided_is_told():
    [finding] = find("12 rue de la Paix, 75002 Paris")
    assert (finding.rule, finding.context) == ("before a city", "rue")
