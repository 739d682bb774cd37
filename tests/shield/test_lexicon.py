"""The lexicon. Names and words are of the lists it is made of; the bounds on memory and time are those of shield.md."""

import time
import tracemalloc

import pytest

from appliance.shield.lexicon import PARTICLES, fold, lexicon

MAX_MEMORY = 15 * 1024 * 1024


@pytest.mark.parametrize(
    ("word", "folded"),
    [
        ("LEFÈVRE", "lefevre"),
        ("Groß", "gross"),
        ("Søren", "soren"),
        ("Łukasz", "lukasz"),
        ("O’Brien", "o'brien"),
        ("Müller", "muller"),
        ("Nuñez", "nunez"),
    ],
)
def test_folding_takes_case_and_accents(word: str, folded: str):
    assert fold(word) == folded


@pytest.mark.parametrize(
    "name", ["jean", "maria", "anna", "giuseppe", "wouter", "joao", "katarzyna", "emily", "jean-marc"]
)
def test_given_names_of_eight_languages(name: str):
    assert lexicon().is_given(name)


@pytest.mark.parametrize(
    "name", ["dupont", "muller", "garcia", "rossi", "vries", "silva", "kowalski", "smith", "lefevre-duval"]
)
def test_surnames_of_eight_languages(name: str):
    assert lexicon().is_surname(name)


@pytest.mark.parametrize("word", ["rose", "mark", "may", "grace", "hospital", "patient", "street", "parkinson"])
def test_what_is_a_word_first(word: str):
    assert not lexicon().is_given(word)
    assert lexicon().is_word(word)


def test_no_particle_is_a_name():
    assert not PARTICLES & (lexicon().given | lexicon().surnames)


def test_it_fits_in_memory_and_is_there_at_once():
    tracemalloc.start()
    started = time.perf_counter()
    built = lexicon.__wrapped__()
    took, (memory, _) = time.perf_counter() - started, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(built.given) > 10_000
    assert memory < MAX_MEMORY
    assert took < 5
