"""A client that speaks HTTP/2 frame by frame, so that a test can do what no ordinary client does."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from h2.config import H2Configuration
from h2.connection import ConnectionInputs, H2Connection, H2ConnectionStateMachine
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, Event, ResponseReceived, StreamEnded, StreamReset

Headers = tuple[tuple[str, str], ...]


class _AfterGoaway(H2ConnectionStateMachine):
    """Takes what comes behind a GOAWAY, unlike h2's own."""

    def process_input(self, input_: ConnectionInputs) -> list[Event]:
        return [] if input_ is ConnectionInputs.RECV_GOAWAY else super().process_input(input_)


class Http2Client:
    """One connection; everything that came is kept by stream. What comes on a stream in `unread` gets no new window."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.wire = H2Connection(H2Configuration(client_side=True))
        self.wire.state_machine = _AfterGoaway()
        self.headers: dict[int, dict[bytes, bytes]] = {}
        self.body: dict[int, bytearray] = defaultdict(bytearray)
        self.ended: set[int] = set()
        self.resets: dict[int, ErrorCodes | int] = {}
        self.goaway: ConnectionTerminated | None = None
        self.closed = False
        self._news = asyncio.Event()
        self.unread: set[int] = set()

    def flush(self) -> None:
        self.writer.write(self.wire.data_to_send())

    def ask(
        self, path: str = "/", method: str = "GET", headers: Headers = (), body: bytes = b"", *, end: bool = True
    ) -> int:
        """Begin a request; its stream. Without `end` more of the body may follow."""
        stream = self.wire.get_next_available_stream_id()
        named = ((":method", method), (":path", path), (":scheme", "http"), (":authority", "x"), *headers)
        self.wire.send_headers(stream, named, end_stream=end and not body)
        if body:
            self.wire.send_data(stream, body, end_stream=end)
        self.flush()
        return stream

    async def upload(self, stream: int, body: bytes) -> None:
        """Send a body as the server's window allows."""
        sent = 0
        while sent < len(body):
            while self.wire.local_flow_control_window(stream) <= 0:
                self._news.clear()
                await self._news.wait()
            size = min(self.wire.local_flow_control_window(stream), self.wire.max_outbound_frame_size)
            piece = body[sent : sent + size]
            sent += len(piece)
            self.wire.send_data(stream, piece, end_stream=sent == len(body))
            self.flush()

    def reset(self, stream: int) -> None:
        self.wire.reset_stream(stream, ErrorCodes.CANCEL)
        self.flush()

    async def end_of(self, stream: int) -> bytes:
        """The body of an answer that has come to its proper end."""
        await self._until(lambda: stream in self.ended or stream in self.resets or self.closed)
        assert stream in self.ended, self.resets.get(stream, "the connection was closed")
        return bytes(self.body[stream])

    async def reset_of(self, stream: int) -> ErrorCodes | int:
        """Why the server has reset the stream."""
        await self._until(lambda: stream in self.resets or self.closed)
        return self.resets[stream]

    async def is_closed(self, seconds: float = 10.0) -> None:
        await self._until(lambda: self.closed, seconds)

    async def _until(self, true: Callable[[], bool], seconds: float = 10.0) -> None:
        async with asyncio.timeout(seconds):
            while not true():
                self._news.clear()
                await self._news.wait()

    async def read(self) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await self._reader.read(65536):
                for event in self.wire.receive_data(data):
                    self._happened(event)
                self.flush()
                self._news.set()
        self.closed = True
        self._news.set()

    def _happened(self, event: Event) -> None:
        if isinstance(event, ResponseReceived):
            self.headers[event.stream_id] = dict(event.headers)  # type: ignore[arg-type]  bytes, by default
        elif isinstance(event, DataReceived):
            self.body[event.stream_id] += event.data
            if event.stream_id not in self.unread:
                self.wire.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            self.ended.add(event.stream_id)
        elif isinstance(event, StreamReset):
            self.resets[event.stream_id] = event.error_code
        elif isinstance(event, ConnectionTerminated):
            self.goaway = event


@asynccontextmanager
async def http2_client(address: tuple[str, int]) -> AsyncIterator[Http2Client]:
    reader, writer = await asyncio.open_connection(*address)
    client = Http2Client(reader, writer)
    client.wire.initiate_connection()
    client.flush()
    reading = asyncio.ensure_future(client.read())
    try:
        yield client
    finally:
        writer.close()
        await reading
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
