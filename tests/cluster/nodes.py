"""Nodes in the test's own process, and who sits at an address in the place of one."""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from appliance.cluster.agent.node import Sockets, Trusted, port_of, running
from appliance.cluster.agent.state import opened
from appliance.cluster.cluster_key import parse
from appliance.cluster.sightings import Sighting
from appliance.cluster.words import words
from tests.waiting import until

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Node:
    """Where it listens, and what it would announce."""

    id: str
    port: int
    join_port: int
    host: str = HOST

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}"

    @property
    def last_words(self) -> str:
        return " ".join(words(self.id)[-2:])

    def heard(self, *addresses: str, interface: str = "eth0") -> Sighting:
        """At its own address, if no other is given."""
        name, at = f"syn-{self.id[:16]}", addresses or (self.host,)
        return Sighting("node", name, self.id, at, self.port, self.join_port, claimed=False, interface=interface)


def bound(host: str = HOST, port: int = 0) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, port))
    sock.setblocking(False)
    return sock


def key(text: str) -> Trusted:
    """Told the cluster key in this line."""
    return Trusted(key=parse(text))


@asynccontextmanager
async def node(
    directory: Path,
    ollama: str,
    trusted: Trusted,
    *,
    name: str = "desk",
    host: str = HOST,
    ports: tuple[int, int] = (0, 0),
    slots: int | None = 4,
) -> AsyncIterator[Node]:
    """`ports`: of calls and of joins, 0 for any that is free."""
    with (
        opened(directory, name=name, fallback="") as state,
        bound(host, ports[0]) as data,
        bound(host, ports[1]) as joins,
    ):
        async with running(
            state,
            trusted,
            Sockets(data, joins),
            ollama=ollama,
            slots=slots,
            version="1",
            announce=None,
            monotonic=time.monotonic,
        ):
            yield Node(state.identity.id, port_of(data), port_of(joins), host)


@dataclass
class Stranger:
    """`calls` are the clients that came, `said` all that it was told after the handshake."""

    port: int = 0
    calls: int = 0
    said: bytearray = field(default_factory=bytearray)


@asynccontextmanager
async def stranger(host: str, port: int, tls: ssl.SSLContext | None) -> AsyncIterator[Stranger]:
    """Somebody else's server, which takes whatever it is told; without `tls` it speaks none, and never answers."""
    seen = Stranger()
    open_ones: set[asyncio.StreamWriter] = set()

    def greeted(*_: object) -> None:
        seen.calls += 1

    if tls is not None:
        tls.sni_callback = greeted  # OpenSSL asks it of every client, also of one that breaks off then

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.calls += tls is None
        open_ones.add(writer)
        with suppress(OSError):
            while piece := await reader.read(1000):
                seen.said += piece
        writer.transport.abort()
        open_ones.discard(writer)

    server = await asyncio.start_server(serve, host, port, ssl=tls)
    seen.port = server.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        # Whoever was just accepted is let through first: a server that is closed meanwhile drops it unclosed.
        asyncio.get_running_loop().remove_reader(server.sockets[0].fileno())
        for _ in range(5):
            await asyncio.sleep(0)
        server.close()
        for writer in tuple(open_ones):
            writer.transport.abort()
        await until(lambda: not open_ones)


class Wire:
    """A relay in front of somebody's port: it can fall asleep, and it can break off all that goes through it."""

    def __init__(self, port: int) -> None:
        self._to = port
        self.port = 0
        self.calls = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._awake = asyncio.Event()
        self._awake.set()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def idle(self) -> bool:
        return not self._writers

    def sleep(self) -> None:
        """It still takes connections, and passes on nothing more in either direction."""
        self._awake.clear()

    def wake(self) -> None:
        self._awake.set()

    def cut(self) -> None:
        """Break all connections off, as a machine does that is killed."""
        for writer in tuple(self._writers):
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        self._writers.add(writer)
        with suppress(OSError):
            await self._awake.wait()
            inner_reader, inner = await asyncio.open_connection(HOST, self._to)
            self._writers.add(inner)
            try:
                await asyncio.gather(self._pass(reader, inner), self._pass(inner_reader, writer))
            finally:
                inner.transport.abort()
                self._writers.discard(inner)
        self._writers.discard(writer)
        writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            await self._awake.wait()
            writer.write(piece)
            await writer.drain()
        writer.transport.abort()


@asynccontextmanager
async def wire(url: str) -> AsyncIterator[tuple[Wire, asyncio.Server]]:
    """In front of what listens at `url` on loopback. Closing the server lets nobody in any more."""
    made = Wire(int(url.rpartition(":")[2]))
    server = await asyncio.start_server(made.serve, HOST, 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made, server
    finally:
        server.close()
        made.wake()
        made.cut()
        await until(lambda: made.idle)


@dataclass
class Ear:
    """What is heard on the network, as it is played; in the place of `Discovery`, whose class it stands in for."""

    sightings: tuple[Sighting, ...] = ()
    problem: str | None = None
    started: int = 0
    stopped: int = 0
    interfaces: tuple[str, ...] = ()
    kept: Collection[str] = ()
    _changed: Callable[[], None] = field(default=lambda: None)

    def __call__(self, *, interfaces: tuple[str, ...], changed: Callable[[], None]) -> "Ear":
        self.interfaces = interfaces
        self._changed = changed
        return self

    async def start(self) -> None:
        self.started += 1

    async def stop(self) -> None:
        self.stopped += 1

    def snapshot(self) -> tuple[Sighting, ...]:
        return self.sightings

    def keep(self, keys: Collection[str]) -> None:
        self.kept = keys

    def say(self, *sightings: Sighting) -> None:
        self.sightings = sightings
        self._changed()
