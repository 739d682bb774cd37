"""The lane to external providers: one chat at one provider over HTTPS, always streamed, in whatever dialect it speaks.

Knows HTTP and its faults; what a body says and what a stream means are the dialect's, and which provider, and who
follows when it fails, is decided elsewhere.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp

from appliance.dialects.chat import Event
from appliance.dialects.upstream import Outgoing
from appliance.errors import Overloaded
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.endpoint import Endpoint
from appliance.lanes.exchange import Patience, error_body, events, post
from appliance.lanes.external_connections import explain
from appliance.lanes.external_failures import Failures
from appliance.lanes.limits import COUNTS_SECONDS, ERROR_SECONDS, MAX_ANSWER_BYTES, Limit, Timeouts, running, sooner
from appliance.lanes.retries import PASSING_STATUSES, pause, retry_after


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
        patience = Patience(first_byte, total, self._timeouts.idle, COUNTS_SECONDS, MAX_ANSWER_BYTES)
        failures = Failures(endpoint)
        tries = _Tries(first_byte, self._sleep)
        while True:
            response = await self._answer(endpoint, outgoing, first_byte, failures, sending, tries)
            begun = False
            try:
                async for event in events(response, outgoing.reader(), patience, failures):
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
        url, connect = endpoint.url(outgoing.path), self._timeouts.connect
        try:
            response = await post(self._session, url, outgoing, endpoint.headers(), limit=limit, connect=connect)
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError):
                raise failures.passed(limit) from error
            failure = explain(error, connect)
            return _Miss(failures.unreachable(failure), passing=failure.passing)
        if response.status == 200:
            return response
        try:
            if 300 <= response.status < 400:
                raise failures.redirected(response.headers.get("Location", ""))
            body = await error_body(response, sooner(running("idle", ERROR_SECONDS), limit), failures)
        finally:
            response.release()
        asked = retry_after(response.headers.get("Retry-After"), self._clock())
        refusal = outgoing.refusal(response.status, body)
        passing = response.status in PASSING_STATUSES and refusal.kind in ("busy", "failed")
        return _Miss(failures.refused(refusal, response.status, asked), passing, asked)
