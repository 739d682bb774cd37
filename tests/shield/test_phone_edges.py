"""What stands around a number. Source: shield.md ("Detection")."""

import re

import pytest

from appliance.shield.phone_edges import decimal_or_glued, extended, in_longer, row_after, row_before

SHAPES = re.compile("0[1-9](?: [0-9]{2}){4}")
NUMBER = "01 42 68 53 00"


@pytest.mark.parametrize(
    "around",
    ["{}", "tel {}.", "({})", '"{}"', "{}, x", "{} 75015", "12 rue, {}", "{}; {}", "{}merci", "{} x12", "{} de 9 h"],
)
def test_what_may_stand_around(around: str):
    text = around.format(NUMBER, NUMBER)
    start = text.index(NUMBER)
    assert not in_longer(text, start, start + len(NUMBER), -1, SHAPES)


@pytest.mark.parametrize(
    "around",
    ["1.{}", "3-{}", "10:{}", "A1-{}", "{}.1", "{}-2", "{}:30", "{}a", "{}_", "12 {}", "1a {}", "{} 12", "{} 9c"],
)
def test_what_makes_it_a_part(around: str):
    text = around.format(NUMBER)
    start = text.index(NUMBER)
    assert in_longer(text, start, start + len(NUMBER), -1, SHAPES)


def test_right_after_another_number_nothing_before_counts():
    text = f"{NUMBER} {NUMBER}"
    assert not in_longer(text, 15, 29, 14, SHAPES)
    assert in_longer(text, 15, 29, -1, SHAPES)


def test_rows():
    assert row_before("53 01", 3)
    assert not row_before("531 01", 4)
    assert not row_before("de 01", 3)
    assert not row_before("01", 0)
    assert row_after("00 53", 2, SHAPES)
    assert not row_after(f"00 {NUMBER}", 2, SHAPES)
    assert not row_after("00", 2, SHAPES)


@pytest.mark.parametrize(
    "extension", ["x12", " ext. 123", " ext 7", " poste 12", ", ext. 9", " Durchwahl 45", " #12", " int. 3"]
)
def test_an_extension_belongs_to_the_number(extension: str):
    assert extended(NUMBER + extension + ".", len(NUMBER)) == len(NUMBER + extension)


@pytest.mark.parametrize("other", ["", " xy", " ext", " extra 12", " x1234567", " 12"])
def test_what_is_no_extension(other: str):
    assert extended(NUMBER + other, len(NUMBER)) == len(NUMBER)


@pytest.mark.parametrize(
    ("after", "part"),
    [("", False), (".", False), (", 1", False), ("x12", False), (".5", True), (":30", True), ("a", True)],
)
def test_decimals_times_and_letters(after: str, part: bool):
    assert decimal_or_glued("12" + after, 2) is part
