"""Numbers with a calling code. Sources: shield.md ("Detection"), ITU-T E.164, RFC 5733 (2.5)."""

import re

import pytest

from appliance.shield.phone_prefixes import PATTERN, prefixed

NO_SHAPES = re.compile(r"(?!)")


def found(text: str) -> str:
    begins = re.search(PATTERN, text)
    finding = begins and prefixed(text, begins.start(), begins.end(), NO_SHAPES)
    return text[finding.start : finding.end] if finding else ""


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("+33612345678", "+33612345678"),
        ("+33 6 12 34 56 78 75015 Paris", "+33 6 12 34 56 78"),
        ("+1 555-123-4567 2024", "+1 555-123-4567"),
        ("+44 (0)20 7946 0958", "+44 (0)20 7946 0958"),
        ("+33 20 19 39 00", "+33 20 19 39 00"),
        ("+33.612345678", "+33.612345678"),
        ("+247 62889", "+247 62889"),
        ("0033 6 12 34 56 78", "0033 6 12 34 56 78"),
        ("0039 02 1234 5678", "0039 02 1234 5678"),
        ("tel 0033612345678", "0033612345678"),
        ("tel 0049 0151 23456789", "0049 0151 23456789"),
    ],
)
def test_it_ends_with_a_group_where_it_is_possible(text: str, number: str):
    assert found(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "+33612345",
        "+336123456789",
        "+999612345678",
        "+35236450.6",
        "+33612345678.5",
        "0033612345678",
        "0049 0151 23456789",
        "00.272 25746123",
        "0031 2044 0033",
        "00 81 12 20 80 11 13 20 80 77 12",
        "+ 33 6 12 34 56 78",
        "x+33612345678",
        "++33612345678",
    ],
)
def test_what_is_none(text: str):
    assert found(text) == ""
