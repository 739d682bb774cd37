"""How each machine is spoken to: its own connections and what goes with every request.

A machine that was taken in has connections of its own, which go at once when it is put out, those in use too. Those of
the settings, and candidates, share theirs. Must not know what is said.
"""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import aiohttp

from appliance.cluster.machine import Machine

OpenSession = Callable[[ssl.SSLContext | None], aiohttp.ClientSession]


@dataclass(frozen=True, slots=True)
class Link:
    """`headers` go with every request; they may hold a key."""

    session: aiohttp.ClientSession
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


class Links:
    """`open_session` makes connections that trust whom the context says, None for the system's authorities."""

    def __init__(self, open_session: OpenSession) -> None:
        self._open = open_session
        self._shared = Link(open_session(None))
        self._own: dict[str, Link] = {}

    def of(self, machine: Machine) -> Link:
        """Raises `ConnectionError` for a pinned machine that was dropped: over its pin or not at all."""
        own = self._own.get(machine.id)
        if own is not None:
            return own
        if machine.trust == "pinned":
            raise ConnectionResetError("the machine is not admitted any more")
        return self._shared

    async def put(self, machine_id: str, tls: ssl.SSLContext | None, headers: Mapping[str, str] | None = None) -> None:
        """From now on the machine is spoken to like this."""
        before = self._own.get(machine_id)
        self._own[machine_id] = Link(self._open(tls), headers or {})
        if before is not None:
            await before.session.close()

    async def drop(self, machine_id: str) -> None:
        """Close its connections, those of running calls too."""
        own = self._own.pop(machine_id, None)
        if own is not None:
            await own.session.close()

    async def close(self) -> None:
        for machine_id in tuple(self._own):
            await self.drop(machine_id)
        await self._shared.session.close()
