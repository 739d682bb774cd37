"""The connections to the machines: kept alive, direct, and only ever to addresses inside the building.

Whatever is called local must be local (cluster.md): every address is checked at every connect, so that a name that
moves outside cannot take a prompt with it; no proxy of the environment and no redirect is followed.
"""

import asyncio
import ipaddress
import socket
import ssl
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from appliance.cluster.addresses import PRIVATE, Inside

KEEP_ALIVE_SECONDS = 75.0
MAX_HEADER_BYTES = 32 * 1024

SILENT_SECONDS = 10
"""How long a machine may send nothing before it is asked for a sign of life (TCP keep-alive, tcp(7))."""

MAX_KEEP_ALIVE_SECONDS = 32_767
"""Linux takes no more between two such questions."""

CLOSING_SECONDS = 1.0
"""For a connection that was broken off to end, which takes two turns of the event loop."""

_OUTSIDE = "its name leads outside this network"


class LocalResolver(AbstractResolver):
    """Resolves names and refuses every answer outside the building."""

    def __init__(self, inner: AbstractResolver, inside: Inside = PRIVATE) -> None:
        self._inner = inner
        self._inside = inside

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        results = await self._inner.resolve(host, port, family)
        local = [result for result in results if self._inside.holds(_address(result["host"]))]
        if not local:
            raise OSError(None, _OUTSIDE)
        return local

    async def close(self) -> None:
        await self._inner.close()


class _Connector(aiohttp.TCPConnector):
    """Whoever reads an answer when it is closed is told that the connection broke.

    aiohttp's own forgets the reader before the connection ends, and leaves it waiting for the rest of the body.
    """

    async def close(self, *, abort_ssl: bool = False) -> None:
        running = [(one.transport, one.closed) for one in tuple(self._acquired) if one.transport is not None]
        for transport, _ in running:
            transport.abort()
        if ended := [closed for _, closed in running if closed is not None]:
            await asyncio.wait(ended, timeout=CLOSING_SECONDS)
        await super().close(abort_ssl=abort_ssl)


def open_session(
    *, tls: ssl.SSLContext | None = None, inside: Inside = PRIVATE, connect_seconds: float = 5.0
) -> aiohttp.ClientSession:
    """Connections to one machine, or to all that are known by their address. Close it when nobody wants them.

    `tls`: whom to trust, None for this system's own certificate authorities. `connect_seconds`: how long what was
    sent may stay unconfirmed, as long as making a connection may take.
    """

    def connecting(info: Any) -> socket.socket:
        # An address that stands in a URL passes no resolver, so that it is checked here as well.
        if not inside.holds(_address(info[4][0])):
            raise OSError(None, _OUTSIDE)
        return _socket(info, connect_seconds)

    connector = _Connector(
        limit=0,
        ssl=tls or True,
        resolver=LocalResolver(aiohttp.ThreadedResolver(), inside),
        keepalive_timeout=KEEP_ALIVE_SECONDS,
        use_dns_cache=False,
        socket_factory=connecting,
    )
    options: dict[str, Any] = {"max_line_size": MAX_HEADER_BYTES, "max_field_size": MAX_HEADER_BYTES}
    return aiohttp.ClientSession(
        connector=connector,
        trust_env=False,
        # A compressed answer can unfold to any size; inside a network there is nothing to save.
        headers={"Accept-Encoding": "identity"},
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        **options,
    )


def _socket(info: Any, connect_seconds: float) -> socket.socket:
    """A socket on which a machine that has gone to sleep is noticed, also on a connection that was made before."""
    family, kind, protocol, _, _ = info
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_USER_TIMEOUT", round(connect_seconds * 1000)),
        ("TCP_KEEPIDLE", SILENT_SECONDS),
        ("TCP_KEEPINTVL", min(max(1, round(connect_seconds / 2)), MAX_KEEP_ALIVE_SECONDS)),
    ):
        if hasattr(socket, option):  # not every system has them all
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(host.partition("%")[0])
