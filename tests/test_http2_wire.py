"""The server's frames against a client's, without a socket. What is expected is RFC 9113's, section by section."""

from collections.abc import Callable
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RequestReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import ProtocolError
from hpack import Encoder
from hyperframe.frame import DataFrame, HeadersFrame, PriorityFrame

from appliance.http2_wire import Wire

Fields = list[tuple[str, str]]

GOOD: Fields = [(":method", "POST"), (":path", "/"), (":scheme", "http"), (":authority", "x")]


class Careless(Encoder):
    """Encodes what it is told to, and not what the client's end has found to be in order."""

    instead: Fields

    def encode(self, headers: Any, huffman: bool = True) -> bytes:
        return super().encode(self.instead, huffman)


class Pair:
    """Both ends of a connection. What the server's end was told is in `events`, and the client's in `answers`."""

    def __init__(self) -> None:
        self.client = H2Connection(H2Configuration())
        self.client.encoder = self.encoder = Careless()
        self.server = Wire()
        self.events: list[Event] = []
        self.answers: list[Event] = []
        self.client.initiate_connection()
        self.server.initiate_connection()
        self.pass_on()

    def pass_on(self, raw: bytes = b"") -> None:
        """Everything that either has to say, and then `raw`. Raises what the server's end raises."""
        try:
            self.events += self.server.receive_data(self.client.data_to_send() + raw)
        finally:
            self.answers += self.client.receive_data(self.server.data_to_send())

    def ask(self, fields: Fields, *, end: bool = True) -> int:
        stream = self.client.get_next_available_stream_id()
        self.encoder.instead = fields
        self.client.send_headers(stream, GOOD, end_stream=end)
        self.pass_on()
        return stream

    def trail(self, stream: int, fields: Fields, *, end: bool = True) -> None:
        """Send a trailer behind a request that has not ended."""
        self.encoder.instead = fields
        block = HeadersFrame(stream, self.encoder.encode(None), flags=["END_HEADERS"] + ["END_STREAM"] * end)
        self.pass_on(block.serialize())

    def told(self, kind: type[Event]) -> list[int]:
        return [event.stream_id for event in self.events if isinstance(event, kind)]  # type: ignore[attr-defined]

    def is_refused(self, stream: int) -> bool:
        """Whether both ends know that this stream is reset, and nobody that the connection is over."""
        ends = [
            [(one.error_code, one.remote_reset) for one in events if isinstance(one, StreamReset)]
            for events in (
                [one for one in self.events if getattr(one, "stream_id", None) == stream],
                [one for one in self.answers if getattr(one, "stream_id", None) == stream],
            )
        ]
        assert not [one for one in self.answers if isinstance(one, ConnectionTerminated)]
        return ends == [[(ErrorCodes.PROTOCOL_ERROR, False)], [(ErrorCodes.PROTOCOL_ERROR, True)]]

    def works(self) -> bool:
        """A whole request arrives, with fields that only a decoder knows that has seen all before."""
        for _ in range(2):
            stream = self.ask([*GOOD, ("x-seen", "before"), ("x-malformed-too", "a")])
            (asked,) = [one for one in self.events if isinstance(one, RequestReceived) and one.stream_id == stream]
            assert (b"x-seen", b"before") in asked.headers
        return stream in self.told(StreamEnded)


@pytest.fixture
def pair() -> Pair:
    return Pair()


def without(name: str) -> Fields:
    return [field for field in GOOD if field[0] != name]


MALFORMED: dict[str, Fields] = {
    # 8.2.1
    "an upper-case name": [*GOOD, ("X-Malformed-Too", "a")],
    "a space in a name": [*GOOD, ("x y", "a")],
    "a colon in a name": [*GOOD, ("x:y", "a")],
    "an empty name": [*GOOD, ("", "a")],
    "a line feed in a value": [*GOOD, ("x", "a\nb")],
    "a NUL in a value": [*GOOD, ("x", "a\0b")],
    "a space around a value": [*GOOD, ("x", " a")],
    # 8.2.2
    "connection": [*GOOD, ("connection", "keep-alive")],
    "transfer-encoding": [*GOOD, ("transfer-encoding", "chunked")],
    "upgrade": [*GOOD, ("upgrade", "h2c")],
    "te": [*GOOD, ("te", "gzip")],
    # 8.3
    "no method": without(":method"),
    "no path": without(":path"),
    "no scheme": without(":scheme"),
    "no authority": without(":authority"),
    "nothing": [("x", "a")],
    "an empty path": [*without(":path"), (":path", "")],
    "a pseudo-header twice": [*GOOD, (":path", "/")],
    "a pseudo-header behind a field": [("x", "a"), *GOOD],
    "an unknown pseudo-header": [*GOOD, (":x", "a")],
    "a status": [*GOOD, (":status", "200")],
    "an informational status": [(":status", "100"), *GOOD],
    "another host": [*GOOD, ("host", "y")],
    # 8.1.1
    "a length that is no number": [*GOOD, ("content-length", "-1")],
    "two lengths": [*GOOD, ("content-length", "0"), ("content-length", "1")],
}


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("end", [True, False])
def test_a_malformed_header_ends_its_stream_alone(pair: Pair, name: str, end: bool):
    other = pair.ask(GOOD, end=False)
    # A field of it may be needed to understand later ones.
    malformed = pair.ask([*MALFORMED[name], ("x-seen", "before")], end=end)
    assert pair.is_refused(malformed)
    pair.client.send_data(other, b"abc", end_stream=True)
    pair.pass_on()
    assert pair.told(StreamEnded) == [other]
    assert pair.works()


@pytest.mark.parametrize("pieces", [[b"abc"], [b"a", b"bc"], [b"ab", b"c" * 10_000]])
@pytest.mark.parametrize("end", [True, False])
def test_more_data_than_was_announced_ends_its_stream_alone(pair: Pair, pieces: list[bytes], end: bool):
    stream = pair.ask([*GOOD, ("content-length", "2")], end=False)
    for number, piece in enumerate(pieces, 1):
        pair.client.send_data(stream, piece, end_stream=end and number == len(pieces))
    pair.pass_on()
    assert pair.is_refused(stream)
    assert stream not in pair.told(StreamEnded)
    assert b"".join(one.data for one in pair.events if isinstance(one, DataReceived)) == b"".join(pieces[:-1])
    assert pair.works()


def test_a_body_that_was_announced_and_does_not_come_ends_its_stream_alone(pair: Pair):
    assert pair.is_refused(pair.ask([*GOOD, ("content-length", "1")]))
    assert pair.works()


def test_less_data_than_was_announced_ends_its_stream_alone(pair: Pair):
    stream = pair.ask([*GOOD, ("content-length", "2")], end=False)
    pair.client.send_data(stream, b"a", end_stream=True)
    pair.pass_on()
    assert pair.is_refused(stream)
    assert stream not in pair.told(StreamEnded)
    assert pair.works()


def test_what_came_too_much_is_told_so_that_the_window_is_no_smaller(pair: Pair):
    stream = pair.ask([*GOOD, ("content-length", "2")], end=False)
    pair.client.send_data(stream, b"abc", pad_length=10)
    pair.pass_on()
    (taken,) = [one for one in pair.events if isinstance(one, DataReceived)]
    assert (taken.data, taken.flow_controlled_length) == (b"", 14)  # with the padding and its length (section 6.1)


def test_what_comes_behind_a_malformed_header_is_dropped(pair: Pair):
    pair.encoder.instead = [*GOOD, ("connection", "close")]
    pair.client.send_headers(1, GOOD)
    pair.client.send_data(1, b"abc", end_stream=True)
    pair.pass_on()
    assert (pair.told(StreamReset), pair.told(DataReceived), pair.told(StreamEnded)) == ([1], [], [])
    assert pair.works()


TRAILERS: dict[str, tuple[Fields, bool]] = {
    "a pseudo-header": ([(":path", "/")], True),
    "an informational status": ([(":status", "100")], True),
    "an upper-case name": ([("X", "a")], True),
    "a length that is no number": ([("content-length", "x")], True),
    "it is not the end": ([("x", "a")], False),
}


@pytest.mark.parametrize("name", TRAILERS)
def test_a_malformed_trailer_ends_its_stream_alone(pair: Pair, name: str):
    fields, end = TRAILERS[name]
    stream = pair.ask(GOOD, end=False)
    pair.trail(stream, fields, end=end)
    assert pair.is_refused(stream)
    assert stream not in pair.told(StreamEnded)
    assert pair.works()


@pytest.mark.parametrize(("announced", "refused"), [("3", False), ("4", True)])
def test_a_trailer_ends_the_body_that_was_announced(pair: Pair, announced: str, refused: bool):
    stream = pair.ask([*GOOD, ("content-length", announced)], end=False)
    pair.client.send_data(stream, b"abc")
    pair.trail(stream, [("x", "a")])
    assert pair.is_refused(stream) == refused
    assert (stream in pair.told(StreamEnded)) != refused
    assert pair.told(TrailersReceived) == [stream]
    assert pair.works()


def test_a_stream_that_depends_on_itself_is_nothing_special(pair: Pair):
    # Section 5.3.2: priorities are deprecated.
    block = Encoder().encode(GOOD)
    flags = ["END_HEADERS", "END_STREAM", "PRIORITY"]
    pair.pass_on(
        PriorityFrame(1, depends_on=1).serialize() + HeadersFrame(1, block, depends_on=1, flags=flags).serialize()
    )
    assert pair.told(StreamEnded) == [1]


def header_on(stream: int) -> bytes:
    return HeadersFrame(stream, Encoder().encode(GOOD), flags=["END_HEADERS", "END_STREAM"]).serialize()


BROKEN: dict[str, tuple[Callable[[], bytes], ErrorCodes]] = {
    "fields that cannot be decoded": (
        lambda: HeadersFrame(3, b"\xff\xff", flags=["END_HEADERS"]).serialize(),
        ErrorCodes.PROTOCOL_ERROR,
    ),
    "a stream whose turn is over": (lambda: header_on(5) + header_on(3), ErrorCodes.PROTOCOL_ERROR),
    "data before a request": (lambda: DataFrame(3, b"a").serialize(), ErrorCodes.PROTOCOL_ERROR),
    "more data than the window has": (
        lambda: DataFrame(1, bytes(16384)).serialize() * 5,
        ErrorCodes.FLOW_CONTROL_ERROR,
    ),
    "a frame that is too large": (lambda: DataFrame(1, bytes(20000)).serialize(), ErrorCodes.FRAME_SIZE_ERROR),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_leaves_the_ends_disagreed_still_ends_the_connection(pair: Pair, name: str):
    # Sections 4.2, 4.3, 5.1.1, 6.9.1.
    frames, why = BROKEN[name]
    pair.ask(GOOD, end=False)
    with pytest.raises(ProtocolError):
        pair.pass_on(frames())
    (said,) = [one for one in pair.answers if isinstance(one, ConnectionTerminated)]
    assert said.error_code == why
