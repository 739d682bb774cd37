"""The machines that were decided about, as they run: what is kept of a decision becomes a machine with its connections.

Writes no decision down; but where a pinned machine was reached last is told to whoever keeps it.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from appliance.cluster.addresses import PRIVATE, Inside, at_url, host_of, port_of
from appliance.cluster.identity import Identity, client_context
from appliance.cluster.links import Links
from appliance.cluster.machine import DEFAULT_SLOTS, Machine
from appliance.cluster.places import Places
from appliance.cluster.registry import Registry
from appliance.errors import ConfigError
from appliance.store.nodes import NodeRow
from appliance.tasks import Tasks

_log = logging.getLogger(__name__)

ALIVE_SECONDS = 5.0
"""How long a machine has for a handshake that shows that it is still there."""

Reached = Callable[[str, str], Awaitable[None]]
"""Told the id and the new URL of a pinned machine that answers at another address than before."""


def machine_of(row: NodeRow, inside: Inside = PRIVATE) -> Machine:
    """The machine that a row in use stands for. Raises `ConfigError` where its address is outside the building."""
    if row.trust == "open":
        made = at_url(row.url, kind=row.kind, name=row.name, slots=row.slots, inside=inside)
    else:
        slots_set = row.slots is not None
        made = Machine(row.id, row.name, row.url, "pinned", slots=row.slots or DEFAULT_SLOTS, slots_set=slots_set)
    return replace(made, draining=row.state == "draining")


class Members:
    """`identity` is the gateway's own, which pinned machines let in."""

    def __init__(
        self,
        *,
        identity: Identity,
        registry: Registry,
        links: Links,
        places: Places,
        reached: Reached,
        inside: Inside = PRIVATE,
    ) -> None:
        self._identity = identity
        self._registry = registry
        self._links = links
        self._places = places
        self._reached = reached
        self._inside = inside
        self._rows: dict[str, NodeRow] = {}
        self._listed: frozenset[str] = frozenset()
        self._tasks = Tasks()
        registry.listen(self._machine_changed)

    async def start(self, listed: Iterable[Machine], rows: Mapping[str, tuple[NodeRow, str | None]]) -> None:
        """Take in the machines of the settings and those of the rows, each with its key, and ask all of them once.

        A row whose machine cannot be made is left out, with a line in the log: the others are worth a start.
        """
        machines = {machine.id: machine for machine in listed}
        self._listed = frozenset(machines)
        for row, key in rows.values():
            self._rows[row.id] = row
            if row.in_use and row.id not in machines:
                try:
                    machines[row.id] = machine_of(row, self._inside)
                    await self._connect(row, key)
                except (ConfigError, ValueError, OSError) as error:
                    _log.error("the machine %s cannot be used (%s)", row.name, type(error).__name__)
                    machines.pop(row.id, None)
        await self._registry.start(machines.values())

    async def stop(self) -> None:
        await self._tasks.cancel()

    def rows(self) -> tuple[NodeRow, ...]:
        """What was decided, of every machine, in the order of the decisions."""
        return tuple(self._rows.values())

    def get(self, node_id: str) -> NodeRow | None:
        return self._rows.get(node_id)

    def is_listed(self, machine_id: str) -> bool:
        """Whether the settings name it, so that nothing else decides about it."""
        return machine_id in self._listed

    async def take(self, row: NodeRow, key: str | None = None) -> None:
        """A decision holds from now on. `key` is an open machine's, in the clear.

        A machine that is put out has its connections closed at once, those of running calls too.
        """
        before = self._rows.get(row.id)
        self._rows[row.id] = row
        if not row.in_use:
            await self._part(row.id)
            return
        if before is None or not before.in_use or _trust(before) != _trust(row):
            await self._connect(row, key)
        now = self._rows.get(row.id)
        if now is not None and now.in_use:  # else it was put out while old connections were closed
            self._registry.put(machine_of(row, self._inside))

    async def forget(self, node_id: str) -> None:
        """Nothing is known of it any more."""
        self._rows.pop(node_id, None)
        await self._part(node_id)

    async def is_alive(self, row: NodeRow) -> bool:
        """Whether a pinned machine is there now, and shows the key that it was admitted with."""
        machine = self._registry.get(row.id)
        urls = dict.fromkeys([machine.url if machine else row.url, *self._places.of(row.id)])
        return any([await self._shows_its_key(url, row) for url in urls])

    def heard_at(self, node_id: str, urls: Iterable[str]) -> None:
        """A pinned machine says that it is there. That is a hint: it counts if it does not answer where it was."""
        if self._places.hear(node_id, urls):
            self._registry.probe_soon(node_id)

    async def _part(self, node_id: str) -> None:
        self._registry.remove(node_id)
        self._places.forget(node_id)
        await self._links.drop(node_id)

    async def _connect(self, row: NodeRow, key: str | None) -> None:
        if row.trust == "pinned":
            await self._links.put(row.id, self._pinning(row))
        else:
            tls = None if row.ca is None else ssl.create_default_context(cadata=row.ca)
            await self._links.put(row.id, tls, {"Authorization": f"Bearer {key}"} if key else {})

    def _pinning(self, row: NodeRow) -> ssl.SSLContext:
        """Raises ValueError for a row without a certificate: a context without a pin would trust anybody."""
        if row.certificate is None:
            raise ValueError("a pinned machine has no certificate")
        return client_context(self._identity, row.certificate)

    async def _shows_its_key(self, url: str, row: NodeRow) -> bool:
        context = self._pinning(row)
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(ALIVE_SECONDS):
                _, writer = await asyncio.open_connection(host_of(url), port_of(url), ssl=context, server_hostname="")
            writer.transport.abort()
            return True
        return False

    def _machine_changed(self, _: Machine | None, after: Machine | None) -> None:
        row = self._rows.get(after.id) if after is not None else None
        if after is None or row is None or not after.healthy or after.trust != "pinned" or after.url == row.url:
            return
        self._rows[row.id] = replace(row, url=after.url)
        _log.info("machine %s answers at another address", after.name)
        self._tasks.spawn("reached", self._note(after.id, after.url))

    async def _note(self, node_id: str, url: str) -> None:
        await self._reached(node_id, url)


def _trust(row: NodeRow) -> tuple[object, ...]:
    """What its connections are made of."""
    return (row.certificate, row.ca, row.sealed, row.kind)
