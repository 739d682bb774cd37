"""The lane to external providers: one chat at one provider over HTTPS, always streamed, in whatever dialect it speaks.

Knows HTTP and its faults; what a body says and what a stream means are the dialect's, and which provider, and who
follows when it fails, is decided elsewhere.
"""

import asyncio
import contextlib
import io
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp

from appliance.dialects.chat import Event
from appliance.dialects.open_end import OpenEnd
from appliance.dialects.upstream import Outgoing, ProviderError, Reader
from appliance.errors import Overloaded
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.endpoint import Endpoint
from appliance.lanes.external_connections import explain
from appliance.lanes.external_failures import Failures
from appliance.lanes.limits import MAX_ANSWER_BYTES, MAX_ERROR_BYTES, Limit, Timeouts, read_end, running, sooner
from appliance.lanes.retries import PASSING_STATUSES, pause, retry_after
from appliance.lanes.sse import EventStream, EventTooLarge

COUNTS_SECONDS = 5.0
"""After the model's own end only its counts are missing. They come at once or never."""

ERROR_SECONDS = 5.0
"""An error's text follows its status at once; what it is for is known by the status alone."""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Miss:
    """A try without an answer. `passing`: another may find it better. `asked`: seconds that the provider wants us to
    wait."""

    failed: AttemptFailed
    passing: bool
    asked: float | None = None


class _Tries:
    """How often one call was sent to its provider in vain."""

    def __init__(self, limit: Limit, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._limit = limit
        self._sleep = sleep
        self._count = 0
        self._reached = False

    async def again(self, miss: _Miss) -> None:
        """Waits for as long as the next try has to. Raises the failure where there is none."""
        failed = miss.failed
        failed.reached = self._reached = self._reached or failed.reached
        wait = pause(self._count, miss.asked) if miss.passing else None
        if wait is None or asyncio.get_running_loop().time() + wait >= self._limit.at:
            raise failed
        await self._sleep(wait)
        self._count += 1


class ExternalLane:
    """`sleep` and `clock` are for the pauses before retries."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        timeouts: Timeouts,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._session = session
        self._timeouts = timeouts
        self._sleep = sleep
        self._clock = clock

    async def chat(
        self,
        endpoint: Endpoint,
        outgoing: Outgoing,
        *,
        elapsed: float = 0.0,
        sending: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[Event, None]:
        """Send the body and yield the answer's events; each answer that it asks for ends with its `Finish`.

        `elapsed`: seconds of the call's total limit that are used up. `sending` is called each time before the body is
        sent, which may be up to three times, always before the first event. Closing the generator closes the
        connection.

        Raises:
            AttemptFailed: with the error the caller would see if nobody else can answer.
        """
        total = running("total", self._timeouts.total, elapsed)
        first_byte = sooner(running("first_byte", self._timeouts.first_byte), total)
        failures = Failures(endpoint)
        tries = _Tries(first_byte, self._sleep)
        while True:
            response = await self._answer(endpoint, outgoing, first_byte, failures, sending, tries)
            begun = False
            try:
                async for event in self._events(response, outgoing.reader(), first_byte, total, failures):
                    begun = True
                    yield event
                return
            except AttemptFailed as failed:
                # That it is busy a provider may say by its status, or in a stream in which it has said nothing else.
                if begun or not isinstance(failed.error, Overloaded):
                    raise
                busy = failed
            finally:
                response.release()  # closes the connection too, unless the answer was read to its end
            await tries.again(_Miss(busy, passing=True))

    async def _answer(
        self,
        endpoint: Endpoint,
        outgoing: Outgoing,
        limit: Limit,
        failures: Failures,
        sending: Callable[[], None],
        tries: "_Tries",
    ) -> aiohttp.ClientResponse:
        """The answer of the first try that gets one."""
        while True:
            sending()
            outcome = await self._try(endpoint, outgoing, limit, failures)
            if isinstance(outcome, aiohttp.ClientResponse):
                return outcome
            await tries.again(outcome)

    async def _try(
        self, endpoint: Endpoint, outgoing: Outgoing, limit: Limit, failures: Failures
    ) -> aiohttp.ClientResponse | _Miss:
        try:
            response = await self._post(endpoint, outgoing, limit)
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError):
                raise failures.passed(limit) from error
            failure = explain(error, self._timeouts.connect)
            return _Miss(failures.unreachable(failure), passing=failure.passing)
        if response.status == 200:
            return response
        try:
            if 300 <= response.status < 400:
                raise failures.redirected(response.headers.get("Location", ""))
            body = await _error_body(response, limit, failures)
        finally:
            response.release()
        asked = retry_after(response.headers.get("Retry-After"), self._clock())
        refusal = outgoing.refusal(response.status, body)
        passing = response.status in PASSING_STATUSES and refusal.kind in ("busy", "failed")
        return _Miss(failures.refused(refusal, response.status, asked), passing, asked)

    async def _post(self, endpoint: Endpoint, outgoing: Outgoing, limit: Limit) -> aiohttp.ClientResponse:
        # Only the connect limit is aiohttp's own: it names that phase apart, the search for the name included.
        timeout = aiohttp.ClientTimeout(total=None, connect=self._timeouts.connect)
        own = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        async with asyncio.timeout_at(limit.at):
            # From a file object, so that a long prompt is written in pieces and other calls go on meanwhile.
            return await self._session.post(
                endpoint.url(outgoing.path),
                data=io.BytesIO(outgoing.body),
                headers={**own, **outgoing.headers, **endpoint.headers()},
                timeout=timeout,
                allow_redirects=False,
            )

    async def _events(
        self, response: aiohttp.ClientResponse, reader: Reader, first_byte: Limit, total: Limit, failures: Failures
    ) -> AsyncGenerator[Event, None]:
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            raise failures.died("it sent its answer compressed, which it was asked not to")
        stream = EventStream()
        limit = first_byte
        size = 0
        while chunk := await _next(response, reader, limit, failures):
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise failures.died("its answer has no end")
            for event in _parse(stream, reader, chunk, failures):
                yield event
            if reader.finished:
                await read_end(response)
                return
            seconds = COUNTS_SECONDS if _ended(reader) else self._timeouts.idle
            limit = sooner(running("idle", seconds), total)
        if not isinstance(reader, OpenEnd) or not reader.ended:
            raise failures.unfinished(response.content_type)
        for event in reader.close():
            yield event


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


async def _error_body(response: aiohttp.ClientResponse, limit: Limit, failures: Failures) -> bytes:
    """The beginning of an error's body, all of it in nearly every case. One that breaks off is what there is of it."""
    body = b""
    limit = sooner(running("idle", ERROR_SECONDS), limit)
    with contextlib.suppress(AttemptFailed):
        while len(body) < MAX_ERROR_BYTES and (chunk := await _read(response, limit, failures)):
            body += chunk
    return body[:MAX_ERROR_BYTES]


async def _read(response: aiohttp.ClientResponse, limit: Limit, failures: Failures) -> bytes:
    """The next chunk, empty at the end."""
    try:
        async with asyncio.timeout_at(limit.at):
            return await response.content.readany()
    except TimeoutError as error:
        raise failures.passed(limit) from error
    except (aiohttp.ClientError, OSError) as error:
        raise failures.died("the connection broke") from error


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
