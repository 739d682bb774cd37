"""Accepts connections on a bound socket and gives each to Hypercorn's protocol, with an app made for it.

Used instead of Hypercorn's `serve` for three reasons: an app can be told who is at the other end of its connection, a
closed connection is given up at once, and stopping is ours. The loop is that of its `asyncio/run.py` (release pinned).
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any, Self, cast

from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed, Event, Updated
from hypercorn.typing import ASGIFramework

App = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application. It gets no lifespan: what it needs is built before."""

AppFor = Callable[[socket.socket], Awaitable[App]]
"""Gives the app of one connection. An `OSError` means that the connection is gone."""

BACKLOG = 512

GRACE_SECONDS = 3.0
"""How long requests that are being answered may go on after `close`."""


class Listener:
    """Accepts until `close`."""

    def __init__(self, app_for: AppFor, keep_alive_seconds: float) -> None:
        self._app_for = app_for
        self._context = WorkerContext(None)
        self._config = _config(keep_alive_seconds)
        self._connections: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None

    @classmethod
    async def open(cls, sock: socket.socket, app_for: AppFor, *, keep_alive_seconds: float) -> Self:
        """Accept on `sock`, which is bound, and is closed by `close`."""
        listener = cls(app_for, keep_alive_seconds)
        start = asyncio.start_unix_server if sock.family == socket.AF_UNIX else asyncio.start_server
        listener._server = await start(listener._connected, sock=sock, backlog=BACKLOG)
        return listener

    async def close(self) -> None:
        """Accept no more, let running requests end for GRACE_SECONDS, then cut them off."""
        if self._server is None:
            return
        self._server.close()
        await self._context.terminated.set()  # ends idle connections
        if self._connections:
            _, late = await asyncio.wait(self._connections, timeout=GRACE_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        await self._server.wait_closed()
        self._server = None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast(asyncio.Task[Any], asyncio.current_task())
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        try:
            app = await self._app_for(writer.get_extra_info("socket"))
        except OSError:
            writer.close()
            return
        wrapped = ASGIWrapper(cast(ASGIFramework, app))
        loop = asyncio.get_running_loop()
        # Only `close` cancels a connection, and asyncio would log that as a failure of its callback.
        with contextlib.suppress(asyncio.CancelledError):
            await _Connection(wrapped, loop, self._config, self._context, {}, reader, writer)


def same_app(app: App) -> AppFor:
    """One app for every connection."""

    async def app_for(_: socket.socket) -> App:
        return app

    return app_for


class _Connection(TCPServer):
    """Hypercorn's connection, which would hold the socket of a client that has left until its idle time is over."""

    async def _read_data(self) -> None:
        # HTTP/1.1 alone: on a cleartext HTTP/2 connection one stream that breaks would take the others with it.
        setattr(cast(Any, self.protocol).protocol, "_check_protocol", _stay_with_http_1)  # noqa: B010  its own hook
        await super()._read_data()
        await self.idle_task.stop()

    async def protocol_send(self, event: Event) -> None:
        # Idle after the client's last word: no further request can come.
        over = isinstance(event, Updated) and event.idle and self.reader.at_eof()
        await super().protocol_send(Closed() if over else event)


async def _stay_with_http_1(_: object) -> None:
    """In the place of Hypercorn's look at `Upgrade: h2c` and at HTTP/2's preface."""


def _config(keep_alive_seconds: float) -> Config:
    config = Config()
    config.keep_alive_timeout = cast(int, keep_alive_seconds)
    config.keep_alive_max_requests = 1_000_000  # a busy client's connection is no reason to make it connect again
    config.include_server_header = False
    config.accesslog = None
    config.errorlog = logging.getLogger("hypercorn.error")
    return config
