"""One node: its state, its join port, its front and its announcement, started and ended together.

Knows nothing of processes and signals; `agent.main` is the process around it.
"""

import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from appliance.cluster.agent.front import Front
from appliance.cluster.agent.join_port import About, JoinPort
from appliance.cluster.agent.state import NodeState
from appliance.cluster.cluster_key import ClusterKey
from appliance.cluster.identity import id_of
from appliance.cluster.join import Told
from appliance.errors import ConfigError


class Announcement(Protocol):
    """A node's service on the network. None of these waits for the network, or fails for what it does."""

    async def start(self) -> None: ...

    async def update(self, properties: Mapping[str, str]) -> None: ...

    async def stop(self) -> None: ...


Announce = Callable[[str, int, Mapping[str, str]], Announcement]
"""Makes an announcement from the instance's name, the data port and the properties (cluster.md)."""


@dataclass(frozen=True, slots=True)
class Sockets:
    """Bound and not blocking, so that a taken port is told before anything is started."""

    data: socket.socket
    join: socket.socket


@dataclass(frozen=True, slots=True)
class Trusted:
    """What the node was started with to know its gateway by."""

    key: ClusterKey | None = None
    words: tuple[str, ...] | None = None


class Owner:
    """Who the node belongs to, and what opens when it belongs to somebody."""

    def __init__(
        self, state: NodeState, trusted: Trusted, front: Front, sockets: Sockets, announcement: Announcement | None
    ) -> None:
        self._state = state
        self._trusted = trusted
        self._front = front
        self._sockets = sockets
        self._announcement = announcement

    def told(self) -> Told:
        return told(self._state, self._trusted)

    async def belong_to(self, gateway: bytes) -> None:
        """On the disk before anybody is served, and served before the gateway is told that it may call."""
        self._state.pin(gateway)
        await self._front.open(self._sockets.data, gateway)
        if self._announcement is not None:
            await self._announcement.update(properties(self._state, port_of(self._sockets.join)))


def told(state: NodeState, trusted: Trusted) -> Told:
    claimed_by = None if state.gateway is None else id_of(state.gateway)
    return Told(key=trusted.key, words=trusted.words, claimed_by=claimed_by)


@asynccontextmanager
async def running(
    state: NodeState,
    trusted: Trusted,
    sockets: Sockets,
    *,
    ollama: str,
    slots: int | None,
    version: str,
    announce: Announce | None,
    monotonic: Callable[[], float],
) -> AsyncGenerator[None]:
    """Serve until the block is left; then open streams have a few seconds. Raises ConfigError: a port is taken."""
    port = port_of(sockets.data)
    front = Front(state.identity, ollama=ollama, about={"name": state.name, "slots": slots, "version": version})
    announcement = None
    if announce is not None:
        announcement = announce(state.identity.instance, port, properties(state, port_of(sockets.join)))
    owner = Owner(state, trusted, front, sockets, announcement)
    joins = JoinPort(state.identity, owner, About(state.name, port, slots), monotonic=monotonic)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(front.close)
        stack.push_async_callback(joins.close)
        try:
            if state.gateway is not None:
                await front.open(sockets.data, state.gateway)
            joins.open(sockets.join)
        except OSError as error:  # another process may have bound it too, and begun to listen before us
            raise ConfigError(
                f"A port of the agent is taken ({error.strerror}).",
                advice="Stop what listens there, or choose others with --port and --join-port.",
            ) from error
        if announcement is not None:
            stack.push_async_callback(announcement.stop)
            await announcement.start()
        yield


def port_of(bound: socket.socket) -> int:
    return bound.getsockname()[1]


def properties(state: NodeState, join_port: int) -> dict[str, str]:
    """The TXT record (cluster.md, "What mDNS is for"): no version, no model and no name of anything."""
    return {
        "txtvers": "1",
        "proto": "1",
        "id": state.identity.id,
        "st": "open" if state.gateway is None else "claimed",
        "jp": str(join_port),
        "api": "ollama",
    }
