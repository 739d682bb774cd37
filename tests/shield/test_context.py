"""Words around a place. Source: shield.md ("Detection": about 40 characters of context)."""

import pytest

from appliance.shield.context import (
    REACH,
    escape_before,
    glued_after,
    glued_before,
    in_code,
    word_around,
    word_before,
    words_after,
    words_before,
)


def test_the_nearest_word_is_first_without_accents_and_case():
    assert words_before("Mon Téléphone (Privé) : 06", 24) == ["prive", "telephone", "mon"]
    assert words_after("06 PORTABLE, été", 2) == ["portable", "ete"]


def test_accents_that_stand_apart_are_removed_too():
    assert words_before("te\u0301le\u0301phone 06", 12) == ["telephone"]


def test_a_word_that_the_reach_cuts_is_none():
    text = "hotel" + " " * (REACH - 3) + "06"
    assert words_before(text, len(text) - 2) == []
    assert words_before("x " + text, len(text)) == []
    assert words_after("06" + " " * (REACH - 3) + "telephone", 2) == []


def test_digits_and_underscores_part_words():
    assert words_before("phone_number2=06", 14) == ["number", "phone"]


def test_the_nearest_of_the_wanted_words():
    text = "tel or fax: 06 (mobile)"
    assert word_before(text, 12, {"tel", "fax"}) == "fax"
    assert word_before(text, 12, {"mobile"}) == ""
    assert word_around(text, 12, 14, {"mobile", "tel"}) == "tel"
    assert word_around(text, 12, 14, {"mobile"}) == "mobile"
    assert word_around(text, 12, 14, {"gsm"}) == ""


@pytest.mark.parametrize(
    ("text", "start", "glued"),
    [
        ("a06", 1, True),
        ("_06", 1, True),
        (" 06", 1, False),
        ("06", 0, False),
        ("\\n06", 2, False),
        ("xn06", 2, True),
    ],
)
def test_what_a_value_may_be_glued_to(text: str, start: int, glued: bool):
    assert glued_before(text, start) is glued


def test_what_may_be_glued_to_a_value():
    assert glued_after("06a", 2)
    assert glued_after("06_", 2)
    assert not glued_after("06.", 2)
    assert not glued_after("06", 2)


def test_written_out_line_breaks_and_tabs():
    assert escape_before("\\t06", 2)
    assert not escape_before("\\x06", 2)
    assert not escape_before("n06", 1)


@pytest.mark.parametrize(
    ("text", "start", "code"),
    [
        ("FA-2024-06", 8, True),
        ("7f3a-06", 5, True),
        ("card-06", 5, False),
        ("-06", 1, False),
        ("card 06", 5, False),
        ("1" + "x" * 1000 + "-06", 1002, False),
    ],
)
def test_a_hyphen_after_digits_makes_a_code(text: str, start: int, code: bool):
    assert in_code(text, start) is code
