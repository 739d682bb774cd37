"""What dialects have in common of the strings of their bodies. Sources: shield.md ("What is scanned"); gateway.md
("Sensitive data that is not text"); the magic numbers of the formats, in base64 (RFC 4648)."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.bodies import NAME, WORD, is_encoded, is_file, names_person, place_of
from appliance.dialects.jsontext import KEY

BEGINNINGS: dict[str, bytes] = {
    "PNG": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "JPEG": b"\xff\xd8\xff\xe0",
    "GIF": b"GIF89a",
    "WebP and WAVE": b"RIFF\x24\x00\x00\x00",
    "PDF": b"%PDF-1.7\n",
    "ZIP and what Office writes": b"PK\x03\x04",
    "MP3": b"ID3\x04",
    "Ogg": b"OggS\x00",
    "MP4": b"\x00\x00\x00\x20ftypisom",
}


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_a_place_is_a_path_without_its_indices():
    assert place_of(("messages", 0, "content", 12, "text")) == ("messages", "content", "text")
    assert place_of(("metadata", KEY)) == ("metadata",)
    assert place_of(()) == ()
    # A member may have a number for its name, which is no index.
    assert place_of(("0", 0)) == ("0",)


@pytest.mark.parametrize("word", ["user", "tool_use", "json_schema", "a" * 32])
def test_a_word_out_of_a_closed_set(word: str):
    assert WORD.fullmatch(word)


@pytest.mark.parametrize("text", ["", "User", "tool use", "06", "a@b", "é", "tool-use", "a.b", "a\n", "a" * 33])
def test_what_is_no_such_word(text: str):
    assert not WORD.fullmatch(text)


@pytest.mark.parametrize("name", ["max_tokens", "additionalProperties", "$ref", "_x", "X-Header", "a" * 64])
def test_a_name_as_programmers_write_it(name: str):
    assert NAME.fullmatch(name)


@pytest.mark.parametrize(
    "text", ["", "0612345678", "a1", "Jean Dupont", "jane@example.org", "a.b", "-x", "Éric", "a\n", "a" * 65]
)
def test_what_may_be_a_value_in_the_place_of_a_name(text: str):
    assert not NAME.fullmatch(text)


@pytest.mark.parametrize(
    "name",
    [
        "user", "user_id", "userId", "USER-ID", "username", "end_user", "endUserId", "safety_identifier",
        "prompt_cache_key", "session_id", "sessionID", "customer", "customerId", "account_id", "client-id",
        "visitor_id", "device_id", "external_id", "u.s.e.r",
    ],
)  # fmt: skip
def test_a_name_that_says_it_names_a_person(name: str):
    assert names_person([name])
    assert names_person(["metadata", name, "deep"])


@pytest.mark.parametrize("name", ["", "topic", "users", "use", "id", "model", "messages", "user_count", "content"])
def test_a_name_that_says_no_such_thing(name: str):
    assert not names_person(["metadata", name])


class TestFiles:
    @pytest.mark.parametrize("kind", BEGINNINGS)
    def test_a_file_is_known_by_how_it_begins(self, kind: str):
        # Of all three lengths that a remainder can have, so that there is padding and none.
        for size in (100, 101, 102):
            assert is_file(in_base64(BEGINNINGS[kind] + b"\xa5" * size))

    @pytest.mark.parametrize("kind", BEGINNINGS)
    def test_in_lines_it_is_one_too(self, kind: str):
        assert is_file(base64.encodebytes(BEGINNINGS[kind] + bytes(range(200))).decode())

    def test_so_is_whatever_a_data_url_says_is_base64(self):
        for url in ("data:image/png;base64,AAAA", "data:;base64,", "data:text/plain;charset=utf-8;base64,SGk="):
            assert is_file(url)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "data:text/plain,jane@example.org",
            "see data:image/png;base64,AAAA",
            "/9j/ is how a JPEG begins, and iVBORw0KGgo is how a PNG does; neither of them is a picture here.",
            "iVBORw0KGgo=",
            in_base64(b"Dear Jane, " * 20),
            "JVBERi0" + "x" * 80 + ": jane@example.org",
        ],
    )
    def test_what_can_be_read_is_no_file(self, text: str):
        assert not is_file(text)

    @given(st.sampled_from(sorted(BEGINNINGS)), st.binary(min_size=64, max_size=200))
    def test_any_file_is_nothing_but_what_is_encoded(self, kind: str, rest: bytes):
        for text in (in_base64(BEGINNINGS[kind] + rest), base64.encodebytes(BEGINNINGS[kind] + rest).decode()):
            assert is_file(text)
            assert is_encoded(text)
            assert is_encoded(f"data:application/octet-stream;base64,{text}")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            # Numbers and names have letters of the same alphabet.
            "0612345678",
            "JeanDupont",
            "Jean Dupont " * 20,
            "Patient\tJean\tDupont\tlives\tin\tParis\tand\twas\tseen\tin\tMarch\tby\tthe\tdoctor",
            "A" * 100 + "@example.org",
            "data:;base64," + "A" * 100 + " and jane@example.org",
            "data:jane@example.org;base64," + "A" * 100,
            "data:Jean Dupont;base64," + "A" * 100,
            "data:image/png," + "A" * 100,
            "A" * 100 + "==A",
        ],
    )
    def test_words_may_stand_beside_or_in_the_place_of_it(self, text: str):
        assert not is_encoded(text)
