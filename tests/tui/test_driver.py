import pytest

from tui.driver import TerminalGone, decoder


def test_what_is_no_utf_8_is_one_sign_each_and_the_rest_is_kept():
    decode = decoder("utf-8")().decode
    assert decode(b"caf\xe9 ") == "caf\ufffd "
    assert decode("é日".encode()) == "é日"


def test_a_character_in_two_pieces_is_one():
    decode = decoder("utf-8")().decode
    first, second = "é".encode()[:1], "é".encode()[1:]
    assert decode(first) + decode(second) == "é"


def test_a_terminal_that_is_ready_and_says_nothing_is_gone():
    decode = decoder("utf-8")().decode
    with pytest.raises(TerminalGone):
        decode(b"")
    assert decode(b"", final=True) == ""
