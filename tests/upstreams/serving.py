"""What all the doubles have in common: how one listens, and how it knows that a caller left."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass
class Double:
    """`active` answers are being played; `left` callers went away before the end of theirs. `url` and `stop` are set
    when it listens."""

    url: str = ""
    active: int = 0
    left: int = 0
    connections: set[int] = field(default_factory=set[int])
    stop: Callable[[], Awaitable[None]] = field(default=None)  # type: ignore[assignment]

    async def play(self, answer: Awaitable[web.StreamResponse]) -> web.StreamResponse:
        self.active += 1
        try:
            return await answer
        except asyncio.CancelledError:
            self.left += 1
            raise
        finally:
            self.active -= 1


@asynccontextmanager
async def listening(
    double: Double, routes: Iterable[web.AbstractRouteDef], port: int, tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """It listens on loopback until the block is left, or until it is told to stop."""
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.add_routes(routes)
    # Without this a handler would go on after its client has left, and nothing could be said of cancelling.
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls).start()
    scheme = "http" if tls is None else "https"
    double.url = f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
    double.stop = runner.cleanup
    try:
        yield
    finally:
        await runner.cleanup()
