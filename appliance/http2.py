"""HTTP/2 on one connection: the frames of `http2_wire`, and Hypercorn's streams, in the place of its `H2Protocol`.

In that (release 0.18) one stream reaches the others: a client that still sends when its answer is complete, or that
has reset a thousand streams, breaks the connection, and a request that its app does not read stops it. An answer that
its app does not finish stays open without a word. A client that takes nothing makes its app wait for nothing: the
answer piles up here. And when we stop, ends of answers may be lost. Knows nothing of what is served.
"""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, RequestReceived, StreamEnded, StreamReset
from h2.events import Event as WireEvent
from h2.exceptions import ProtocolError
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol.events import Body, EndBody, Request, Response, StreamClosed
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.typing import AppWrapper, ConnectionState, TaskGroup, WorkerContext
from hypercorn.utils import filter_pseudo_headers

from appliance.http2_wire import STREAMS, Wire

RUNNING = 2 * STREAMS
"""How many apps may run for one connection: a stream that its client resets is over at once, but its app is not."""

WINDOW_BYTES = 65_535
"""How much of a request may come before its app takes it: what the standard starts with."""

HIGH_BYTES, LOW_BYTES = 64 * 1024, 32 * 1024
"""An app that is so far ahead of its client waits until it is only so far ahead."""

SLICE_BYTES = 2 * 1024
"""How much of what comes is looked at before others have their turn: it may be a hundred frames and more."""

_VISIBLE = re.compile(rb"[!-~]+")
"""What a method and a path are made of: h2 looks at neither."""


class _Stream:
    """One request on its way to its app, and the answer on its way to the client."""

    http: HTTPStream
    """Translates between the two."""

    def __init__(self, stream_id: int, took: Callable[["_Stream", int], None]) -> None:
        self.id = stream_id
        self.received = bytearray()
        self.request_ended = False
        self.gone = False
        self._news = asyncio.Event()
        self._told_end = False
        self._took = took

        self.outgoing = bytearray()
        self.answer_ended = False  # the app has said its last
        self.end_queued = False  # and it stands among the frames to be sent
        self.done = asyncio.Event()  # and is sent, or nobody waits for it any more
        self._room = asyncio.Event()
        self._room.set()

    def receive(self, data: bytes, *, end: bool) -> None:
        self.received += data
        self.request_ended = self.request_ended or end
        self._news.set()

    def leave(self) -> None:
        """The client is gone, or has all that it will get."""
        self.gone = True
        for event in (self._news, self._room, self.done):
            event.set()

    async def next_message(self) -> dict[str, Any]:
        """ASGI's `receive`: all that has come, in one message. What Hypercorn would queue could be a million."""
        while not (self.gone or self.received or (self.request_ended and not self._told_end)):
            self._news.clear()
            await self._news.wait()
        if self.gone:
            return {"type": "http.disconnect"}
        body = bytes(self.received)
        self.received.clear()
        self._told_end = self.request_ended
        self._took(self, len(body))
        return {"type": "http.request", "body": body, "more_body": not self._told_end}

    async def has_room(self) -> None:
        if len(self.outgoing) >= HIGH_BYTES and not self.gone:
            self._room.clear()
        await self._room.wait()

    def sent(self) -> None:
        """A frame of the answer has gone out."""
        if self.end_queued:
            self.done.set()
        if len(self.outgoing) <= LOW_BYTES:
            self._room.set()


class Http2:
    """Made and driven as Hypercorn makes and drives its `H2Protocol`.

    Two write to the connection: whoever reads it, for what h2 answers by itself, and `_write` for all that apps say.
    So an app may be cancelled while it sends, and no frame is lost: each changes how later ones are read.
    What comes is dealt with without a pause, so the streams here are those that h2 has, whenever an app runs.
    """

    def __init__(
        self,
        app: AppWrapper,
        config: Config,
        context: WorkerContext,
        task_group: TaskGroup,
        state: ConnectionState,
        ssl: bool,
        client: tuple[str, int] | None,
        server: tuple[str, int] | None,
        send: Callable[[Event], Awaitable[None]],
    ) -> None:
        self._app = app
        self._config = config
        self._context = context
        self._task_group = task_group
        self._state = state
        self._ends = (ssl, client, server)
        self._send = send
        self._wire = Wire()
        self._streams: dict[int, _Stream] = {}
        self._running: set[_Stream] = set()
        self._work = asyncio.Event()
        self._idle = self._leaving = self._closed = False

    async def initiate(self) -> None:
        self._wire.initiate_connection()
        # All streams share one more window: a request that is not read would use it up for the others.
        self._wire.increment_flow_control_window(WINDOW_BYTES * (STREAMS - 1))
        cast(Any, self._task_group).spawn(self._write)
        await self._flush()
        await self._settle()

    async def handle(self, event: Event) -> None:
        if isinstance(event, RawData):
            for start in range(0, len(event.data), SLICE_BYTES):
                if start:
                    await asyncio.sleep(0)
                await self._receive(event.data[start : start + SLICE_BYTES])
        elif isinstance(event, Closed):
            await self._over()

    async def farewell(self) -> None:
        """Tell the client, before it is closed, which of its requests have come. Not while there are streams: clients
        that are built on h2 give them all up for it.
        """
        self._leaving = True
        self._wire.close_connection()
        await self._flush()

    # What comes from the client

    async def _receive(self, data: bytes) -> None:
        if self._closed:
            return
        try:
            events = self._wire.receive_data(data)
        except ProtocolError:  # there is no telling what the rest means; h2 has prepared a GOAWAY that says why
            await self._over()
            await self._flush()
            await self._send(Closed())
            return
        left = {event.stream_id for event in events if isinstance(event, StreamReset)}
        for event in events:
            if not isinstance(event, RequestReceived):
                await self._happened(event)
            elif event.stream_id not in left:  # else it is not worth an app; CVE-2023-44487
                await self._open(event)
        self._work.set()  # a window may have opened
        await self._settle()
        await self._flush()

    async def _happened(self, event: WireEvent) -> None:
        if isinstance(event, DataReceived):
            self._data(event)
        elif isinstance(event, StreamEnded):
            if stream := self._streams.get(event.stream_id):
                stream.receive(b"", end=True)
        elif isinstance(event, StreamReset):
            if stream := self._streams.get(event.stream_id):
                await self._drop(stream)
        elif isinstance(event, ConnectionTerminated) and (event.error_code or not self._streams):
            await self._over()
            await self._send(Closed())

    async def _open(self, event: RequestReceived) -> None:
        stream_id = event.stream_id
        request = _request(stream_id, cast(list[tuple[bytes, bytes]], event.headers), self._state)
        full = len(self._running) >= RUNNING
        if request is None:
            self._reset(stream_id, ErrorCodes.PROTOCOL_ERROR)
        elif full or self._leaving or self._closed or self._context.terminated.is_set():
            self._reset(stream_id, ErrorCodes.REFUSED_STREAM)  # says that it may be tried again
        else:
            stream = self._streams[stream_id] = _Stream(stream_id, self._took)
            self._running.add(stream)
            app = cast(AppWrapper, partial(self._run, stream))
            stream.http = HTTPStream(
                app, self._config, self._context, self._task_group, *self._ends, self._stream_send, stream_id
            )
            await stream.http.handle(request)

    def _data(self, event: DataReceived) -> None:
        size, data = event.flow_controlled_length, event.data
        stream = self._streams.get(event.stream_id)
        # What is padding, or for nobody, is taken at once.
        self._wire.acknowledge_received_data(size - len(data) if stream else size, event.stream_id)
        if stream:
            stream.receive(data, end=False)

    def _took(self, stream: _Stream, size: int) -> None:
        self._wire.acknowledge_received_data(size, stream.id)
        self._work.set()

    # What comes from the apps

    async def _run(self, stream: _Stream, scope: Any, _: object, send: Any, *others: Any) -> None:
        # Extensions would be promises of Hypercorn's own protocol: push, trailers and hints are not made here.
        try:
            await self._app(cast(Any, {**scope, "extensions": {}}), cast(Any, stream.next_message), send, *others)
        finally:
            self._running.discard(stream)

    async def _stream_send(self, event: StreamEvent) -> None:
        stream = self._streams.get(event.stream_id)
        if stream is None:
            return  # its client has left it
        if isinstance(event, Response):
            status = (b":status", b"%d" % event.status_code)
            self._wire.send_headers(stream.id, [status, *event.headers, *self._config.response_headers("h2")])
            self._work.set()
        elif isinstance(event, Body):
            stream.outgoing += event.data
            self._work.set()
            await stream.has_room()
        elif isinstance(event, EndBody):
            stream.answer_ended = True
            self._work.set()
            await stream.done.wait()
        elif isinstance(event, StreamClosed):
            await self._app_ended(stream)

    async def _app_ended(self, stream: _Stream) -> None:
        if not stream.done.is_set():
            self._reset(stream.id, ErrorCodes.INTERNAL_ERROR)  # what was begun must not look complete
        elif not stream.request_ended:
            self._reset(stream.id, ErrorCodes.NO_ERROR)  # the rest is not needed (RFC 9113, section 8.1)
        await self._drop(stream)
        await self._settle()

    # What goes to the client

    async def _write(self) -> None:
        """Send what there is, of every stream a frame in turn, as fast as the client takes it."""
        try:
            while not self._closed:
                await self._work.wait()
                self._work.clear()
                while await self._round():
                    pass
        finally:
            await self._over()

    async def _round(self) -> bool:
        moved = [stream for stream in self._streams.values() if self._queue_frame(stream)]
        await self._flush()
        for stream in moved:
            stream.sent()
        return bool(moved)

    def _queue_frame(self, stream: _Stream) -> bool:
        """Put the next piece of an answer among the frames to be sent; whether there was one that may be."""
        if stream.end_queued or not (stream.outgoing or stream.answer_ended):
            return False
        window = min(self._wire.local_flow_control_window(stream.id), self._wire.max_outbound_frame_size)
        piece = bytes(stream.outgoing[: max(window, 0)])  # a client may make a window smaller than nothing
        end = stream.answer_ended and len(piece) == len(stream.outgoing)
        if not (piece or end):
            return False
        self._wire.send_data(stream.id, piece, end_stream=end)
        del stream.outgoing[: len(piece)]
        stream.end_queued = end
        return True

    def _reset(self, stream_id: int, why: ErrorCodes) -> None:
        with contextlib.suppress(ProtocolError):  # its client has done so already
            self._wire.reset_stream(stream_id, why)
        self._work.set()

    async def _drop(self, stream: _Stream) -> None:
        """Forget a stream, and tell its app, if it does not know."""
        del self._streams[stream.id]
        self._wire.acknowledge_received_data(len(stream.received), stream.id)
        stream.leave()
        await stream.http.handle(StreamClosed(stream.id))

    async def _flush(self) -> None:
        if data := self._wire.data_to_send():
            await self._send(RawData(data))

    async def _settle(self) -> None:
        """Say whether the connection is idle, where that has changed."""
        idle = not self._streams
        if idle != self._idle and not self._closed:
            self._idle = idle
            await self._send(Updated(idle))

    async def _over(self) -> None:
        """The connection is closed, or will be at once."""
        self._closed = True
        for stream in list(self._streams.values()):
            await self._drop(stream)
        self._work.set()


def _request(stream_id: int, headers: list[tuple[bytes, bytes]], state: ConnectionState) -> Request | None:
    """Nothing where an app cannot be asked: a tunnel (nothing here is one), or a path that is none."""
    pseudo = {name: value for name, value in headers if name.startswith(b":")}
    method, path = pseudo[b":method"].upper(), pseudo.get(b":path", b"")
    if method == b"CONNECT" or not (_VISIBLE.fullmatch(method) and _VISIBLE.fullmatch(path)):
        return None
    fields = filter_pseudo_headers(headers)
    return Request(stream_id, headers=fields, http_version="2", method=method.decode(), raw_path=path, state=state)
