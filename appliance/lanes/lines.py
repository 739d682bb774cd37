"""Cuts a byte stream into lines, wherever its chunks were split."""

from collections.abc import Iterator

MAX_LINE_BYTES = 16 * 1024 * 1024
"""One line of an answer; a machine that never ends its line must not fill the memory."""


class LineTooLong(Exception):
    """The stream holds a line longer than `MAX_LINE_BYTES`."""


class Lines:
    """Feed chunks, take whole lines (without their end, empty ones left out); `rest` is what no line end followed."""

    def __init__(self) -> None:
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
            if self._size > MAX_LINE_BYTES:
                raise LineTooLong

    @property
    def rest(self) -> bytes:
        return b"".join(self._parts).strip()
