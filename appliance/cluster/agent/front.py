"""What the gateway reaches of a node: the local Ollama behind mutual TLS that takes that one gateway and nobody else.

Knows nothing of how the gateway was pinned, nor of what is forwarded (`agent.forwarding`).
"""

import logging
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress

import orjson
from aiohttp import hdrs, web

from appliance.cluster.agent.forwarding import Forwarding, error, open_session
from appliance.cluster.identity import Identity, presents, server_context

KEEP_ALIVE_SECONDS = 90.0
"""Above the 75 s after which the gateway drops an idle connection, so that it closes first, never we."""
SHUTDOWN_SECONDS = 1.0
"""What open streams may still take when the agent stops. aiohttp waits it twice: for its handlers, then to cancel."""


class Front:
    """`ollama` is the base URL of the local Ollama; `about` is what the node says of itself, as JSON values."""

    def __init__(self, identity: Identity, *, ollama: str, about: Mapping[str, object]) -> None:
        self._identity = identity
        self._ollama = ollama
        self._about = orjson.dumps(dict(about))
        self._gateway: bytes | None = None
        self._running = AsyncExitStack()

    async def open(self, bound: socket.socket, gateway: bytes) -> None:
        """Serve the gateway with this certificate (DER) on a bound socket, and from now on nobody else.

        Open already for this gateway: nothing happens. Raises OSError: the socket cannot be listened on.
        """
        if gateway == self._gateway:
            return
        await self.close()
        async with AsyncExitStack() as stack:
            session = await stack.enter_async_context(open_session())
            runner = web.AppRunner(
                self._application(Forwarding(session, self._ollama, self._about)),
                handler_cancellation=True,
                keepalive_timeout=KEEP_ALIVE_SECONDS,
                auto_decompress=False,
                access_log=None,
                logger=logging.Logger("aiohttp", logging.CRITICAL),  # it would log pieces of malformed bodies
                shutdown_timeout=SHUTDOWN_SECONDS,
            )
            await runner.setup()
            stack.push_async_callback(runner.cleanup)
            # A copy, since the runner closes what it is given, and the port stays ours until the agent ends.
            copy = stack.enter_context(bound.dup())
            site = web.SockSite(runner, copy, ssl_context=server_context(self._identity, gateway))
            await site.start()
            stack.push_async_callback(_stop_listening, site, bound)
            self._gateway = gateway
            self._running = stack.pop_all()

    async def close(self) -> None:
        """Serve nobody. What is being answered is cut off after twice SHUTDOWN_SECONDS."""
        try:
            await self._running.aclose()
        finally:
            self._gateway = None

    def _application(self, forwarding: Forwarding) -> web.Application:
        async def answer(request: web.Request) -> web.StreamResponse:
            # TLS has refused everybody else; this holds even if its rules on certificates have an exception.
            if self._gateway is None or request.transport is None or not presents(request.transport, self._gateway):
                return error(403, "this machine belongs to another gateway")
            return await forwarding.answer(request)

        app = web.Application()
        app.on_response_prepare.append(_drop_headers)
        app.router.add_route("*", "/{path:.*}", answer)
        return app


async def _stop_listening(site: web.SockSite, bound: socket.socket) -> None:
    await site.stop()
    # Its copy is closed, but the socket would go on taking connections that nobody serves.
    with suppress(OSError):
        bound.shutdown(socket.SHUT_RD)


async def _drop_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.pop(hdrs.SERVER, None)
