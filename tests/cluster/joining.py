"""A node's join port for tests, and the other side of a join spoken by hand."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from appliance.cluster import join_messages as messages
from appliance.cluster.agent.join_port import About, JoinPort
from appliance.cluster.cluster_key import ClusterKey
from appliance.cluster.identity import Identity, client_context, id_of, server_context
from appliance.cluster.join import Told, Transcript, claim

SECRET = bytes(range(20))


@dataclass
class Owner:
    """Keeps its gateway in memory; `fails` is raised instead."""

    key: ClusterKey | None = None
    words: tuple[str, ...] | None = None
    gateway: bytes | None = None
    fails: Exception | None = None
    times: int = 0

    def told(self) -> Told:
        return Told(self.key, self.words, None if self.gateway is None else id_of(self.gateway))

    async def belong_to(self, gateway: bytes) -> None:
        if self.fails is not None:
            raise self.fails
        self.gateway = gateway
        self.times += 1


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Running:
    identity: Identity
    owner: Owner
    port: int
    clock: Clock = field(default_factory=Clock)


def bound() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.setblocking(False)
    return sock


@asynccontextmanager
async def join_port(
    owner: Owner, *, identity: Identity | None = None, deadline: float = 10.0
) -> AsyncIterator[Running]:
    sock = bound()
    running = Running(identity or Identity.create(), owner, sock.getsockname()[1])
    about = About("desk 3", 11435, 4)
    served = JoinPort(running.identity, owner, about, monotonic=running.clock, deadline=deadline)
    served.open(sock)
    try:
        yield running
    finally:
        await served.close()
        sock.close()


@dataclass
class Peer:
    """A connection to a join port, or of a gateway, spoken line by line."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, line: bytes) -> bytes:
        """The answer, empty where the other side closed."""
        self.writer.write(line)
        async with asyncio.timeout(10):
            return await self.reader.readline()


@asynccontextmanager
async def calling(port: int, context: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
    tls = context or client_context(None, None)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname="")
    try:
        yield Peer(reader, writer)
    finally:
        writer.transport.abort()


async def claim_line(peer: Peer, gateway: Identity, node: Identity, secret: bytes | None) -> tuple[bytes, bytes]:
    """The two lines with which a gateway joins, once the first has been answered."""
    hello = messages.Hello(gateway.certificate, b"\x07" * 32)
    challenge = messages.read_challenge(await peer.ask(hello.line()))
    way = "words" if secret is None else "key"
    transcript = Transcript(gateway.certificate, node.certificate, hello.nonce, challenge.nonce, way)
    return hello.line(), claim(gateway, transcript, secret).line()


@asynccontextmanager
async def false_node(answer: Callable[[Peer], Awaitable[None]], identity: Identity | None) -> AsyncIterator[int]:
    """A port of somebody's own making; without an identity it speaks no TLS."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(Peer(reader, writer))
        except OSError:
            pass
        finally:
            writer.transport.abort()

    context = None if identity is None else server_context(identity, None)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
