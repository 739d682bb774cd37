"""Names in one run of words. Expected values are read off the examples; the names are fictitious."""

import pytest

from appliance.shield.lexicon import lexicon
from appliance.shield.name_rules import names_in
from appliance.shield.name_words import words_of


def names(text: str) -> list[tuple[str, str]]:
    words = words_of(text, 0, len(text), lexicon())
    return [
        (text[words[found.first].start : words[found.last - 1].end], found.rule) for found in names_in(words, lexicon())
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Dr Zanderloo", "Zanderloo"),
        ("Prof. Dr. Weber", "Weber"),
        ("Mme Marie Genevieve Zanderloo", "Marie Genevieve Zanderloo"),
        ("Dr H FERDOIN", "H FERDOIN"),
        ("M. Petit", "Petit"),
        ("Mme de la Tour", "Tour"),
        ("M. de la Tour", "Tour"),
        ("Mme DUPONT Marie", "DUPONT Marie"),
        ("Dr José Miguel Carreira", "José Miguel Carreira"),
    ],
)
def test_after_a_title(text: str, name: str):
    assert names(text) == [(name, "title")]


@pytest.mark.parametrize("text", ["Dr de la Clinique", "Professeur de Musique", "M de la Clinique", "Mme Tour"])
def test_where_a_doctor_works_and_bare_words_are_none(text: str):
    assert names(text) == []


@pytest.mark.parametrize(
    ("text", "name", "rule"),
    [
        ("Emily Zanderloo", "Emily Zanderloo", "given name and surname"),
        ("Emily R.", "Emily R.", "given name and surname"),
        ("Mark Brown", "Mark Brown", "given name and surname"),
        ("Jane A. Doe", "Jane A. Doe", "given name and surname"),
        ("Maria da Silva Santos", "Maria da Silva Santos", "given name and surname"),
        ("TARTANPION Jean-Claude", "TARTANPION Jean-Claude", "surname and given name"),
        ("ZANDERLOO Sophie", "ZANDERLOO Sophie", "surname and given name"),
        ("DE LUCA Roberta", "DE LUCA Roberta", "given name and surname"),
        ("Kowalski Paul", "Kowalski Paul", "surname and given name"),
        ("G. Dupont", "G. Dupont", "initial and surname"),
        ("Patient J. PETIT", "J. PETIT", "announced by a word"),
        ("Hi Abraham", "Abraham", "announced by a word"),
        ("Tochter Ingrid", "Ingrid", "announced by a word"),
    ],
)
def test_what_the_lexicon_vouches_for(text: str, name: str, rule: str):
    assert names(text) == [(name, rule)]


@pytest.mark.parametrize(
    "text",
    [
        "Emily", "Zanderloo Quastenberg", "Page Setup", "Grace Period", "May Day", "The Hospital",
        "Rose Bengale", "E. Coli",
        "Abbott Diagnostics", "ANTI THYROGLOBULINE", "Patient Dobutamine", "Burnett AK",
    ],
)  # fmt: skip
def test_what_is_no_name(text: str):
    assert names(text) == []
