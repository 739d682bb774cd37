"""Cuts a byte stream into lines, wherever its chunks were split."""

from collections.abc import Iterator

MAX_LINE_BYTES = 16 * 1024 * 1024
"""One line of an answer; a machine that never ends its line must not fill the memory."""


class LineTooLong(Exception):
    """The stream holds a line that is too long."""


class Lines:
    """Feed chunks, take whole lines (without their end, empty ones left out); `rest` is what no line end followed.

    `most_bytes`: of a line that comes in several chunks.
    """

    def __init__(self, most_bytes: int = MAX_LINE_BYTES) -> None:
        self._most = most_bytes
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Raises `LineTooLong`."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            line = b"".join([*self._parts, piece]).strip()
            self._parts.clear()
            self._size = 0
            if line:
                yield line
        if rest:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > self._most:
                raise LineTooLong

    @property
    def rest(self) -> bytes:
        return b"".join(self._parts).strip()
