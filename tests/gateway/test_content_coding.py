import gzip
import random
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import BadRequest
from appliance.gateway.content_coding import Coding, Overflow, coding_of, decoded

MB = 1024 * 1024
TEXT = "Grüße aus Ærøskøbing, ".encode() * 100


def raw(content: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(content) + compressor.flush()


COMPRESSED: dict[str, tuple[Coding, bytes]] = {
    "gzip": ("gzip", gzip.compress(TEXT)),
    "zlib": ("deflate", zlib.compress(TEXT)),
    "raw deflate": ("deflate", raw(TEXT)),
}


@pytest.mark.parametrize(
    ("value", "coding"),
    [
        (b"", "identity"),
        (b"identity", "identity"),
        (b"gzip", "gzip"),
        (b" GZip ", "gzip"),
        (b"X-GZIP", "gzip"),
        (b"Deflate", "deflate"),
    ],
)
def test_the_codings_that_there_are(value: bytes, coding: str):
    assert coding_of([(b"accept", b"br"), (b"content-encoding", value)]) == coding


def test_no_coding_at_all():
    assert coding_of([(b"accept-encoding", b"br")]) == "identity"


@pytest.mark.parametrize("values", [[b"br"], [b"zstd"], [b"gzip, gzip"], [b"gzip,identity"], [b"gzip", b"deflate"]])
def test_others_and_lists_are_refused_with_what_to_do(values: list[bytes]):
    with pytest.raises(BadRequest) as refused:
        coding_of([(b"content-encoding", value) for value in values])
    assert refused.value.advice == "Compress the body once, with gzip or deflate, or send it plain."


@pytest.mark.parametrize("name", COMPRESSED)
@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_it_may_come_in_pieces_of_any_size(name: str, size: int):
    coding, data = COMPRESSED[name]
    chunks = [b"", *(data[start : start + size] for start in range(0, len(data), size)), b""]
    assert decoded(chunks, coding, len(TEXT)) == TEXT


@given(st.binary(), st.sampled_from(["gzip", "zlib", "raw deflate"]), st.integers(1, 9))
def test_every_content_comes_back(content: bytes, form: str, size: int):
    data = {"gzip": gzip.compress, "zlib": zlib.compress, "raw deflate": raw}[form](content)
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert decoded(chunks, "gzip" if form == "gzip" else "deflate", len(content)) == content


@pytest.mark.parametrize("size", [1, 10, 10**6])
def test_several_members_are_one_content(size: int):
    data = gzip.compress(b"one, ") + gzip.compress(b"") + gzip.compress(b"two")
    assert decoded([data[start : start + size] for start in range(0, len(data), size)], "gzip", 8) == b"one, two"


def test_a_body_of_very_many_members_is_decoded_in_reasonable_time():
    # Each end makes zlib copy what follows it: of the whole rest that would be 500 GB here.
    assert decoded([gzip.compress(b"") * 250_000], "gzip", 1) == b""


@pytest.mark.parametrize("name", COMPRESSED)
def test_the_limit_is_exact(name: str):
    coding, data = COMPRESSED[name]
    assert decoded([data], coding, len(TEXT)) == TEXT
    with pytest.raises(Overflow):
        decoded([data], coding, len(TEXT) - 1)
    with pytest.raises(Overflow):
        decoded([data], coding, 0)


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress, raw])
def test_a_bomb_is_never_held(compress: object):
    assert callable(compress)
    bomb = compress(bytes(100 * MB))
    assert len(bomb) < 110_000
    tracemalloc.start()
    try:
        with pytest.raises(Overflow):
            decoded([bomb], "gzip" if compress is gzip.compress else "deflate", MB)
        assert tracemalloc.get_traced_memory()[1] < 2.5 * MB  # what was decoded, one piece of it, and room to grow
    finally:
        tracemalloc.stop()


def test_members_share_one_limit():
    with pytest.raises(Overflow):
        decoded([gzip.compress(bytes(600)) * 2], "gzip", 1000)


@pytest.mark.parametrize("name", COMPRESSED)
@pytest.mark.parametrize("left", [0, 1, 2, 10, -1])
def test_what_is_cut_off_is_named_so(name: str, left: int):
    coding, data = COMPRESSED[name]
    with pytest.raises(BadRequest, match=f"The {coding} data of the request body ends too early"):
        decoded([data[:left]], coding, len(TEXT))


@pytest.mark.parametrize("name", ["gzip", "zlib"])
@pytest.mark.parametrize("place", [30, -3])
def test_what_is_damaged_is_named_so(name: str, place: int):
    coding, data = COMPRESSED[name]
    broken = bytearray(data)
    broken[place] ^= 255
    with pytest.raises(BadRequest, match=f"is not {coding} data, or it is damaged"):
        decoded([bytes(broken)], coding, len(TEXT))


def test_a_damaged_second_member_is_not_taken_for_something_else():
    second = bytearray(gzip.compress(b"two"))
    second[-8] ^= 255  # of its checksum
    with pytest.raises(BadRequest, match="is not gzip data, or it is damaged"):
        decoded([gzip.compress(b"one") + bytes(second)], "gzip", 100)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_what_was_never_compressed_is_refused(coding: Coding):
    with pytest.raises(BadRequest, match=f"not {coding} data"):
        decoded([b'{"messages": []}'], coding, 100)


def test_zlib_data_that_needs_a_dictionary_is_refused():
    compressor = zlib.compressobj(zdict=b"messages")
    with pytest.raises(BadRequest, match="not deflate data"):
        decoded([compressor.compress(TEXT) + compressor.flush()], "deflate", len(TEXT))


@pytest.mark.parametrize("name", COMPRESSED)
@pytest.mark.parametrize("rest", [b"{", b"\0" * 8, b"\x1f{", zlib.compress(b"x")])
@pytest.mark.parametrize("apart", [False, True])
def test_bytes_behind_the_end_are_named_so(name: str, rest: bytes, apart: bool):
    coding, data = COMPRESSED[name]
    with pytest.raises(BadRequest, match=f"Something follows the end of the request body's {coding} data"):
        decoded([data, rest] if apart else [data + rest], coding, len(TEXT))


def test_garbage_is_refused_and_nothing_worse():
    source = random.Random(7)
    for _ in range(2000):
        coding: Coding = source.choice(["gzip", "deflate"])
        data = bytearray(source.choice([data for kind, data in COMPRESSED.values() if kind == coding]))
        for _ in range(source.randint(1, 5)):
            data[source.randrange(len(data))] = source.randrange(256)
        try:
            decoded([bytes(data)], coding, MB)
        except (BadRequest, Overflow):
            continue
