import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.cluster.cluster_key import ClusterKey, parse
from appliance.errors import ConfigError

SECRET = bytes(range(20))
KEY = ClusterKey("a" * 52, SECRET)

keys = st.builds(
    ClusterKey,
    st.binary(min_size=32, max_size=32).map(lambda raw: base64.b32encode(raw).decode().lower()[:52]),
    st.binary(min_size=20, max_size=20),
)


def line(body: bytes) -> str:
    """Version, id, secret and two bytes of their SHA-256, in base32."""
    return "synk_" + base64.b32encode(body + hashlib.sha256(body).digest()[:2]).decode().lower()


@given(keys)
def test_a_key_is_one_line_that_reads_back(key: ClusterKey):
    text = key.text()
    assert len(text) == 5 + 88
    assert text == text.lower()
    assert parse(text) == key
    assert parse(f" \n{text.upper()}\t") == key


def test_its_form():
    assert KEY.text() == line(b"\x01" + bytes(32) + SECRET)


def test_the_secret_is_never_shown():
    assert repr(SECRET) not in repr(KEY)
    assert "secret" not in repr(KEY)


@given(st.data())
def test_a_typing_mistake_is_noticed_and_the_key_not_quoted(data: st.DataObject):
    text = KEY.text()
    place = data.draw(st.integers(5, len(text) - 1))
    wrong = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz234567 018-é"))
    damaged = data.draw(st.sampled_from([text[:place] + wrong + text[place + 1 :], text[:place], text + wrong]))
    if damaged.strip() == text:
        return
    with pytest.raises(ConfigError) as caught:
        parse(damaged)
    assert caught.value.advice
    assert not any(damaged[at : at + 8] in str(caught.value) for at in range(5, len(damaged) - 8))


@pytest.mark.parametrize("text", ["", "synk_", "sk_live_abc", KEY.text()[5:], "synk_" + "a" * 88, "synk_" + "é" * 88])
def test_what_is_no_key(text: str):
    with pytest.raises(ConfigError):
        parse(text)


def test_a_newer_key_is_not_called_damaged():
    with pytest.raises(ConfigError, match="newer"):
        parse(line(b"\x02" + bytes(32) + SECRET))


@pytest.mark.parametrize(("gateway_id", "secret"), [("a" * 51, SECRET), ("A" * 52, SECRET), ("a" * 52, b"short")])
def test_what_cannot_be_a_key(gateway_id: str, secret: bytes):
    with pytest.raises(ValueError, match=r"an id|20 bytes"):
        ClusterKey(gateway_id, secret)
