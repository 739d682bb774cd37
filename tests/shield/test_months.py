"""Names of months. Source: CLDR, wide and abbreviated, of the eight languages."""

import re

import pytest

from appliance.shield.months import DAY_WORDS, YEAR_WORDS, is_ambiguous, month_words

TWELVE = {
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
}


@pytest.mark.parametrize("language", TWELVE)
def test_the_months_of_each_language_in_any_case(language: str):
    for text in (TWELVE[language], TWELVE[language].upper(), TWELVE[language].title()):
        assert [name[0] for name in month_words(text)] == text.split()


def test_a_short_one_has_its_dot():
    assert [name[0] for name in month_words("5 sept. 2020, 3 janv. 2021")] == ["sept.", "janv."]


@pytest.mark.parametrize("text", ["marsouin", "maintenant", "decembers", "junior", ""])
def test_a_part_of_a_word_is_none(text: str):
    assert list(month_words(text)) == []


def test_some_are_other_words_too():
    assert is_ambiguous("may")
    assert is_ambiguous("set")
    assert not is_ambiguous("May")
    assert not is_ambiguous("juin")


@pytest.mark.parametrize("words", ["premier", "deux", "vingt et un", "trente-et-un", "seize", "dix"])
def test_days_in_words(words: str):
    assert re.fullmatch(DAY_WORDS, words)


@pytest.mark.parametrize(
    "words", ["mille neuf cent soixante dix huit", "deux mille vingt", "mille neuf-cent quatre-vingt 2"]
)
def test_years_in_words(words: str):
    assert re.fullmatch(YEAR_WORDS, words)
