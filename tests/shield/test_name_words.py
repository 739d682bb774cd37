"""Runs of capitalised words. Expected values are read off the examples."""

import pytest

from appliance.shield.lexicon import lexicon
from appliance.shield.name_words import Kind, is_title, runs, words_of


def texts(text: str) -> list[str]:
    return [run[0] for run in runs(text)]


def kinds(text: str) -> list[Kind]:
    return [word.kind for word in words_of(text, 0, len(text), lexicon())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vu par Jean-Marc LEFÈVRE-DUVAL avec lui", ["Jean-Marc LEFÈVRE-DUVAL"]),
        ("Maria de la Cruz et Paul", ["Maria de la Cruz", "Paul"]),
        ("J.-P. Durand, P-A. Roux", ["J.-P. Durand", "P-A. Roux"]),
        ("qu'Emilien, d'Ornano", []),
        ("C'était l'été", ["C"]),
        ("Alzheimer’s O'Brien", ["Alzheimer", "O'Brien"]),
        ("mmHg x2A jean.Dupont", []),
    ],
)
def test_runs(text: str, expected: list[str]):
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Dr", Kind.TITLE), ("A.", Kind.INITIAL), ("P-A.", Kind.INITIAL), ("Emily", Kind.GIVEN), ("M.ª",
        Kind.GIVEN),
        ("Mark", Kind.WORD_GIVEN), ("Dupont", Kind.SURNAME), ("White", Kind.WORD_SURNAME), ("Zanderloo",
        Kind.UNKNOWN),
        ("De", Kind.PARTICLE), ("Hospital", Kind.WORD), ("Diagnosis", Kind.STOP), ("IgA", Kind.STOP),
        ("McDonald", Kind.SURNAME),
    ],
)  # fmt: skip
def test_what_a_word_can_be(text: str, kind: Kind):
    assert kinds(text) == [kind]


@pytest.mark.parametrize(
    ("text", "title"),
    [("M. Dupont", True), ("Pan American", False), ("Dr", True), ("Me Dupont", True)],
)
def test_a_title_that_is_another_word_as_often_needs_something_like_a_name(text: str, title: bool):
    assert is_title(words_of(text, 0, len(text), lexicon()), 0) is title
