"""One exchange over HTTP: a body goes out, and the server-sent events that come back are read, all under limits.

Both lanes to servers that stream such events use it. Knows no dialect and nobody's words: a lane brings those of its
failures.
"""

import asyncio
import contextlib
import io
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import aiohttp

from appliance.dialects.chat import Event
from appliance.dialects.open_end import OpenEnd
from appliance.dialects.upstream import Outgoing, ProviderError, Reader
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.limits import MAX_ERROR_BYTES, Limit, read_end, running, sooner
from appliance.lanes.sse import EventStream, EventTooLarge


class Failures(Protocol):
    """How each failure is told to the caller."""

    def passed(self, limit: Limit) -> AttemptFailed:
        """A limit fired."""
        ...

    def told(self, error: ProviderError) -> AttemptFailed:
        """What the server said in its stream, or what it said was not its dialect."""
        ...

    def died(self, how: str, *, severed: bool = False) -> AttemptFailed:
        """`severed`: the connection broke."""
        ...

    def unfinished(self, content_type: str) -> AttemptFailed:
        """Its stream ended, or it never was one."""
        ...


@dataclass(frozen=True, slots=True)
class Patience:
    """The limits of one answer: two that are running, the seconds between two pieces of it and those for the counts
    behind its end, and its bytes."""

    first_byte: Limit
    total: Limit
    idle: float
    counts: float
    most_bytes: int


async def post(
    session: aiohttp.ClientSession,
    url: str,
    outgoing: Outgoing,
    headers: Mapping[str, str],
    *,
    limit: Limit,
    connect: float,
) -> aiohttp.ClientResponse:
    """The answer as soon as its head has come. `headers` go with the body's own; `connect` is in seconds.

    Raises `aiohttp.ClientError` and `OSError`; a plain `TimeoutError` is `limit`, which fired.
    """
    # Only the connect limit is aiohttp's own: it names that phase apart, the search for the name included.
    timeout = aiohttp.ClientTimeout(total=None, connect=connect)
    own = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    async with asyncio.timeout_at(limit.at):
        # From a file object, so that a long prompt is written in pieces and other calls go on meanwhile.
        return await session.post(
            url,
            data=io.BytesIO(outgoing.body),
            headers={**own, **outgoing.headers, **headers},
            timeout=timeout,
            allow_redirects=False,
        )


async def events(
    response: aiohttp.ClientResponse, reader: Reader, patience: Patience, failures: Failures
) -> AsyncGenerator[Event, None]:
    """The answer's events, as they come. Raises AttemptFailed."""
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        raise failures.died("it sent its answer compressed, which it was asked not to")
    stream = EventStream()
    limit = patience.first_byte
    size = 0
    while chunk := await _next(response, reader, limit, failures):
        size += len(chunk)
        if size > patience.most_bytes:
            raise failures.died("its answer has no end")
        for event in _parse(stream, reader, chunk, failures):
            yield event
        if reader.finished:
            await read_end(response)
            return
        seconds = patience.counts if _ended(reader) else patience.idle
        limit = sooner(running("idle", seconds), patience.total)
    if not isinstance(reader, OpenEnd) or not reader.ended:
        raise failures.unfinished(response.content_type)
    for event in reader.close():
        yield event


async def error_body(response: aiohttp.ClientResponse, limit: Limit, failures: Failures) -> bytes:
    """The beginning of an error's body, all of it in nearly every case. One that breaks off is what there is of it."""
    body = b""
    with contextlib.suppress(AttemptFailed):
        while len(body) < MAX_ERROR_BYTES and (chunk := await _read(response, limit, failures)):
            body += chunk
    return body[:MAX_ERROR_BYTES]


def _ended(reader: Reader) -> bool:
    return isinstance(reader, OpenEnd) and reader.ended


async def _next(response: aiohttp.ClientResponse, reader: Reader, limit: Limit, failures: Failures) -> bytes:
    """The next chunk, empty at the end: that of the stream, or whatever happens once the model's own end has come."""
    try:
        return await _read(response, limit, failures)
    except AttemptFailed:
        if _ended(reader):
            return b""
        raise


async def _read(response: aiohttp.ClientResponse, limit: Limit, failures: Failures) -> bytes:
    """The next chunk, empty at the end."""
    try:
        async with asyncio.timeout_at(limit.at):
            return await response.content.readany()
    except TimeoutError as error:
        raise failures.passed(limit) from error
    except (aiohttp.ClientError, OSError) as error:
        raise failures.died("the connection broke", severed=True) from error


def _parse(stream: EventStream, reader: Reader, chunk: bytes, failures: Failures) -> Iterator[Event]:
    """The events of a chunk, one by one: what came before a bad one still counts, what comes after the end not."""
    try:
        for one in stream.feed(chunk):
            if reader.finished:
                return
            yield from reader.read(one.event, one.data)
    except ProviderError as error:
        raise failures.told(error) from error
    except EventTooLarge as error:
        raise failures.died("it sent an event without an end") from error
