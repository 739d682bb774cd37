"""Telephone numbers. Sources: shield.md ("Detection"); the examples are those of `phonenumbers`."""

import csv

import phonenumbers
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.phones import rule
from tests.shield.data import labelled
from tests.shield.found import values

COUNTRIES = ["FR", "BE", "CH", "LU", "DE", "AT", "ES", "PT", "IT", "NL", "GB", "IE", "PL", "US", "CA"]
LABELS = ["Tel: ", "Tél. : ", "Téléphone : ", "Telefon: ", "Teléfono: ", "Telefone ", "Cell. ", "telefoon ", "Phone: ",
          "fax ", "T: ", "mobile: ", "☎ ", "GSM "]  # fmt: skip
HOME = rule("FR")


def examples() -> list[dict[str, str]]:
    with labelled("phone_examples.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


class TestExamples:
    @pytest.mark.parametrize("country", COUNTRIES)
    @pytest.mark.parametrize("form", ["e164", "international", "national"])
    def test_after_a_label_all_are_found_whole(self, country: str, form: str):
        numbers = [each[form] for each in examples() if each["region"] == country]
        for number in numbers:
            assert {label: values(HOME, f"{label}{number}, merci") for label in LABELS} == {
                label: [number] for label in LABELS
            }

    @pytest.mark.parametrize("form", ["e164", "international"])
    def test_with_a_prefix_those_of_the_world_are_found_anywhere(self, form: str):
        numbers = [each[form] for each in examples()]
        assert len(numbers) > 400
        assert [number for number in numbers if values(HOME, f"({number})") != [number]] == []

    @pytest.mark.parametrize("country", ["ES", "PT", "PL", "US", "CA"])
    def test_at_home_national_ones_need_no_word(self, country: str):
        numbers = [each["national"] for each in examples() if each["region"] == country]
        assert [number for number in numbers if values(rule(country), f"is {number}.") != [number]] == []


@given(st.sampled_from(COUNTRIES), st.integers(10**6, 10**11))
def test_what_the_oracle_calls_possible_after_a_plus_is_found(country: str, national: int):
    code = phonenumbers.country_code_for_region(country)
    number = f"+{code}{national}"
    parsed = phonenumbers.parse(number)
    possible = phonenumbers.is_possible_number_with_reason(parsed) == phonenumbers.ValidationResult.IS_POSSIBLE
    # The oracle forgives a national prefix dialled too much.
    if possible and parsed.national_number == national:
        assert values(HOME, f"at {number}.") == [number]


@pytest.mark.parametrize(
    "number",
    [
        "+33 (0)6 12 34 56 78",
        "+33(0)612345678",
        "+44 (0)20 7946 0958",
        "+49 (0) 30 123456",
        "+33.612345678",
        "+1 (555) 123-4567 ext. 89",
        "+1-203-305-2492x5662",
        "0033 6 12 34 56 78",
        "00 33 6 12 34 56 78",
        "0044-20-7946-0958",
        "001-920-866-4851",
        "06 12 34 56 78",
        "06-12-34-56-78",
        "06.12.34.56.78",
        "06/12/34/56/78",
        "0612345678",
        "0820 123 456",
        "02 123 45 67",
        "0479/50.54.03",
        "044 668 18 00",
        "030 123456",
        "0171/1234567",
        "0664 123 45 67",
        "02 1234 5678",
        "020 123 4567",
        "06-12345678",
        "020 7946 0958",
        "(020) 7946 0958",
        "07911 123456",
        "085 012 3456",
        "(201) 555-0123",
        "201-555-0123 ext 12",
        "201.555.0123",
    ],
)
def test_spellings_that_need_no_word(number: str):
    assert values(HOME, f"see {number}, thanks") == [number]


@pytest.mark.parametrize(
    "text",
    [
        "612 345 678",
        "27 12 34 56",
        "201 555 0123",
        "612345678",
        "33612345678",
        "0033612345678",
        "+ 33 6 12 34 56 78",
        "0123456789",
        "+123",
        "+1 234",
        "+3.140000",
        "+999 12 34 56 78",
        "a+33612345678",
        "beta+20240105120000",
        "2024-01-31 10:20:30",
        "12/05/2023 14:30",
        "01/02/2023",
        "03-17 16:13:47.338  2227  2227",
        "3.0612345678",
        "0612345678.5",
        "110bcd25-a55d-453a-8046-1297901ea002",
        "x0612345678",
        "0612345678a",
        "A1-0612345678",
        "192.168.100.200",
        "02110-1301",
        "732 829 320 00074",
        "1 234 567 890 €",
        "00 81 00 20 80 00 00 20",
        "01 02 01 02 01 02",
        "5f 01 42 68 53 00 9a",
        "0061 0301",
        "facture 0612345678",
        "0612345678 (client)",
        "commande n° 0612345678",
        "commit 0612345678",
        "0612345678fca8",
        "c++1998/103650",
        "MRN: 555-123-4567",
        "NASS: 07 82356475 36",
        "(NDC 0591-3740-01)",
        "SIREN 012 345 6789",
        "04/09/2025 12 345,00",
    ],
)
def test_what_is_none(text: str):
    assert values(HOME, text) == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Tel 612345678", "612345678"),
        ("Telefon: 0033612345678", "0033612345678"),
        ("tel + 33 6 12 34 56 78", "+ 33 6 12 34 56 78"),
        ("Tel+33612345678", "+33612345678"),
        ("Tel. (33) 1 20 49 98 13 - fax", "(33) 1 20 49 98 13"),
        ("Call 201 555 0123 now", "201 555 0123"),
        ("zadzwoń 512 345 678", "512 345 678"),
        ("22 498317 office", "22 498317"),
        ("Phone: 28-81-33-70", "28-81-33-70"),
        ("phone=1234567", "1234567"),
        ("Tel 963 862 500 28040 Madrid", "963 862 500"),
        ("01 56 83 34 26merci", "01 56 83 34 26"),
        ("\\n0612345678", "0612345678"),
        ("client 020 7946 0958", "020 7946 0958"),
        ("facture, 06 12 34 56 78", "06 12 34 56 78"),
    ],
)
def test_beside_a_word(text: str, number: str):
    assert values(HOME, text) == [number]


@pytest.mark.parametrize(
    "text",
    [
        "phone 12345",
        "phone 20240131",
        "mobile, Jul 24 2006",
        "tel 12/05/2023",
        "phone support since 2023-05-12",
        "tel. 2022 2023",
        "mobile: 192.168.1.10",
        "mobile 100 000 €",
        "mobile: 1 000 000 users, SIREN 732 829 320",
        "cell 12345.6789",
        "phone #1234567",
        "phones 10-105-163-202-1",
        "call(1000000)",
        "contact 12345678",
        "telephone 12345678901234",
        "tel 00010203-0405-0607-0809",
    ],
)
def test_other_numbers_beside_a_word(text: str):
    assert values(HOME, text) == []


def test_several_in_a_row():
    assert values(HOME, "01 42 21 04 28 01 42 16 10 02") == ["01 42 21 04 28", "01 42 16 10 02"]
    assert values(HOME, "01 42 21 04 28/01 42 16 10 02") == ["01 42 21 04 28", "01 42 16 10 02"]
    assert values(HOME, "le 12/03/2023 01 42 21 04 28") == ["01 42 21 04 28"]


def test_at_home_an_amount_is_none():
    spanish = rule("ES")
    assert values(spanish, "612 345 678") == ["612 345 678"]
    assert values(spanish, "612 345 678 €") == []
    assert values(spanish, "100 612 345 678") == []
    assert values(HOME, "612 345 678") == []


def test_the_finding_says_why():
    (bare,) = HOME("Appelle au 0612345678")
    assert (bare.rule, bare.context) == ("French number", "appelle")
    (prefixed,) = HOME("+33612345678")
    assert (prefixed.rule, prefixed.context) == ("number with a calling code", "")
    (labelled_one,) = HOME("Móvil 612345678")
    assert (labelled_one.rule, labelled_one.context) == ("number beside a word for one", "movil")
