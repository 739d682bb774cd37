import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.cluster.words import last_two_match, matches, parse, words
from appliance.errors import ConfigError


def id_from(raw: bytes) -> str:
    return base64.b32encode(raw).decode().lower().rstrip("=")


ids = st.binary(min_size=32, max_size=32).map(id_from)

ZERO = id_from(bytes(32))
LAST = id_from(b"\xff" * 32)


def test_known_ids():
    """BIP-39: the list begins with abandon and ends with zoo; bits are read from the most significant one."""
    assert words(ZERO) == ("abandon",) * 8
    assert words(LAST) == ("zoo",) * 8
    assert words(id_from(b"\x00\x20" + bytes(30))) == ("ability",) + ("abandon",) * 7  # 00000000001 00000…
    assert words(id_from(bytes(10) + b"\x03" + bytes(21)))[-1] == "about"  # the 88th bit and the one before


@given(ids)
def test_the_words_match_their_id_and_no_other(node_id: str):
    typed = " ".join(words(node_id))
    assert matches(node_id, typed)
    assert parse(typed) == words(node_id)
    assert not matches(ZERO if node_id != ZERO else LAST, typed)


@given(ids, st.sampled_from([" ", "  ", "-", " - ", "\n", "\t"]), st.booleans())
def test_case_separators_and_what_follows_the_fourth_letter_are_forgiven(node_id: str, between: str, upper: bool):
    typed = between.join(word[:4] for word in words(node_id))
    assert matches(node_id, f"  {typed.upper() if upper else typed}\n")
    assert last_two_match(node_id, between.join(word[:4] for word in words(node_id)[-2:]))


@given(ids, st.integers(0, 7), st.sampled_from(["zoo", "abandon", "zzzz", "", "aban don"]))
def test_one_wrong_word_is_enough(node_id: str, place: int, other: str):
    typed = list(words(node_id))
    if typed[place] == other:
        return
    typed[place] = other
    assert not matches(node_id, " ".join(typed))


@pytest.mark.parametrize("typed", ["aba", "abandonx", "abaft", "aband on"])
def test_a_piece_of_a_word_is_four_letters_or_more_of_it(typed: str):
    assert not matches(ZERO, " ".join(["abandon"] * 7 + [typed]))


def test_a_word_of_three_letters_is_not_the_start_of_a_longer_one():
    """`act` and `action` are both in the list."""
    assert parse("act acti act act act act act act")[:2] == ("act", "action")


@pytest.mark.parametrize("typed", ["", "zoo", "abandon abandon abandon", "abandon zoo", "abandon abandonn"])
def test_the_last_two_are_two(typed: str):
    assert not last_two_match(ZERO, typed)


def test_what_is_wrong_with_typed_words_is_said():
    with pytest.raises(ConfigError, match="7 words"):
        parse("abandon " * 7)
    with pytest.raises(ConfigError, match="Word 3"):
        parse("abandon abandon abandno abandon abandon abandon abandon abandon")


@pytest.mark.parametrize("node_id", ["", "syn-aaaa", "a" * 51])
def test_only_an_id_has_words(node_id: str):
    with pytest.raises(ValueError, match="not an id"):
        words(node_id)
