from tui.driver import _forgiving  # pyright: ignore[reportPrivateUsage]  what the thread is given


def test_what_is_no_utf_8_is_one_sign_each_and_the_rest_is_kept():
    decode = _forgiving("utf-8")().decode
    assert decode(b"caf\xe9 ") == "caf\ufffd "
    assert decode("é日".encode()) == "é日"


def test_a_character_in_two_pieces_is_one():
    decode = _forgiving("utf-8")().decode
    first, second = "é".encode()[:1], "é".encode()[1:]
    assert decode(first) + decode(second) == "é"
