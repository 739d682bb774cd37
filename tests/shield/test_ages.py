"""Ages. Source: HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i)(C): all ages over 89 are identifiers."""

import pytest

from appliance.shield.ages import find


def found(text: str) -> list[str]:
    return [text[each.start : each.end] for each in find(text)]


@pytest.mark.parametrize(
    ("text", "ages"),
    [
        ("homme de 90 ans", ["90"]),
        ("homme de 89 ans", []),
        ("a 91-year-old, a 92 year old, a 93 yo man and a 94y/o", ["91", "92", "93", "94"]),
        ("aged 95, Age: 96", ["95", "96"]),
        ("âgée de 97 ans", ["97"]),
        ("98 Jahre alt, 99-jähriger", ["98", "99"]),
        ("100 años, 101 anni, 102 anos, 103 jaar, 104 lata", ["100", "101", "102", "103", "104"]),
        ("121 years of age", ["121"]),
    ],
)
def test_the_number_alone_is_found_from_ninety_on(text: str, ages: list[str]):
    assert found(text) == ages


@pytest.mark.parametrize(
    "text",
    [
        "90 mg",
        "95 %",
        "depuis 95 ans",
        "for 100 years",
        "130 ans",
        "age 90 days",
        "190 ans",
        "90.5 ans",
        "1990",
        "FC 98",
        "lat 120 lat/min",
    ],
)
def test_other_numbers_are_no_ages(text: str):
    assert found(text) == []


def test_the_word_that_decided_is_told():
    assert [each.context for each in find("93 ans et edad: 94")] == ["ans", "edad"]
