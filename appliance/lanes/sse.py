"""Server-sent events from the chunks of a byte stream, wherever those were split.

Must not know what the events mean. What comes after the last blank line of a stream is no event.
Source: WHATWG HTML, "Server-sent events", "Parsing an event stream" and "Interpreting an event stream".
"""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

MAX_EVENT_CHARACTERS = 16 * 1024 * 1024
"""Of one event, its lines together; a server that never ends its event must not fill the memory."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """`event` is its name, "" without one; `data` the lines of its data, joined by line feeds."""

    event: str
    data: str


class EventTooLarge(Exception):
    """The stream holds an event of more than `MAX_EVENT_CHARACTERS`."""


class EventStream:
    """Feed chunks and take whole events. Linear in what is fed."""

    def __init__(self) -> None:
        # A wrong byte is no end of the stream: it decodes to U+FFFD (WHATWG Encoding, "UTF-8 decode").
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._line: list[str] = []  # the pieces of a line that has not ended
        self._name = ""
        self._data: list[str] = []
        self._size = 0  # of all that is held
        self._began = False
        self._after_return = False  # the last character was CR: a LF that follows belongs to the same line end

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """The events that end in this chunk. Raises EventTooLarge."""
        text = self._decoder.decode(chunk)
        if not text:
            return
        if not self._began:
            self._began = True
            text = text.removeprefix("\ufeff")
        if self._after_return:
            text = text.removeprefix("\n")
            self._after_return = False
        # CRLF first, so that what is left of each is one line end. The text of a chunk may end between the two.
        self._after_return = chunk.endswith(b"\r")
        *ended, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for piece in ended:
            self._hold(len(piece))
            line = "".join([*self._line, piece])
            self._line.clear()
            event = self._take(line)
            if event is not None:
                yield event
        if rest:
            self._line.append(rest)
            self._hold(len(rest))

    def _hold(self, more: int) -> None:
        self._size += more
        if self._size > MAX_EVENT_CHARACTERS:
            raise EventTooLarge

    def _take(self, line: str) -> ServerSentEvent | None:
        """One line; the event that it ends, if it is a blank one and there is any data."""
        if not line:
            return self._end()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        if name != "data":
            self._size -= len(line)  # a comment keeps the connection open, for as long as it takes
        return None

    def _end(self) -> ServerSentEvent | None:
        event = ServerSentEvent(self._name, "\n".join(self._data)) if self._data else None
        self._name = ""
        self._data.clear()
        self._size = 0
        return event
