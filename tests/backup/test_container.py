"""The promise: no byte of a backup can be changed, added or taken away unnoticed."""

import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.backup import container
from appliance.backup.container import CHUNK, TAG, Content, Head, WrongPassphrase
from appliance.errors import StateError

HEAD = Head("0.1.0", 7, datetime(2026, 11, 29, 18, 57, 3, 120_000, tzinfo=UTC), True, bytes(range(32)), cost=2)
PASSPHRASE = "correct horse battery"
CONTENT = bytes(range(256)) * 700  # two chunks and a half


def sealed(content: bytes = CONTENT, *sizes: int) -> bytes:
    """In one piece, or in pieces of these sizes and the rest."""
    pieces: list[bytes] = []
    for size in sizes:
        pieces.append(content[:size])
        content = content[size:]
    return b"".join(container.sealed(HEAD, PASSPHRASE, [*pieces, content]))


def opened(file: bytes, passphrase: str = PASSPHRASE) -> bytes:
    stream = io.BytesIO(file)
    return Content(stream, container.read_head(stream), passphrase).read()


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 5])
def test_what_was_sealed_opens(size: int):
    content = (CONTENT * 2)[:size]
    file = sealed(content)
    assert opened(file) == content
    assert len(file) == container.size_of(HEAD, size)


@given(st.lists(st.integers(0, CHUNK + 10), max_size=6))
def test_the_file_is_the_same_however_its_content_comes(sizes: list[int]):
    assert sealed(CONTENT, *sizes) == sealed()


def test_the_head_is_told_without_the_passphrase():
    assert container.read_head(io.BytesIO(sealed())) == HEAD


def test_nothing_of_the_content_is_in_the_file():
    assert CONTENT[:32] not in sealed()


@pytest.mark.parametrize("wrong", ["", "correct horse batterz", PASSPHRASE + " "])
def test_a_wrong_passphrase(wrong: str):
    with pytest.raises(WrongPassphrase, match="The passphrase is wrong"):
        opened(sealed(), wrong)


def test_a_passphrase_that_is_composed_otherwise_is_the_same():
    file = b"".join(container.sealed(HEAD, "Grüße an die Welt", [b"x"]))
    assert opened(file, "Gru\u0308ße an die Welt") == b"x"


class TestDamage:
    FILE = sealed(CONTENT[: CHUNK + 100])

    def test_every_byte_is_covered(self):
        """Each byte of head, chunks' edges and end; of what lies between, one in a hundred."""
        edges = set(range(600)) | set(range(len(self.FILE) - 300, len(self.FILE)))
        for place in sorted(edges | set(range(0, len(self.FILE), 101))):
            changed = bytearray(self.FILE)
            changed[place] ^= 1
            with pytest.raises(StateError):
                opened(bytes(changed))

    def test_every_length_is_covered(self):
        ends = set(range(600)) | {CHUNK, len(HEAD.encoded()) + CHUNK + TAG}
        for length in sorted(ends | set(range(0, len(self.FILE), 997)) | {len(self.FILE) - 1}):
            with pytest.raises(StateError):
                opened(self.FILE[:length])

    @pytest.mark.parametrize("more", [b"\0", b"x" * 100, bytes(2 * CHUNK)])
    def test_what_was_added(self, more: bytes):
        with pytest.raises(StateError, match="changed or is missing"):
            opened(self.FILE + more)

    def test_chunks_in_another_order_or_twice(self):
        file, head = sealed(), len(HEAD.encoded())
        size = CHUNK + TAG
        first, second, last = file[head : head + size], file[head + size : head + 2 * size], file[head + 2 * size :]
        for parts in ((second, first, last), (first, first, second, last), (first, last), (first, second)):
            with pytest.raises(StateError):
                opened(file[:head] + b"".join(parts))

    def test_a_chunk_of_another_file_of_the_same_passphrase(self):
        other = b"".join(container.sealed(HEAD_2, PASSPHRASE, [CONTENT[: CHUNK + 100]]))
        end = len(self.FILE) - 100 - TAG
        with pytest.raises(StateError, match="changed or is missing"):
            opened(self.FILE[:end] + other[end:])


HEAD_2 = Head(HEAD.version, HEAD.schema, HEAD.created, True, bytes(32), cost=2)


class TestHead:
    @pytest.mark.parametrize("file", [b"", b"hello", b"\x1f\x8b\x08", b"synapse-", b"\n"])
    def test_what_is_no_backup(self, file: bytes):
        with pytest.raises(StateError, match="The file is no backup"):
            opened(file)

    def test_a_form_of_a_later_version(self):
        with pytest.raises(StateError, match="a form that this version does not know"):
            opened(b"synapse-backup 2\n{}\n")

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b'"n":2', b'"n":1048577'),
            (b'"n":2', b'"n":2097152'),
            (b'"n":2', b'"n":3'),
            (b'"n":2', b'"n":0'),
            (b'"n":2', b'"n":"2"'),
            (b'"r":8', b'"r":9'),
            (b'"p":1', b'"p":5'),
            (b'"schema":7', b'"schema":7.0'),
            (b'"schema":7', b'"schema": 7'),
            (b'"keys":true', b'"keys":1'),
            (b'"scrypt"', b'"bcrypt"'),
            (b'"created"', b'"when"'),
            (b"Z", b""),
            (b"AAEC", b"A!EC"),
            (b"}\n", b"}"),
        ],
    )
    def test_what_it_must_not_say(self, old: bytes, new: bytes):
        file = sealed(b"x")
        assert old in file
        with pytest.raises(StateError, match="its second line cannot be read"):
            opened(file.replace(old, new, 1))

    @given(st.binary(max_size=200))
    def test_whatever_stands_there_is_refused_as_damage(self, line: bytes):
        with pytest.raises(StateError):
            container.read_head(io.BytesIO(container.MAGIC + line))


def test_who_opens_a_file_is_asked_for_no_more_than_a_gigabyte():
    assert 128 * container.MAX_COST * container.MAX_BLOCKS <= 2**30


def test_the_key_is_scrypts():
    # RFC 7914, section 12, the third vector: of its 64 bytes the first 32, which are the same where no more are made.
    head = Head("", 0, HEAD.created, True, b"SodiumChloride", cost=16384, blocks=8, parallel=1)
    expected = "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
    assert container._key(head, "pleaseletmein").hex() == expected
