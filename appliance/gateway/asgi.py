"""Small pieces of ASGI that every route shares: reading a body within its limit, and a reply that hashes itself."""

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from starlette.types import Message, Receive, Scope, Send

from appliance.errors import BodyStalled, BodyTooLarge
from appliance.gateway.content_coding import Coding, Overflow, coding_of, decoded
from appliance.gateway.room import SMALL_BYTES, Place


class ClientGone(Exception):
    """The client closed its connection."""


Header = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Body:
    """A request's body: its content, and of the bytes as they were received the hex SHA-256 and the number."""

    content: bytes
    sha256: str
    size: int


PAUSE_SECONDS = 30.0
BODY_SECONDS = 600.0
"""How long a client may send nothing in the middle of its body, and how long the whole of it may take: meanwhile it
holds a connection and the room of its body. 32 MB come in time at half a megabit a second.
"""

TINY_BYTES = 512
"""Up to here a compressed body is decoded at once: it cannot become more than half a megabyte."""


async def read_body(scope: Scope, receive: Receive, limit: int, place: Place) -> Body:
    """The request's body, hashed as it comes: a large one at once would hold others up.

    At most `limit` bytes, both as it comes and after decoding. A body that is not small takes its `place` before more
    than a small one is in memory, and has of it then what its content needs.

    Raises:
        BodyTooLarge: as soon as the limit is known to be passed; the rest is not read, or not decoded.
        BadRequest: the body is compressed in a way that we do not know, or wrongly.
        BodyStalled: the client sends nothing, or too little, for too long.
        ClientGone: the client left before the end of its body.
        Overloaded: there is no place for it.
    """
    coding = coding_of(scope["headers"])
    said = dict(scope["headers"]).get(b"content-length", b"0")
    announced = int(said) if said.isdigit() else 0
    if announced > limit:
        raise _too_large(limit)
    if announced > SMALL_BYTES:
        await place.take(announced if coding == "identity" else limit)
    chunks: list[bytes] = []
    digest = hashlib.sha256()
    size = 0
    deadline = asyncio.get_running_loop().time() + BODY_SECONDS
    while True:
        message = await _next_piece(receive, deadline)
        if message["type"] != "http.request":
            raise ClientGone
        chunk: bytes = message.get("body", b"")
        chunks.append(chunk)
        digest.update(chunk)
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        if size > SMALL_BYTES and not place.size:
            await place.take(limit)
        if not message.get("more_body", False):
            break
    content = b"".join(chunks) if coding == "identity" else await _decoded(chunks, coding, limit, place)
    place.keep(len(content))
    return Body(content, digest.hexdigest(), size)


async def _next_piece(receive: Receive, deadline: float) -> Message:
    try:
        async with asyncio.timeout_at(deadline), asyncio.timeout(PAUSE_SECONDS):
            return await receive()
    except TimeoutError:
        raise BodyStalled(
            "The rest of the request body did not come in time.", advice="Send the request again."
        ) from None


async def _decoded(chunks: Sequence[bytes], coding: Coding, limit: int, place: Place) -> bytes:
    if not place.size:
        try:  # nothing but decoding tells whether the content is small as well
            return await _decoded_within(min(limit, SMALL_BYTES), chunks, coding)
        except Overflow:
            await place.take(limit)
    try:
        return await _decoded_within(limit, chunks, coding)
    except Overflow:
        raise _too_large(limit, "decoded ") from None


async def _decoded_within(limit: int, chunks: Sequence[bytes], coding: Coding) -> bytes:
    if sum(map(len, chunks)) <= TINY_BYTES:
        return decoded(chunks, coding, limit)
    return await asyncio.to_thread(decoded, chunks, coding, limit)


def _too_large(limit: int, which: str = "") -> BodyTooLarge:
    return BodyTooLarge(
        f"The {which}request body is larger than {limit // 1024 // 1024} MB.",
        advice="Shorten it, or ask the administrator to raise [gateway] max_body_mb.",
    )


PATIENCE_SECONDS = 120.0
"""How long a client may take no byte of its answer, before it counts as gone: it would hold a machine meanwhile."""


class Reply:
    """One HTTP answer. Knows the SHA-256 of the body bytes that it has handed over so far.

    Writing raises `ClientGone` where the client takes nothing for `patience` seconds.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._digest = hashlib.sha256()
        self.started = False
        self.ended = False
        self.patience = PATIENCE_SECONDS

    def sha256_with(self, last: bytes = b"") -> str:
        """Hex SHA-256 of the whole body if `last` is its end."""
        digest = self._digest.copy()
        digest.update(last)
        return digest.hexdigest()

    async def start(self, status: int, headers: Iterable[Header]) -> None:
        self.started = True
        await self._hand_over({"type": "http.response.start", "status": status, "headers": list(headers)})

    async def write(self, chunk: bytes, *, last: bool = False) -> None:
        self._digest.update(chunk)
        self.ended = last
        await self._hand_over({"type": "http.response.body", "body": chunk, "more_body": not last})

    async def _hand_over(self, message: Message) -> None:
        try:
            async with asyncio.timeout(self.patience):
                await self._send(message)
        except TimeoutError as error:
            raise ClientGone from error

    async def whole(self, status: int, body: bytes, headers: Iterable[Header] = (), *, last: bool = True) -> None:
        """A JSON answer in one piece. Without `last` its end has to be written yet, with nothing in it."""
        length = (b"content-length", str(len(body)).encode())
        await self.start(status, [(b"content-type", b"application/json"), length, *headers])
        await self.write(body, last=last)
