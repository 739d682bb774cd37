"""The words near a place. Expected values are read off the examples."""

import re

from appliance.shield.med_context import before, nearest, numbers, words_in


def test_what_stands_before_is_cut_at_the_reach_and_at_the_beginning():
    assert before("abcdef", 4, 2) == "cd"
    assert before("abcdef", 1, 9) == "a"


def test_words_are_folded():
    assert words_in("N° de Sécurité: 5") == ["n", "de", "securite"]


def test_the_last_match_is_the_nearest():
    assert nearest(re.compile("a."), "a1 a2: ") == "a2"
    assert nearest(re.compile("x"), "a1") == ""


def test_numbers_are_whole():
    assert [number[0] for number in numbers("a12 3.45")] == ["12", "3", "45"]
