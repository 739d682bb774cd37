"""Source: gateway.md ("Authentication": at least 160 random bits, kept as SHA-256), base32 of RFC 4648."""

import base64
import hashlib
import re
import secrets

from hypothesis import given
from hypothesis import strategies as st

from appliance.ids import ID_BYTES, KEY_BYTES, Ids, digest

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def test_an_id_is_its_prefix_and_26_characters_of_base32():
    ids = Ids(secrets.token_bytes)
    for prefix in ("prf", "key", "ws", "usr"):
        assert re.fullmatch(prefix + "_[a-z2-7]{26}", ids.new(prefix))


@given(st.binary(min_size=ID_BYTES, max_size=ID_BYTES))
def test_an_id_holds_all_its_random_bytes(random: bytes):
    text = Ids(lambda size: random[:size]).new("prf").removeprefix("prf_")
    assert base64.b32decode(text.upper() + "======") == random


@given(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES))
def test_a_key_holds_all_its_random_bytes(random: bytes):
    key = Ids(lambda size: random[:size]).api_key()
    assert re.fullmatch("sk_live_[0-9A-Za-z]{33}", key)
    number = 0
    for digit in key.removeprefix("sk_live_"):
        number = number * 62 + BASE62.index(digit)
    assert number.to_bytes(KEY_BYTES, "big") == random


def test_a_key_has_at_least_160_random_bits():
    assert KEY_BYTES * 8 >= 160


def test_two_keys_differ():
    ids = Ids(secrets.token_bytes)
    assert ids.api_key() != ids.api_key()
    assert ids.new("key") != ids.new("key")


def test_the_digest_is_sha256_of_the_whole_key():
    assert digest("sk_live_abc") == hashlib.sha256(b"sk_live_abc").digest()


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_that_claims_to_be_a_key_has_a_digest(text: str):
    assert len(digest(text)) == 32
