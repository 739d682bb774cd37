"""Announces a service of this machine over mDNS, on every interface with that interface's own addresses (RFC 6763).

Knows nothing of what the service is. What it says is a hint for whoever listens, and never a proof of anything.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from zeroconf import (
    DNSAddress,  # pyright: ignore[reportPrivateImportUsage]  public, but not in its __all__
    RecordUpdate,
    RecordUpdateListener,
    ServiceInfo,
    Zeroconf,
)
from zeroconf.asyncio import AsyncZeroconf

from appliance.cluster.interfaces import READ_SECONDS, Address, Interface
from appliance.cluster.lans import Lans

_log = logging.getLogger(__name__)


AGAIN_SECONDS = 1.5
"""Until it is all said once more: what is younger than a second replaces no old address (RFC 6762, 8.3 and 10.2)."""


@dataclass(frozen=True, slots=True)
class Service:
    """`type` as in `_synapse-node._tcp.local.`, `instance` the one label in front of it, `properties` the TXT record.

    The instance is the name of the host too, so it may hold only what a host's name may.
    """

    type: str
    instance: str
    port: int
    properties: Mapping[str, str]


class Announcer:
    """Says on every LAN where `service` is, and goodbye when it stops. Never raises for what a network does.

    `interfaces`: the names of those to use, else every LAN; `seconds`: how often they are read again.
    """

    def __init__(self, service: Service, *, interfaces: tuple[str, ...] = (), seconds: float = READ_SECONDS) -> None:
        self._service = service
        self._news = asyncio.Event()
        self._lans = Lans(self._announce, purpose="announcing", interfaces=interfaces, seconds=seconds)

    async def start(self) -> None:
        await self._lans.start()

    async def update(self, service: Service) -> None:
        """Announce this from now on: another port or other properties of the same instance, or another one."""
        self._service = service
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def stop(self) -> None:
        """Say goodbye, and wait until it is said."""
        await self._lans.stop()

    async def _announce(self, opened: AsyncZeroconf, interface: Interface) -> None:
        announced: ServiceInfo | None = None
        twins = _Twins(lambda: self._lans.own, interface.name)
        opened.zeroconf.async_add_listener(twins, None)
        while True:
            news, info = self._news, _info(self._service, interface)
            twins.host = self._service.instance
            if announced is None:
                await _register(opened, info)
            elif announced.key == info.key:
                await _update(opened, info)
            else:
                await _unregister(opened, announced)
                await _register(opened, info)
            announced = info
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_SECONDS):
                    await news.wait()
            if not news.is_set():
                await _update(opened, info)
                await news.wait()


# These calls return when they have begun, with a second thing to wait for. What it gives, which is nothing, the
# library leaves untyped.


async def _register(opened: AsyncZeroconf, info: ServiceInfo) -> None:
    """Without probing for others of this name (RFC 6762, 8.1).

    It is made from a key's hash, so we would take no other, and whoever forges an answer must not silence us.
    """
    await (await opened.async_register_service(info, cooperating_responders=True))  # pyright: ignore[reportUnknownMemberType]


async def _update(opened: AsyncZeroconf, info: ServiceInfo) -> None:
    await (await opened.async_update_service(info))  # pyright: ignore[reportUnknownMemberType]


async def _unregister(opened: AsyncZeroconf, info: ServiceInfo) -> None:
    await (await opened.async_unregister_service(info))  # pyright: ignore[reportUnknownMemberType]


def _info(service: Service, interface: Interface) -> ServiceInfo:
    return ServiceInfo(
        service.type,
        f"{service.instance}.{service.type}",
        port=service.port,
        properties=dict(service.properties),
        server=f"{service.instance}.local.",
        parsed_addresses=[str(one.ip) for one in interface.addresses],
    )


class _Twins(RecordUpdateListener):
    """Notices another machine with the name of this one, which is a copy of its key or a forgery, and logs it once."""

    def __init__(self, own: Callable[[], frozenset[Address]], interface: str) -> None:
        self.host = ""
        self._own = own
        self._interface = interface
        self._noticed = False

    def async_update_records(self, zc: Zeroconf, now: float, records: list[RecordUpdate]) -> None:  # noqa: ARG002
        """The library calls this with every record that is heard."""
        if self._noticed:
            return
        for update in records:
            record = update.new
            if isinstance(record, DNSAddress) and record.key == f"{self.host}.local.":
                own = {one.packed for one in self._own()}
                if record.ttl and record.address not in own:
                    self._noticed = True
                    _log.warning(
                        "on %s another machine calls itself %s: a copy of this one's key, or a forgery",
                        self._interface,
                        self.host,
                    )
                    return
