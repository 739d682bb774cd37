"""`GET /metrics`: counts and times for a monitoring, without a key on the machine itself (gateway.md, "Routes")."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv6Address, ip_address

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from appliance.errors import StorageUnavailable
from appliance.gateway.auth import Authenticator
from appliance.metering.metrics import CONTENT_TYPE, Metrics, Now
from appliance.store import log_entries
from appliance.store.database import Database

SCOPES = ("metrics",)

READ_SECONDS = 1.0
"""How long the database may take, before the scrape is answered without what it knows."""

_KEYS = {b"authorization", b"x-api-key"}

_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]{1,5})?")
"""A name or address, and a port (RFC 9110, section 7.2)."""

_ELSEWHERE = {b"forwarded", b"via", b"x-real-ip", b"origin"}
"""Headers of proxies, beside all that begin with `x-forwarded-`, and of pages in browsers."""


class MetricsPage:
    """`now` gives what is so at this moment, but for the size of the log."""

    def __init__(self, auth: Authenticator, database: Database, metrics: Metrics, now: Callable[[], Now]) -> None:
        self._auth = auth
        self._database = database
        self._metrics = metrics
        self._now = now

    async def show(self, request: Request) -> Response:
        """Prometheus' text. A key that is sent is checked, wherever the request comes from."""
        if not _comes_from_this_machine(request.scope):
            await self._auth.admitted(request.scope, SCOPES)
        entries = await self._log_entries()
        now = replace(self._now(), log_entries=entries)
        # Many series take a while to write down, during which calls go on.
        text = await asyncio.to_thread(self._metrics.text, now)
        return Response(text, headers={"content-type": CONTENT_TYPE})

    async def _log_entries(self) -> int | None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await self._database.read(log_entries.next_index)
        except (StorageUnavailable, TimeoutError):
            return None


def _comes_from_this_machine(scope: Scope) -> bool:
    """Whether a request without a key comes from a loopback address, not through a proxy that stands there, and not
    from a page in a browser that was led here under another name."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    names = headers.keys()
    if names & _KEYS or names & _ELSEWHERE or any(name.startswith(b"x-forwarded-") for name in names):
        return False
    host = _HOST.fullmatch(headers.get(b"host", b"").decode("latin-1"))
    if host is None or not (host[1] == "localhost" or is_loopback(host[1].strip("[]"))):
        return False
    return is_loopback(scope["client"][0]) if scope.get("client") else False


def is_loopback(host: str) -> bool:
    """Whether an address is of the machine itself, in either version of IP or one written in the other."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
