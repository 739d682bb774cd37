"""One date, however it is written. Sources: ISO 8601-1; Unicode CLDR for the names and the order of each language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.iso_dates import iso_date, year_of

CLDR_MONTHS = {
    "fr": "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
    "en": "january february march april may june july august september october november december",
    "de": "januar februar marz april mai juni juli august september oktober november dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "pt": "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia wrzesnia pazdziernika listopada grudnia",
}
CLDR_ABBREVIATIONS = {
    "fr": "janv fevr mars avr mai juin juil aout sept oct nov dec",
    "en": "jan feb mar apr may jun jul aug sep oct nov dec",
    "de": "jan feb marz apr mai juni juli aug sept okt nov dez",
    "es": "ene feb mar abr may jun jul ago sept oct nov dic",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "nl": "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
    "pl": "sty lut mar kwi maj cze lip sie wrz paz lis gru",
}
CLDR_LONG = {
    "fr": "12 {} 1985", "en": "{} 12, 1985", "de": "12. {} 1985", "es": "12 de {} de 1985", "it": "12 {} 1985",
    "nl": "12 {} 1985", "pt": "12 de {} de 1985", "pl": "12 {} 1985",
}  # fmt: skip


@pytest.mark.parametrize("language", CLDR_LONG)
def test_every_month_of_every_language(language: str):
    for names in (CLDR_MONTHS, CLDR_ABBREVIATIONS):
        for month, name in enumerate(names[language].split(" "), 1):
            assert iso_date(CLDR_LONG[language].format(name), "FR") == f"1985-{month:02}-12"
            assert iso_date(f"12 {name}.", "FR") == f"--{month:02}-12"
            assert iso_date(f"{name} 1985", "FR") == f"1985-{month:02}"


@pytest.mark.parametrize(
    "written",
    [
        "1985-05-12", "1985/05/12", "12/05/1985", "12-05-1985", "12.5.1985", "12 05 1985", "19850512", "12051985",
        "12/05/85", "85-05-12", "dimanche 12 mai 1985", "le 12 mai 1985", "sunday, may 12th, 1985",
        "the 12th of may 1985",
        "sonntag, 12. mai 1985", "domingo, 12 de mayo de 1985", "domenica 12 maggio 1985", "zondag 12 mei 1985",
        "niedziela, 12 maja 1985 r.", "12 v 1985", "12-may-1985", "1985 may 12", "12 mai '85",
    ],
)  # fmt: skip
def test_the_spellings_of_a_date_are_one(written: str):
    assert iso_date(written, "FR") == "1985-05-12"


@pytest.mark.parametrize(
    ("written", "country", "date"),
    [
        ("03/04/2020", "FR", "2020-04-03"),
        ("03/04/2020", "US", "2020-03-04"),
        ("25/12/2020", "US", "2020-12-25"),
        ("12/25/2020", "FR", "2020-12-25"),
        ("12/8", "FR", "--08-12"),
        ("12/8", "US", "--12-08"),
        ("05/1985", "FR", "1985-05"),
        ("1985-05", "FR", "1985-05"),
        ("1985", "FR", "1985"),
        ("1er aout 2020", "FR", "2020-08-01"),
        ("premier aout 2020", "FR", "2020-08-01"),
        ("may 85", "FR", "1985-05"),
        ("12/05/29", "FR", "2029-05-12"),
        ("12/05/30", "FR", "1930-05-12"),
    ],
)
def test_order_and_parts(written: str, country: str, date: str):
    assert iso_date(written, country) == date


@pytest.mark.parametrize(
    "text",
    [
        "", "yesterday", "32/13/2020", "12/05/1985 14:30", "3 mai - 5 juin 2020", "12 jui 2020", "1/2/3/4", "1234567",
        "12 mai 198", "0", "99999999", "hier, 12 mai", "12 mai " + "x" * 100_000,
    ],
)  # fmt: skip
def test_what_is_not_understood_is_none(text: str):
    assert iso_date(text, "FR") is None


@given(st.dates())
def test_every_date_is_itself_in_iso(date: object):
    assert iso_date(str(date), "FR") == str(date)


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("1985-05-12", "1985"), ("--05-12", ""), ("12/05/1985 14:30", "1985"), ("du 3 au 5 mai 2020", "2020"),
        ("2019-2020", ""), ("2020, 2020", "2020"), ("019850", ""), ("85", ""),
    ],
)  # fmt: skip
def test_the_year_that_a_text_names(text: str, year: str):
    assert year_of(text) == year
