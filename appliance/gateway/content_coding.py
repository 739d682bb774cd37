"""Request bodies that came compressed (RFC 9110, section 8.4): which codings there are, and decoding within a limit."""

import io
import zlib
from collections.abc import Iterator, Sequence
from typing import Literal

from appliance.errors import BadRequest

Coding = Literal["identity", "gzip", "deflate"]

_CODINGS: dict[bytes, Coding] = {
    b"": "identity",
    b"identity": "identity",
    b"gzip": "gzip",
    b"x-gzip": "gzip",  # the same by an older name (RFC 9110, section 8.4.1.3)
    b"deflate": "deflate",
}

_READ_BYTES = 16 * 1024
"""Data goes through in pieces: what zlib gives back behind the end of a gzip member is a copy of all the rest, and a
body may hold a million members."""

_WRITE_BYTES = 256 * 1024
"""So much is decoded at a time, for a thread holds the event loop up while it copies what was decoded."""

_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS

_MAGIC = b"\x1f\x8b"
"""How every gzip member begins."""


class Overflow(Exception):
    """The content is larger than allowed."""


def coding_of(headers: Sequence[tuple[bytes, bytes]]) -> Coding:
    """The coding that a request names.

    Raises:
        BadRequest: it is not one of ours, or there are several.
    """
    named = b",".join(value for name, value in headers if name == b"content-encoding").strip().lower()
    coding = _CODINGS.get(named)
    if coding is None:
        raise BadRequest(
            "The Content-Encoding of the request is not supported.",
            advice="Compress the body once, with gzip or deflate, or send it plain.",
        )
    return coding


def decoded(chunks: Sequence[bytes], coding: Coding, limit: int) -> bytes:
    """The content of a body in `chunks`; never more than one byte over `limit` is held. It takes its time.

    Raises:
        Overflow: the content is larger than `limit`.
        BadRequest: the data is no such coding, damaged or cut off, or something follows its end.
    """
    content = _Content(coding, _window_bits(chunks, coding), limit)
    try:
        for piece in _pieces(chunks):
            content.add(piece)
    except zlib.error as error:
        raise BadRequest(
            f"The request body is not {coding} data, or it is damaged.",
            advice="Name in Content-Encoding how the body is compressed.",
        ) from error
    return content.whole()


def _pieces(chunks: Sequence[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        for start in range(0, len(chunk), _READ_BYTES):
            yield chunk[start : start + _READ_BYTES]


def _window_bits(chunks: Sequence[bytes], coding: Coding) -> int:
    """How zlib is told what it reads. "deflate" is zlib's format by the standard, and without its header by habit."""
    if coding == "gzip":
        return _GZIP
    head = b"".join(chunk[:2] for chunk in chunks)[:2]
    # RFC 1950, section 2.2: the method is 8, and both bytes together are a multiple of 31.
    return _ZLIB if len(head) < 2 or (head[0] & 15 == 8 and int.from_bytes(head) % 31 == 0) else _RAW


class _Content:
    """What was decoded so far. Gzip data is a series of members, which are all one content (RFC 1952, section 2.2)."""

    def __init__(self, coding: Coding, window_bits: int, limit: int) -> None:
        self._coding = coding
        self._window_bits = window_bits
        self._room = limit + 1
        self._content = io.BytesIO()  # unlike a list of pieces it needs no second copy of the whole at the end
        self._member = zlib.decompressobj(window_bits)

    def add(self, data: bytes) -> None:
        """Raises `Overflow`, `BadRequest`, and `zlib.error` for what is no such data."""
        while True:
            if self._member.eof and data:
                self._next_member(data)
            most = min(_WRITE_BYTES, self._room)
            piece = self._member.decompress(data, most)
            self._content.write(piece)
            self._room -= len(piece)
            if not self._room:
                raise Overflow
            data = self._member.unused_data or self._member.unconsumed_tail
            # A full piece may have more behind it, though all the data is read.
            if not data and (self._member.eof or len(piece) < most):
                return

    def whole(self) -> bytes:
        """Raises `BadRequest` where the end has not come."""
        if not self._member.eof:
            raise BadRequest(
                f"The {self._coding} data of the request body ends too early.", advice="Send it to its end."
            )
        return self._content.getvalue()

    def _next_member(self, data: bytes) -> None:
        if self._coding != "gzip" or not (data.startswith(_MAGIC) or data == _MAGIC[:1]):
            raise BadRequest(
                f"Something follows the end of the request body's {self._coding} data.",
                advice="Send nothing behind it.",
            )
        self._member = zlib.decompressobj(self._window_bits)
