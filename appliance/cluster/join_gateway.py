"""The gateway's side of a join: it calls a node's join port, and both come to pin each other's certificate.

Knows nothing of discovery, nor of where what it found is kept. A join that broke off anywhere is simply made again.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from appliance.cluster import join_messages as messages
from appliance.cluster.identity import Identity, client_context, id_of, peer_certificate
from appliance.cluster.join import DEADLINE_SECONDS, Transcript, check_welcome, claim
from appliance.cluster.join_errors import Failure, JoinError
from appliance.cluster.join_messages import Way
from appliance.ids import RandomBytes

_BUSY_PAUSES = (0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28)
"""Seconds between tries at a node, which takes one connection at a time and may just be ending the last."""

_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Joined:
    """A node that has pinned this gateway. `certificate` (DER) is what to trust on its data port `port`."""

    certificate: bytes
    id: str
    name: str
    port: int
    slots: int | None
    way: Way


async def join(
    host: str,
    port: int,
    *,
    gateway: Identity,
    expected_id: str,
    way: Way,
    secret: bytes | None,
    timeout: float = DEADLINE_SECONDS,  # noqa: ASYNC109  a deadline of the protocol
    random: RandomBytes = os.urandom,
) -> Joined:
    """Join the node `expected_id`, whose join port this is. `secret` is the cluster key's for the way `key`, else None.

    Raises:
        JoinError: the node could not be reached, is another one, refuses, or could not prove itself.
    """
    if (way == "key") != (secret is not None):
        raise ValueError("a secret belongs to the way `key`, and to no other")
    async with _deadline(timeout), _connected(host, port) as connection:
        certificate, node_id = _leaf(connection[1])
        if node_id != expected_id:
            raise JoinError(Failure.OTHER_MACHINE)
        nonce = random(messages.NONCE_BYTES)
        challenge = messages.read_challenge(await _ask(connection, messages.Hello(gateway.certificate, nonce).line()))
        if way not in challenge.ways:
            raise JoinError(Failure.WAY_NOT_OFFERED)
        transcript = Transcript(gateway.certificate, certificate, nonce, challenge.nonce, way)
        received = messages.read_welcome(await _ask(connection, claim(gateway, transcript, secret).line()))
        check_welcome(received, transcript, secret)
        return Joined(certificate, node_id, received.name, received.port, received.slots, way)


async def peek(host: str, port: int, timeout: float = DEADLINE_SECONDS) -> str:  # noqa: ASYNC109  as above
    """The id of the node whose join port this is, from a TLS handshake alone. Raises JoinError."""
    async with _deadline(timeout), _connected(host, port) as (_, writer):
        return _leaf(writer)[1]


@asynccontextmanager
async def _deadline(seconds: float) -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise JoinError(Failure.TIMEOUT) from None


@asynccontextmanager
async def _connected(host: str, port: int) -> AsyncGenerator[_Connection]:
    """A connection after its handshake. Raises JoinError, also for what breaks while it is used."""
    context = client_context(None, None)
    reader, writer = await _open(host, port, context)
    try:
        yield reader, writer
    except OSError:
        raise JoinError(Failure.CLOSED) from None
    finally:
        writer.transport.abort()


async def _open(host: str, port: int, context: ssl.SSLContext) -> _Connection:
    for pause in _BUSY_PAUSES:
        try:
            return await asyncio.open_connection(host, port, ssl=context, server_hostname="", limit=messages.MAX_LINE)
        except ssl.SSLError:
            raise JoinError(Failure.BAD_MESSAGE) from None
        except (ConnectionResetError, ConnectionAbortedError):
            # It took the connection and dropped it before the handshake: it is in another attempt.
            await asyncio.sleep(pause)
        except OSError:
            raise JoinError(Failure.UNREACHABLE) from None
    raise JoinError(Failure.BUSY)


async def _ask(connection: _Connection, line: bytes) -> bytes:
    reader, writer = connection
    writer.write(line)
    await writer.drain()
    return await messages.read_line(reader)


def _leaf(writer: asyncio.StreamWriter) -> tuple[bytes, str]:
    """The certificate that the node showed, and the id of its key."""
    certificate = peer_certificate(writer) or b""
    try:
        return certificate, id_of(certificate)
    except ValueError:
        raise JoinError(Failure.BAD_MESSAGE) from None
