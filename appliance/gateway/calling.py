"""A call from its request to its answer, the same in every dialect: key, body, the path, the answer on the wire.

Must not know a dialect: the door of each says how its bodies are read and its answers written.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from starlette.types import Receive, Scope, Send

from appliance.calls.call import Call
from appliance.calls.pipeline import Exchange, Pipeline
from appliance.dialects.chat import Chat, DialectError
from appliance.errors import BadRequest, ReadOnlyKey
from appliance.gateway.asgi import Reply, read_body
from appliance.gateway.auth import Authenticator
from appliance.gateway.drain import Drain
from appliance.gateway.room import Room
from appliance.gateway.serving import Served, Serving, Wire
from appliance.ids import Clock

T = TypeVar("T")

LARGE_BODY_BYTES = 256 * 1024
"""From here on reading a body takes a millisecond and more, and is done beside the event loop."""

MANY_PATTERNS = 10
"""Each regular expression of a schema may take a millisecond as well."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a body says. `wire` writes the answer; it is given the exchange, which has not begun yet, and the request's
    id. `drives` is the part of the chat that decides where it goes, None where that is all of it; `writes`: something
    is to be stored, which a key that only reads may not. `around` gives the exchange something more to do,
    until the event says that the daemon stops."""

    model: str
    chat: Chat
    stream: bool
    wire: Callable[[Served, str], Wire]
    drives: Chat | None = None
    writes: bool = False
    around: Callable[[Exchange, Call, asyncio.Event], Served] | None = None


class Door(Protocol):
    """How the calls of one dialect come in."""

    @property
    def endpoint(self) -> str:
        """The path."""
        ...

    def parse(self, content: bytes) -> Asked:
        """Raises DialectError."""
        ...

    def headers(self, scope: Scope) -> Mapping[str, str]:
        """The headers that say how the body has to be read."""
        ...


@dataclass(frozen=True, slots=True)
class Desk:
    """What calls of all dialects share (see app.py)."""

    auth: Authenticator
    pipeline: Pipeline
    drain: Drain
    clock: Clock
    room: Room
    max_body_bytes: int
    limit_seconds: float = field(kw_only=True)
    failed: Callable[[str], None] = field(kw_only=True)


class Calling:
    """An ASGI application for one door. Errors before the call is accepted are raised as `CallError`."""

    def __init__(self, desk: Desk, door: Door) -> None:
        self._desk = desk
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        desk = self._desk
        received = desk.clock()
        caller = await desk.auth.caller(scope, ["engine"])
        with desk.room.place() as place:
            body = await read_body(scope, receive, desk.max_body_bytes, place)
            asked = await parsed(self._door.parse, body.content)
            if asked.writes and caller.read_only:
                raise ReadOnlyKey(
                    "This key only reads, and the call would store what it extracts.",
                    advice="Send `persist: false`, or ask the administrator for a key that writes.",
                )
            call = Call(
                caller=caller,
                endpoint=self._door.endpoint,
                model=asked.model,
                stream=asked.stream,
                chat=asked.chat,
                body=body.content,
                body_sha256=body.sha256,
                received=received,
                received_bytes=body.size,
                headers=self._door.headers(scope),
                drives=asked.drives,
            )
            with desk.drain.call() as stopping:
                exchange = await desk.pipeline.open(call)
                served = exchange if asked.around is None else asked.around(exchange, call, stopping)
                wire = asked.wire(served, scope["request_id"])
                serving = Serving(
                    served,
                    wire,
                    Reply(send),
                    stream=asked.stream,
                    stopping=stopping,
                    limit_seconds=desk.limit_seconds,
                    failed=desk.failed,
                )
                await serving.run(receive)


async def parsed(parse: Callable[[bytes], T], content: bytes) -> T:
    """What a dialect reads in a body. Raises `BadRequest` for what the dialect cannot say."""
    try:
        if len(content) < LARGE_BODY_BYTES and content.count(b'"pattern') < MANY_PATTERNS:
            return parse(content)
        return await asyncio.to_thread(parse, content)
    except DialectError as error:
        raise BadRequest(error.message, param=error.param) from None
