"""Names that a label or a word announces. Expected values are read off the examples; the names are fictitious."""

import pytest

from appliance.shield.lexicon import lexicon
from appliance.shield.name_cues import Cues, is_listed


def labelled(text: str) -> list[str]:
    return [text[each.start : each.end] for each in Cues(lexicon()).find(text)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Nom : ZANDERLOO Prénom : Quirine", ["ZANDERLOO", "Quirine"]),
        ("Nombre: Izan.\nApellidos: Gijon Ruiz.", ["Izan", "Gijon Ruiz"]),
        ("Vorname: Uwe\nNachname: Klein", ["Uwe", "Klein"]),
        ("Nome do paciente: Zulmira Quintela", ["Zulmira Quintela"]),
        ("Patient: Smith, John", ["Smith", "John"]),
        ("Médico: Miguel Martínez Zanderloo  NºCol", ["Miguel Martínez Zanderloo"]),
        ("Radiologues :\nA. Lemar, U. Jouan, O. Burton\n", ["A. Lemar", "U. Jouan", "O. Burton"]),
        ("Molécularistes : G. Zanderloo", ["G. Zanderloo"]),
        ("Infirmiers: theodore roux, marie lefevre", ["theodore roux", "marie lefevre"]),
        ('{"patient": "Emily Zanderloo"}', ["Emily Zanderloo"]),
        ("my name is emily jones", ["emily jones"]),
        ("pt of dr smith", ["smith"]),
    ],
)
def test_after_a_label(text: str, names: list[str]):
    assert labelled(text) == names


@pytest.mark.parametrize(
    "text",
    ["Nom du médicament : Doliprane", "Nombre comercial: Augmentin", "Name: Aspirin 100 mg",
    '"name": "get_weather"', "Patient: varón de 53",
     "Contact: Service social", "Provider: Stark Industries", "Traitement : Amoxicilline", "a: b", "12:30",
     "dr house prescrit"],
)  # fmt: skip
def test_a_label_of_something_else(text: str):
    assert labelled(text) == []


def test_authors_between_commas_are_told_from_a_signature():
    text = "G. Dupont, A. Martin, 2011"
    assert is_listed(text, 0, 9)
    assert is_listed(text, 11, 20)
    assert not is_listed("signé G. Dupont", 6, 15)
