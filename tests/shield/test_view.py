"""The view of a text. Sources: shield.md ("What is scanned"); the oracles are `unicodedata`, `html` and `json`."""

import html
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.shield.view import view_of

PIECES = st.sampled_from(
    ["a", "é", "7", "@", " ", "\n", "\u200b", "\u00ad", "\u202f", "１", "＠", "𝟗", "\u2011", "&amp;", "&#64;", "&nbsp;",
     "%40", "\\u0040", "\\ud83d", "&nothing;", "&", "\\u", "文", "\u202e", "&#8203;", "\ufe0f", "٣"]
)  # fmt: skip


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("０６\u00a0１２", "06 12"),
        ("\u202f\u2009\u3000", "   "),
        ("219\u201109\u22129999", "219-09-9999"),
        ("ｊ＠ｅｘ．ｃｏｍ", "j@ex.com"),
        ("٠١٢३४", "01234"),
        ("𝟎𝟔 𝐚", "06 a"),
        ("a\u200bb\u00adc\u2060d\ufeffe\u202af\u2066g\u034fh\ufe0fi", "abcdefghi"),
        ("&lt;a&#64;b&#x2E;c&gt;&nbsp;&eacute;", "<a@b.c> é"),
        ("a&#8203;b&shy;c&zwnj;d", "abcd"),
        ("a\\u200bb\\u0040c", "ab@c"),
        ("a%40b", "a@b"),
        ("He\u0301le\u0300ne E\u0301 q\u0303", "Hélène É q\u0303"),
        ("例。com", "例.com"),
    ],
)
def test_what_a_reader_sees(written: str, seen: str):
    assert view_of(written).text == seen


@pytest.mark.parametrize(
    "text",
    ["", "plain", "a & b", "&unknown;", "100 %", "%4", "%41", "\\ud83d", "\\u12", "é à ç", "文字", "R&D; x", "a\nb\tc"],
)
def test_what_stays_as_it_is(text: str):
    view = view_of(text)
    assert view.text == text
    assert [view.original(place, place + 1) for place in range(len(text))] == [
        (place, place + 1) for place in range(len(text))
    ]


def test_a_place_in_the_view_covers_what_was_written_with_hidden_parts():
    written = "to x\u200b%40\u00ady.example."
    view = view_of(written)
    start = view.text.index("x@y")
    begins, ends = view.original(start, start + len("x@y.example"))
    assert written[begins:ends] == "x\u200b%40\u00ady.example"


def test_hidden_parts_at_either_end_are_left_out():
    written = "\u202ax@y\u202c"
    assert view_of(written).original(0, 3) == (1, 4)


def test_an_escape_is_covered_whole_even_if_only_a_part_of_it_is_meant():
    written = "x&NotEqualTilde;y"
    view = view_of("x&nGt;y")
    assert view.text == "x" + html.unescape("&nGt;") + "y"
    assert view.original(1, 2) == view.original(2, 3) == (1, 6)
    assert view_of(written).text == written


@given(st.lists(PIECES, max_size=20).map("".join))
def test_every_place_leads_back_in_order_and_apart(written: str):
    view = view_of(written)
    places = [view.original(place, place + 1) for place in range(len(view.text))]
    assert all(0 <= start < end <= len(written) for start, end in places)
    assert places == sorted(places)
    for start in range(len(view.text)):
        for end in range(start + 1, len(view.text) + 1):
            assert view.original(start, end) == (places[start][0], places[end - 1][1])


@given(st.lists(PIECES, max_size=20).map("".join))
def test_what_is_seen_at_a_place_was_written_there(written: str):
    view = view_of(written)
    for place, character in enumerate(view.text):
        start, end = view.original(place, place + 1)
        assert character in view_of(written[start:end]).text


@given(st.text(st.characters(exclude_characters="&%\\", exclude_categories=["Cs"]), max_size=60))
def test_no_ascii_character_of_a_text_without_escapes_is_changed(written: str):
    view = view_of(written)
    originals = [written[slice(*view.original(place, place + 1))] for place in range(len(view.text))]
    kept = [(seen, was) for seen, was in zip(view.text, originals, strict=True) if was.isascii()]
    assert all(seen == was for seen, was in kept)
    assert "".join(was for _, was in kept) == "".join(each for each in written if each.isascii())


@pytest.mark.parametrize(
    "character", [chr(code) for code in range(0x80, 0x10000) if unicodedata.category(chr(code)) == "Zs"]
)
def test_every_space_is_one(character: str):
    assert view_of(f"a{character}b").text == "a b"


def test_every_decimal_digit_of_the_first_plane_is_its_plain_one():
    digits = [chr(code) for code in range(0x10000) if unicodedata.decimal(chr(code), None) is not None]
    assert view_of("".join(digits)).text == "".join(str(unicodedata.decimal(each)) for each in digits)


@given(st.characters(min_codepoint=0x20, max_codepoint=0xD7FF, categories=["L"]))
def test_a_letter_escaped_for_json_is_seen_as_json_reads_it(character: str):
    escaped = json.dumps(character)[1:-1]
    assert view_of(escaped).text == view_of(character).text
