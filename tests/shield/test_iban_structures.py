"""The structures of account numbers. The oracle is python-stdnum, which reads SWIFT's registry."""

from stdnum import iban

from appliance.shield.iban_structures import STRUCTURES


def test_lengths_are_those_of_known_examples():
    assert {country: STRUCTURES[country].length for country in ("NO", "BE", "DE", "FR", "MT", "RU")} == {
        "NO": 15, "BE": 16, "DE": 22, "FR": 27, "MT": 31, "RU": 33,
    }  # fmt: skip


def test_a_letter_where_the_registry_wants_a_digit_is_refused():
    assert STRUCTURES["DE"].account.fullmatch("370400440532013000")
    assert not STRUCTURES["DE"].account.fullmatch("37040044053201300A")
    assert STRUCTURES["GB"].account.fullmatch("WEST12345698765432")
    assert not STRUCTURES["GB"].account.fullmatch("123412345698765432")


def test_the_oracle_accepts_what_fits_with_its_check_digits():
    account = "NWBK60161331926819"
    assert iban.is_valid("GB" + iban.calc_check_digits("GB00" + account) + account)
    assert STRUCTURES["GB"].account.fullmatch(account)
