"""The node's side of a join: one port, one attempt at a time, and a deadline for each.

It decides by `cluster.join` and hands a gateway that proved itself on; knows nothing of files or of Ollama.
"""

import asyncio
import logging
import os
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from appliance.cluster import join_messages as messages
from appliance.cluster.identity import Identity, id_of, instance_of, server_context
from appliance.cluster.join import DEADLINE_SECONDS, Told, Transcript, check_claim, ways_for, welcome
from appliance.cluster.join_errors import ANSWERED, Failure, JoinError
from appliance.errors import SynapseError
from appliance.ids import RandomBytes
from appliance.tasks import Tasks

ATTEMPTS = 10
PER_SECONDS = 60.0
GREETING_SECONDS = 3.0
"""For a handshake and the first message: who says nothing keeps the port from others no longer."""

_CLOSING_SECONDS = 1.0
_BACKLOG = 16

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class About:
    """What a node says of itself to its gateway: name for people, data port, how many calls at once it takes."""

    name: str
    port: int
    slots: int | None


class Owner(Protocol):
    """What the node knows of its gateway, and what follows when it has proven itself."""

    def told(self) -> Told: ...

    async def belong_to(self, gateway: bytes) -> None:
        """Pin this certificate (DER) durably and serve it. Raises SynapseError or OSError: it did not work."""
        ...


class Attempts:
    """At most ATTEMPTS in PER_SECONDS; `monotonic` gives seconds."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._times: deque[float] = deque()

    def take(self) -> bool:
        now = self._monotonic()
        while self._times and self._times[0] <= now - PER_SECONDS:
            self._times.popleft()
        if len(self._times) >= ATTEMPTS:
            return False
        self._times.append(now)
        return True


class JoinPort:
    """Serves joins on a socket. A handshake alone, with which a gateway reads the node's id, is no attempt."""

    def __init__(
        self,
        identity: Identity,
        owner: Owner,
        about: About,
        *,
        monotonic: Callable[[], float],
        random: RandomBytes = os.urandom,
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        self._identity = identity
        self._owner = owner
        self._about = about
        self._attempts = Attempts(monotonic)
        self._random = random
        self._deadline = deadline
        self._context = server_context(identity, None)
        self._tasks = Tasks()
        self._busy = False

    def open(self, bound: socket.socket) -> None:
        """Serve on this bound socket, which is not blocking. Raises OSError."""
        bound.listen(_BACKLOG)
        self._tasks.spawn("join-port", self._accept_forever(bound))

    async def close(self) -> None:
        await self._tasks.cancel()

    async def _accept_forever(self, bound: socket.socket) -> None:
        """Not by the loop's `sock_accept`: cancelled in the right moment, that loses a connection, which stays open."""
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(bound, ready.set)
        try:
            while True:
                await ready.wait()
                ready.clear()
                try:
                    self._take(bound)
                except OSError as error:  # too many open files, for one: the next may get through
                    _log.warning("the join port accepted no connection (%s)", error.strerror)
                    await asyncio.sleep(1.0)
        finally:
            loop.remove_reader(bound)

    def _take(self, bound: socket.socket) -> None:
        """Every connection that waits. Raises OSError."""
        while True:
            try:
                accepted, _ = bound.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            if self._busy:
                accepted.close()
                continue
            accepted.setblocking(False)
            self._busy = True
            attempt = self._tasks.spawn("join", self._serve(accepted))
            # Here, since a task that is cancelled before its first step runs none of its own code.
            attempt.add_done_callback(lambda _, accepted=accepted: accepted.close())

    async def _serve(self, accepted: socket.socket) -> None:
        writer: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(self._deadline):
                async with asyncio.timeout(GREETING_SECONDS):
                    reader, writer = await self._secured(accepted)
                    first = await self._first(reader)
                await self._talk(first, reader, writer)
        except TimeoutError:
            _log.info("a join was not finished in time")
        except OSError as error:
            _log.debug("a connection to the join port broke (%s)", type(error).__name__)
        finally:
            self._busy = False
            if writer is not None:
                await _close(writer)

    async def _secured(self, accepted: socket.socket) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The connection after its handshake, which a server of asyncio's would do before we know of it."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=messages.MAX_LINE)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(
            lambda: protocol,
            accepted,
            ssl=self._context,
            ssl_handshake_timeout=self._deadline,
            ssl_shutdown_timeout=_CLOSING_SECONDS,
        )
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    async def _first(self, reader: asyncio.StreamReader) -> bytes:
        """What is said first, empty for nothing: a handshake alone is no attempt."""
        try:
            return await messages.read_line(reader)
        except JoinError as error:
            return b"\n" if error.failure is Failure.BAD_MESSAGE else b""

    async def _talk(self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not first:
            return
        try:
            await self._join(first, reader, writer)
        except JoinError as error:
            if error.failure in ANSWERED:
                # Those that are too many would fill the log as well.
                level = logging.DEBUG if error.failure is Failure.TOO_MANY else logging.WARNING
                _log.log(level, "a join from %s was refused: %s", _address(writer), error.failure.value)
                writer.write(messages.refusal(error.failure))
                await writer.drain()

    async def _join(self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello = messages.read_hello(first)
        try:
            gateway_id = id_of(hello.certificate)
        except ValueError:
            raise JoinError(Failure.BAD_MESSAGE) from None
        told = self._owner.told()
        ways = ways_for(gateway_id, told)
        # Only who is taken for the gateway uses up attempts: strangers must not use up the gateway's.
        if not self._attempts.take():
            raise JoinError(Failure.TOO_MANY)
        nonce = self._random(messages.NONCE_BYTES)
        writer.write(messages.Challenge(nonce, ways).line())
        await writer.drain()
        received = messages.read_claim(await messages.read_line(reader))
        if received.way not in ways:
            raise JoinError(Failure.WAY_NOT_OFFERED)
        transcript = Transcript(hello.certificate, self._identity.certificate, hello.nonce, nonce, received.way)
        secret = told.key.secret if told.key is not None and received.way == "key" else None
        check_claim(received, transcript, secret)
        await self._belong_to(hello.certificate)
        _log.info("joined the gateway %s", instance_of(gateway_id))
        about = self._about
        answer = welcome(self._identity, transcript, secret, name=about.name, port=about.port, slots=about.slots)
        writer.write(answer.line())
        await writer.drain()

    async def _belong_to(self, gateway: bytes) -> None:
        try:
            await self._owner.belong_to(gateway)
        except (SynapseError, OSError) as error:
            _log.error("a join failed on this machine: %s", error)
            raise JoinError(Failure.NOT_STORED) from error


def _address(writer: asyncio.StreamWriter) -> str:
    name = writer.get_extra_info("peername")
    return str(name[0]) if name else "?"


async def _close(writer: asyncio.StreamWriter) -> None:
    """Let what was written arrive, and wait for the other side no longer than _CLOSING_SECONDS."""
    try:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    finally:
        writer.transport.abort()
