"""What a word or sign beside a number says. Source: shield.md ("Detection")."""

import pytest

from appliance.shield.phone_labels import field_after, label


@pytest.mark.parametrize(
    ("before", "word"),
    [
        ("Tel: ", "tel"),
        ("Téléphone (privé) : ", "telephone"),
        ('{"phone_number": "', "phone"),
        ("T: ", "T"),
        ("m : (", "m"),
        ("☎ ", "☎"),
        ("📞: ", "📞"),
        ("call me on ", "call"),
        ("SIREN, tel ", "tel"),
    ],
)
def test_words_and_signs_for_a_telephone(before: str, word: str):
    assert label(before + "123", len(before)) == (word, False)


@pytest.mark.parametrize("before", ["SIREN ", "tel, SIREN ", "Kunden-Nr. Rechnung ", "phone of client "])
def test_the_nearest_word_decides(before: str):
    assert label(before + "123", len(before)) == ("", True)


@pytest.mark.parametrize("before", ["", "hotel ", "p. ", "at: ", "iT: ", "tel" + " " * 40])
def test_none(before: str):
    assert label(before + "123", len(before)) == ("", False)


@pytest.mark.parametrize(
    ("after", "word"),
    [
        (" fax\n", "fax"),
        (" (mobile)", "mobile"),
        ("-Office\\,", "office"),
        ("x123 mobile", "mobile"),
        (" mobile users", ""),
        (" office workers", ""),
        (" euros", ""),
        ("", ""),
    ],
)
def test_a_word_that_ends_the_field(after: str, word: str):
    assert field_after("123" + after, 3) == word
