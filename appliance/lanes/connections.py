"""The connections of the local lane: kept alive, direct, and only ever to addresses inside the network.

Whatever is called local must be local (cluster.md): names are resolved and checked at every connect, so that a
name that moves outside cannot take a prompt with it; no proxy of the environment and no redirect is followed.
"""

import ipaddress
import socket
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from appliance.cluster.machine import is_local

KEEP_ALIVE_SECONDS = 75.0
MAX_HEADER_BYTES = 32 * 1024


class LocalResolver(AbstractResolver):
    """Resolves names and refuses every answer outside the building."""

    def __init__(self, inner: AbstractResolver) -> None:
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        results = await self._inner.resolve(host, port, family)
        local = [result for result in results if is_local(ipaddress.ip_address(result["host"].partition("%")[0]))]
        if not local:
            raise OSError(None, "its name leads outside this network")
        return local

    async def close(self) -> None:
        await self._inner.close()


def open_session() -> aiohttp.ClientSession:
    """One session for every machine of the local lane. Close it when the daemon stops."""
    connector = aiohttp.TCPConnector(
        limit=0,
        resolver=LocalResolver(aiohttp.ThreadedResolver()),
        keepalive_timeout=KEEP_ALIVE_SECONDS,
        use_dns_cache=False,
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
