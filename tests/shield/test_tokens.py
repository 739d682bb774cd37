"""Values and their tokens. Sources: shield.md ("Tokens"); RFC 2104 and RFC 4648 written out are the oracle."""

import hashlib
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.categories import MEDICAL, Category
from appliance.shield.tokens import LONGEST_SUFFIX, normalised, suffix, token
from tests.shield.planted import KEY, SPELLINGS


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """RFC 2104, section 2, for a key of at most 64 bytes."""
    block = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in block) + message).digest()
    return hashlib.sha256(bytes(b ^ 0x5C for b in block) + inner).digest()


def base32(data: bytes) -> str:
    """RFC 4648, section 6, without padding, lower case."""
    bits = "".join(f"{byte:08b}" for byte in data)
    bits += "0" * (-len(bits) % 5)
    return "".join("abcdefghijklmnopqrstuvwxyz234567"[int(bits[i : i + 5], 2)] for i in range(0, len(bits), 5))


class TestNormalised:
    @pytest.mark.parametrize("line", range(len(SPELLINGS)))
    def test_all_spellings_are_one_value(self, line: int):
        category, spelled = SPELLINGS[line]
        assert len({normalised(category, each) for each in spelled}) == 1

    def test_different_values_differ(self):
        values = [(category, normalised(category, spelled[0])) for category, spelled in SPELLINGS]
        assert len(set(values)) == len(values)

    @pytest.mark.parametrize(
        "written",
        [
            "jane.doe@example.org", "Jane.Doe@EXAMPLE.org", "jane.doe%40example.org", "jane%2Edoe%40example%2Eorg",
            "jane.doe[at]example[dot]org", "jane.doe (AT) example (DOT) org", "jane.doe at example dot org",
            "jane.doe{at}example.org", "jane.doe <arobase> example <point> org", "jane.doe &#64; example.org",
            "jane.doe&commat;example.org", "jane.doe\\u0040example.org", "jane.doe@\u200bexample.org",
            "ｊane.doe＠example．org", "jane\\.doe\\@example\\.org", "jáne.doe@example.org",
        ],
    )  # fmt: skip
    def test_an_address_is_itself_in_every_form(self, written: str):
        assert normalised("EMAIL", written) == "jane.doe@example.org"

    @pytest.mark.parametrize(
        "other", ["jane.doe+x@example.org", "janedoe@example.org", "jane.doe@example.com", "jane_doe@example.org"]
    )
    def test_another_address_is_another_value(self, other: str):
        assert normalised("EMAIL", other) != normalised("EMAIL", "jane.doe@example.org")

    def test_a_percent_sign_that_encodes_nothing_stays(self):
        assert normalised("EMAIL", "jane%2Ex@example.org") == "jane%2ex@example.org"

    @pytest.mark.parametrize(
        ("title", "name"),
        [
            ("Dr", "Jean Dupuis"), ("Dr.", "jean dupuis"), ("Mme", "JEAN DUPUIS"), ("Herr Prof. Dr. med.",
            "Jean Dupuis"),
            ("M.", "Jéan  Dupuis"), ("Sig.", "Jean\u00a0Dupuis"), ("Señora", "Jean Dupuis"), ("Maître", "Jean Dupuis"),
        ],
    )  # fmt: skip
    def test_titles_case_and_accents_make_no_other_person(self, title: str, name: str):
        """synapse.md: "Dr Jean Dupuis" and "jean dupuis" become the same alias."""
        assert normalised("NAME", f"{title} {name}") == "jean dupuis"

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Jean Dupuis", "Jeanne Dupuis"),
            ("Marie Martin", "Mariemartin"),
            ("Mr", "Dr"),
            ("Drago Ilić", "Go Ilić"),
            ("Anne-Marie", "Anne Marie"),
        ],
    )
    def test_two_people_stay_two(self, one: str, other: str):
        assert normalised("NAME", one) != normalised("NAME", other)

    @pytest.mark.parametrize(
        ("category", "one", "other"),
        [
            ("SSN", "219-09-9999", "219 09 9999"),
            ("MAC_ADDRESS", "00:1A:2B:3C:4D:5E", "001a.2b3c.4d5e"),
            ("NIR", "1 85 05 78 006 084 91", "185057800608491"),
            ("NIR", "2 69 05 2A 588 157 17", "269052a58815717"),
            ("NHS_NUMBER", "943 476 5919", "943-476-5919"),
            ("VIN", "1HGCM82633A004352", "1hgcm 82633 a004352"),
            ("IP_ADDRESS", "2001:db8::1", "2001:0DB8:0000::0001"),
            ("URL", "HTTPS://Example.org/A", "https://example.org/A"),
            ("ZIP", "SW1A 1AA", "sw1a 1aa"),
        ],
    )
    def test_separators_and_case_that_say_nothing(self, category: Category, one: str, other: str):
        assert normalised(category, one) == normalised(category, other)

    @pytest.mark.parametrize(
        ("category", "one", "other"),
        [
            ("MRN", "2024-00157", "202400157"),
            ("IP_ADDRESS", "192.0.2.44", "192.0.24.4"),
            ("URL", "https://example.org/A", "https://example.org/a"),
            ("PHONE", "06 12 34 56 78", "06 12 34 56 78 x1"),
            ("AGE", "91", "93"),
        ],
    )
    def test_what_says_something_stays(self, category: Category, one: str, other: str):
        assert normalised(category, one) != normalised(category, other)

    def test_an_address_that_is_none_is_its_text(self):
        assert normalised("IP_ADDRESS", "192.0.2.444") == "192.0.2.444"

    def test_a_number_without_digits_is_its_text(self):
        assert normalised("PHONE", "One Two") == "one two"

    @given(st.sampled_from(MEDICAL), st.text(max_size=60))
    def test_anything_can_be_normalised(self, category: Category, value: str):
        assert isinstance(normalised(category, value), str)


class TestSuffix:
    @pytest.mark.parametrize("length", [8, 9, 16, 17, 40, 52])
    def test_it_is_base32_of_the_keyed_hash_of_category_and_value(self, length: int):
        expected = base32(hmac_sha256(KEY, b"EMAIL" + b"jane.doe@example.org"))
        assert suffix(KEY, "EMAIL", "jane.doe@example.org", length) == expected[:length]
        assert len(expected) == LONGEST_SUFFIX

    def test_category_and_value_cannot_be_shifted_into_each_other(self):
        """The hash is over both in a row, so no category may begin another."""
        assert [(a, b) for a, b in itertools.permutations(MEDICAL, 2) if a.startswith(b)] == []

    def test_another_key_gives_another_token(self):
        assert suffix(b"one", "EMAIL", "jane.doe@example.org") != suffix(b"two", "EMAIL", "jane.doe@example.org")

    @given(st.text())
    def test_any_value_has_one(self, value: str):
        assert re.fullmatch("[a-z2-7]{8}", suffix(KEY, "NAME", value + "\ud800"))


class TestToken:
    @pytest.mark.parametrize(
        ("category", "normal", "expected"),
        [
            ("EMAIL", "jane.doe@example.org", "[EMAIL_k3j2h4m5]"),
            ("DATE", "1985-05-12", "[DATE_1985_k3j2h4m5]"),
            ("DATE", "1985", "[DATE_1985_k3j2h4m5]"),
            ("DATE", "--05-12", "[DATE_k3j2h4m5]"),
            ("DATE", "du 3 au 5 mai 2020", "[DATE_2020_k3j2h4m5]"),
            ("MRN", "2024-00157", "[MRN_k3j2h4m5]"),
        ],
    )
    def test_the_year_alone_is_readable(self, category: Category, normal: str, expected: str):
        assert token(category, normal, "k3j2h4m5") == expected
