"""Names that are known already. Expected values are read off the examples; the bound is generous, not a measurement."""

import time

import pytest

from appliance.shield.known_names import Known, parts_of
from appliance.shield.lexicon import lexicon

MAX_SECONDS = 5
"""For a megabyte and a thousand names; a loop over the names would take minutes."""


def found(known: Known, text: str) -> list[str]:
    return [text[each.start : each.end] for each in known.find(text)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Jean-Marc de La Tour", ["Jean", "Marc"]),
        ("Li Wu", []),
        ("J. Zanderloo", ["Zanderloo"]),
        ("Anna Patient", ["Anna"]),
    ],
)
def test_parts_are_no_particles_no_short_ones_and_no_words(name: str, parts: list[str]):
    assert list(parts_of(name, lexicon())) == parts


class TestParts:
    def test_each_part_in_any_case_that_is_safe(self):
        known = Known.parts(["Zanderloo", "Lefèvre"], lexicon())
        assert found(known, "ZANDERLOO, zanderloo et Zanderloo; LEFEVRE, Lefèvre") == [
            "ZANDERLOO", "zanderloo", "Zanderloo", "LEFEVRE", "Lefèvre",
        ]  # fmt: skip

    def test_two_people_on_both_sides_of_a_full_stop_are_two_names(self):
        known = Known.parts(["Zanderloo", "Lefèvre"], lexicon())
        assert found(known, "vu par Zanderloo. Lefèvre va mieux") == ["Zanderloo", "Lefèvre"]

    def test_one_that_is_a_word_needs_its_capital(self):
        assert found(Known.parts(["Petit"], lexicon()), "le petit Petit") == ["Petit"]

    def test_with_boundaries(self):
        assert found(Known.parts(["Marc"], lexicon()), "Marceau Marc2 démarche Marc-Antoine") == ["Marc"] * 2

    def test_side_by_side_they_are_one_name(self):
        assert found(Known.parts(["Jean", "Zanderloo"], lexicon()), "Jean Zanderloo, Jean") == [
            "Jean Zanderloo",
            "Jean",
        ]


class TestWhole:
    def test_any_case_and_accents(self):
        known = Known.whole(["Éloïse Zanderloo", "Ünal"], "added")
        assert found(known, "eloise ZANDERLOO; UNAL; Éloïse; Unalaska") == ["eloise ZANDERLOO", "UNAL"]

    def test_the_longest_wins(self):
        assert found(Known.whole(["Ann", "Ann Lee"], "added"), "Ann Lee") == ["Ann Lee"]

    def test_not_across_a_line(self):
        assert found(Known.whole(["Ann Lee"], "added"), "Ann\n\nLee") == []


def test_a_thousand_names_take_no_longer_than_one():
    names = [f"Zander{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(1_000)]
    text = "Zanderaaa wordless " * 55_000
    started = time.perf_counter()
    assert len(list(Known.parts(names, lexicon()).find(text))) == 55_000
    assert time.perf_counter() - started < MAX_SECONDS
