"""Accepts connections on a bound socket and serves each with an app made for it, in HTTP/1.1 or HTTP/2.

Used instead of Hypercorn's `serve` for three reasons: an app can be told who is at the other end of its connection, a
closed connection is given up at once, and stopping is ours. The loop is that of its `asyncio/run.py` (release pinned).
"""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Self, cast

import h11
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.task_group import TaskGroup
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol import ProtocolWrapper
from hypercorn.protocol.h11 import H2ProtocolAssumedError, H11Protocol
from hypercorn.typing import AppWrapper, ASGIFramework, ASGIReceiveEvent, ASGISendEvent, ConnectionState, Scope

from appliance.http2 import Http2
from appliance.http2_wire import HEADER_BYTES

App = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application. It gets no lifespan: what it needs is built before."""

AppFor = Callable[[socket.socket], Awaitable[App]]
"""Gives the app of one connection. An `OSError` means that the connection is gone."""

BACKLOG = 512

GRACE_SECONDS = 3.0
"""How long requests that are being answered may go on after `close`."""

CUT_SECONDS = 1.0
"""How long those that are cut off then have to say so. A client that takes nothing would make it for ever."""

WRITE_SECONDS = 150.0
"""How long a client may hold up what is written to it: longer than an app lets it hold up an answer."""

HANDSHAKE_SECONDS = 10.0
"""How long a client may take to settle on TLS: some milliseconds and two ways through the network."""

GOODBYE_SECONDS = 3.0
"""How long it may take to say TLS's own goodbye, which many clients leave out."""

CLOSE_SECONDS = 30.0
"""How long a client may take for the last bytes of a connection that is closed."""


class Listener:
    """Accepts until `close`."""

    def __init__(self, app_for: AppFor, keep_alive_seconds: float, *, http2: bool) -> None:
        self._app_for = app_for
        self._http2 = http2
        self._context = WorkerContext(None)
        self._config = _config(keep_alive_seconds)
        self._connections: dict[asyncio.Task[Any], _Connection] = {}
        self._server: asyncio.Server | None = None

    @classmethod
    async def open(
        cls,
        sock: socket.socket,
        app_for: AppFor,
        *,
        keep_alive_seconds: float,
        http2: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> Self:
        """Accept on `sock`, which is bound, and is closed by `close`.

        With `http2` a client may speak it from its first byte, or once TLS has settled on it (RFC 9113, section 3).
        """
        listener = cls(app_for, keep_alive_seconds, http2=http2)
        start = asyncio.start_unix_server if sock.family == socket.AF_UNIX else asyncio.start_server
        options: dict[str, Any] = {}
        if tls is not None:
            options = {"ssl": tls, "ssl_handshake_timeout": HANDSHAKE_SECONDS, "ssl_shutdown_timeout": GOODBYE_SECONDS}
        listener._server = await start(listener._connected, sock=sock, backlog=BACKLOG, **options)
        return listener

    async def close(self) -> None:
        """Accept no more, let running requests end for GRACE_SECONDS, then cut them off."""
        if self._server is None:
            return
        self._server.close()
        await self._context.terminated.set()  # ends idle connections
        await self._ended_within(GRACE_SECONDS)
        for task in self._connections:
            task.cancel()
        await self._ended_within(CUT_SECONDS)
        for connection in self._connections.values():
            connection.writer.transport.abort()
        await self._ended_within(None)
        await self._server.wait_closed()
        self._server = None

    async def _ended_within(self, seconds: float | None) -> None:
        if self._connections:
            await asyncio.wait(self._connections, timeout=seconds)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast(asyncio.Task[Any], asyncio.current_task())
        self._connections[task] = connection = _Connection(
            self._app_for, self._config, self._context, reader, writer, http2=self._http2
        )
        task.add_done_callback(self._connections.pop)
        # Only `close` cancels a connection, and asyncio would log that as a failure of its callback.
        with contextlib.suppress(asyncio.CancelledError):
            await connection.run()


def same_app(app: App) -> AppFor:
    """One app for every connection."""

    async def app_for(_: socket.socket) -> App:
        return app

    return app_for


class _Connection(TCPServer):
    """Hypercorn's connection, which would keep its socket long after a client has left, or takes nothing any more."""

    def __init__(
        self,
        app_for: AppFor,
        config: Config,
        context: WorkerContext,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        http2: bool,
    ) -> None:
        no_app_yet = cast(AppWrapper, None)
        super().__init__(no_app_yet, asyncio.get_running_loop(), config, context, {}, reader, writer)
        self._app_for = app_for
        self._http2 = http2
        self._idle = True

    async def run(self) -> None:
        try:
            app = ASGIWrapper(cast(ASGIFramework, await self._app_for(self.writer.get_extra_info("socket"))))
            async with _Apps(self.loop) as group:
                self._task_group = group
                self.protocol = cast(ProtocolWrapper, _Spoken(self._parts(app, group), self.writer, http2=self._http2))
                await self.protocol.initiate()
                await self.protocol_send(Updated(idle=True))
                await self._read_data()
        except OSError:
            pass  # the client is gone
        finally:
            await self._close()

    def _parts(self, app: AppWrapper, group: TaskGroup) -> "_Parts":
        sock = self.writer.get_extra_info("socket")
        client, server = (_host_and_port(sock.family, end) for end in (sock.getpeername(), sock.getsockname()))
        tls = self.writer.get_extra_info("ssl_object") is not None
        state = ConnectionState({})
        return app, self.config, self.context, group, state, tls, client, server, self.protocol_send

    async def _read_data(self) -> None:
        await super()._read_data()
        await self.idle_task.stop()

    async def protocol_send(self, event: Event) -> None:
        if isinstance(event, RawData):
            with self._aborted_after(WRITE_SECONDS):
                await super().protocol_send(event)
            return
        if isinstance(event, Updated):
            self._idle = event.idle
            if event.idle and self.reader.at_eof():  # the client has said its last: no further request can come
                event = Closed()
        await super().protocol_send(event)

    async def _initiate_server_close(self) -> None:
        if not self._idle:
            return  # a request has come since
        await cast(_Spoken, self.protocol).farewell()
        # Not `_close`, which waits for the end of the idle task, while that may wait for us.
        with self._aborted_after(CLOSE_SECONDS), contextlib.suppress(OSError):
            self.writer.close()
            await self.writer.wait_closed()

    async def _close(self) -> None:
        with self._aborted_after(CLOSE_SECONDS):
            await super()._close()

    @contextlib.contextmanager
    def _aborted_after(self, seconds: float) -> Generator[None]:
        """Break the connection off if the block takes longer: it waits for a client that takes nothing."""
        late = self.loop.call_later(seconds, self.writer.transport.abort)
        try:
            yield
        finally:
            late.cancel()


_Parts = tuple[
    AppWrapper,
    Config,
    WorkerContext,
    TaskGroup,
    ConnectionState,
    bool,
    tuple[str, int] | None,
    tuple[str, int] | None,
    Callable[[Event], Awaitable[None]],
]
"""Of which Hypercorn makes a protocol: the app, what it runs in, whether there is TLS, both ends, and a way to send."""


class _Spoken:
    """What is spoken on a connection, in the place of Hypercorn's `ProtocolWrapper`: HTTP/1.1, or our HTTP/2.

    That is spoken when TLS has settled on it, or when the client begins with its preface (RFC 9113, sections 3.2 and
    3.3). `Upgrade: h2c` is not followed; that standard has dropped it.
    """

    def __init__(self, parts: _Parts, writer: asyncio.StreamWriter, *, http2: bool) -> None:
        self._parts = parts
        self._over = False
        tls = writer.get_extra_info("ssl_object")
        settled = tls is not None and tls.selected_alpn_protocol() == "h2"
        self._protocol = Http2(*parts) if settled else _Http1(*parts)
        if isinstance(self._protocol, _Http1):
            self._protocol.preface = http2

    async def initiate(self) -> None:
        await self._protocol.initiate()

    async def handle(self, event: Event) -> None:
        if self._over and isinstance(event, RawData):
            return
        try:
            await self._protocol.handle(event)
        except H2ProtocolAssumedError as error:
            self._protocol = Http2(*self._parts)
            await self._protocol.initiate()
            await self._protocol.handle(RawData(error.data))

    async def farewell(self) -> None:
        """No request is begun any more, not even one that is here already: nobody would get its answer."""
        self._over = True
        if isinstance(self._protocol, Http2):
            await self._protocol.farewell()
        await self._protocol.handle(Closed())


class _Http1(H11Protocol):
    """Hypercorn's, that looks for no other protocol than HTTP/2 by its preface."""

    preface = False

    async def _check_protocol(self, event: h11.Request) -> None:
        if self.preface and (event.method, event.target, event.http_version) == (b"PRI", b"*", b"2.0"):
            raise H2ProtocolAssumedError(b"PRI * HTTP/2.0\r\n\r\n" + self.connection.trailing_data[0])


class _Apps(TaskGroup):
    """Hypercorn's, where the messages of a request cannot stop its connection.

    Its queue would be full for ever when an app ends that has read little of a large body: not even that the stream is
    closed could be put there, and nothing would be read from the client again, be it that it has left.
    """

    async def spawn_app(
        self,
        app: AppWrapper,
        config: Config,
        scope: Scope,
        send: Callable[[ASGISendEvent | None], Awaitable[None]],
    ) -> Callable[[ASGIReceiveEvent], Awaitable[None]]:
        messages: asyncio.Queue[ASGIReceiveEvent] = asyncio.Queue()
        room = asyncio.Semaphore(config.max_app_queue_size)

        async def put(message: ASGIReceiveEvent) -> None:
            if message["type"] in ("http.disconnect", "websocket.disconnect"):
                room.release()  # whoever waits to put something does so in vain
            else:
                await room.acquire()
            messages.put_nowait(message)

        async def get() -> ASGIReceiveEvent:
            message = await messages.get()
            room.release()
            return message

        async def reading(scope: Scope, _: object, *others: Any) -> None:
            await app(scope, get, *others)

        await super().spawn_app(cast(AppWrapper, reading), config, scope, send)
        return put


def _host_and_port(family: int, address: Any) -> tuple[str, int] | None:
    return None if family == socket.AF_UNIX else address[:2]


def _config(keep_alive_seconds: float) -> Config:
    config = Config()
    config.keep_alive_timeout = cast(int, keep_alive_seconds)
    config.keep_alive_max_requests = 1_000_000  # a busy client's connection is no reason to make it connect again
    config.h11_max_incomplete_size = HEADER_BYTES
    config.include_server_header = False
    config.accesslog = None
    config.errorlog = logging.getLogger("hypercorn.error")
    return config
