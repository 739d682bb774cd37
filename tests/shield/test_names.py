"""Names as a whole: rules, an administrator's lists and what is known from elsewhere. The names are fictitious."""

import pytest

from appliance.shield.names import Names


@pytest.fixture(scope="module")
def names() -> Names:
    return Names()


def found(names: Names, text: str) -> list[str]:
    return sorted({text[each.start : each.end] for each in names.find(text)})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dott.ssa Giulia Bianchi visita il sig. Rossi", ["Giulia Bianchi", "Rossi"]),
        ("Mevr. de Vries en dhr. Jan van den Berg", ["Jan van den Berg", "de Vries"]),
        ("Dr. med. Meier", ["Meier"]),
        ("Drs Dupont et Zanderloo", ["Dupont", "Zanderloo"]),
        ("O utente Manuel Gomes dos Santos", ["Manuel Gomes dos Santos"]),
        ("Pani Anna Kowalska u dr Nowak", ["Anna Kowalska", "Nowak"]),
        ("Mme DURAND née MARTIN", ["DURAND", "MARTIN"]),
        ("leur fille Martine", ["Martine"]),
        ("généré par Bobin Jacques (Interne)", ["Bobin Jacques"]),
        ("pt is John D seen", ["John D"]),
        ("TARTANPION ZOÉ | F | x", ["TARTANPION ZOÉ"]),
        ("ssn=1&name=Samantha+Adams", ["Samantha+Adams"]),
    ],
)
def test_in_eight_languages(names: Names, text: str, expected: list[str]):
    assert found(names, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Marie", "Pierre est là", "Rose bengale", "R. BASSAN, H. DOMBRET, S. GIEBEL", "Mallory Weiss",
        "Sierra J, Tallman MS",
        "Das Krankenhaus Und Die Straße", "Get Started With Python", "CHAPTER ONE THE END",
        "the Elizabeth Garrett Hospital",
    ],
)  # fmt: skip
def test_what_is_nobody(names: Names, text: str):
    assert found(names, text) == []


class TestAdministratorsLists:
    def test_added_names_are_always_found(self):
        names = Names(added=["Zorglub", "Éva Zander-Loo"])
        assert found(names, "zorglub; EVA ZANDER-LOO; Zorglubs") == ["EVA ZANDER-LOO", "zorglub"]

    def test_ignored_words_are_never_a_name(self):
        names = Names(ignored=["Martin"])
        assert found(names, "Dr Martin, Jean Martin, Paul Durand") == ["Paul Durand"]
        assert list(names.known(["Jean Martin"])("Martin")) == []

    def test_added_wins_over_ignored(self):
        assert found(Names(added=["Martin"], ignored=["Martin"]), "martin") == ["martin"]


class TestKnown:
    def test_a_part_of_a_name_stands_for_it(self, names: Names):
        text = "ZANDERLOO va mieux. Emily sort."
        assert [text[each.start : each.end] for each in names.known(["Emily Zanderloo"])(text)] == [
            "ZANDERLOO",
            "Emily",
        ]

    def test_not_where_it_names_a_disease(self, names: Names):
        assert list(names.known(["Paul Parkinson"])("maladie de Parkinson")) == []

    def test_nothing_known_finds_nothing(self, names: Names):
        assert list(names.known([])("Emily Zanderloo")) == []


def test_why_is_told(names: Names):
    assert [(each.rule, each.context) for each in names.find("Mme Zanderloo")] == [("title", "Mme")]
