"""Words around telephone numbers. Source: shield.md ("Detection"): the languages of the fifteen countries."""

import unicodedata

import pytest

from appliance.shield.phone_words import AFTER, NUMBERED, OTHER, PHONE, REQUESTS, SIGNS


def test_no_word_says_both():
    assert not PHONE & REQUESTS
    assert not (PHONE | REQUESTS) & OTHER


def test_what_may_have_a_telephone_has_no_number_right_after_it():
    assert NUMBERED < OTHER
    assert {"client", "customer", "invoice", "order"} <= OTHER - NUMBERED


@pytest.mark.parametrize("words", [PHONE, REQUESTS, OTHER, AFTER])
def test_words_are_written_as_the_text_is_read(words: frozenset[str]):
    for word in words:
        assert word == word.lower()
        assert word.isalpha()
        assert word.isascii()


@pytest.mark.parametrize(
    "word",
    ["phone", "telephone", "telefon", "telefono", "telefone", "telefoon", "fax", "gsm", "handy", "movil", "cellulare"],
)
def test_the_word_of_each_language_is_there(word: str):
    assert word in PHONE


def test_signs_are_single_pictures():
    assert {unicodedata.category(sign) for sign in SIGNS} == {"So", "Co"}
