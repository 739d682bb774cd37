"""Check digits. The oracle is python-stdnum."""

import stdnum.iso7064.mod_97_10
import stdnum.luhn
from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.checks import luhn, mod_97


@given(st.text("0123456789", min_size=2, max_size=20))
def test_luhn_as_the_oracle(digits: str):
    assert luhn(digits) == stdnum.luhn.is_valid(digits)
    assert luhn(digits + stdnum.luhn.calc_check_digit(digits))


@given(st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=6, max_size=34))
def test_mod_97_as_the_oracle(value: str):
    assert mod_97(value) == stdnum.iso7064.mod_97_10.is_valid(value[4:] + value[:4])


def test_a_published_iban_and_card():
    assert mod_97("GB82WEST12345698765432")
    assert mod_97("gb82west12345698765432")
    assert not mod_97("GB83WEST12345698765432")
    assert luhn("4111111111111111")
    assert not luhn("4111111111111112")
