"""The local lane to machines that speak like OpenAI: one chat on one machine, always streamed, and sent only once.

Knows HTTP and its faults; which machine, with which key, and whether to try another is decided elsewhere.
"""

from collections.abc import AsyncGenerator, Mapping

import aiohttp

from appliance.dialects.chat import Event
from appliance.dialects.upstream import Outgoing
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.exchange import Patience, error_body, events, post
from appliance.lanes.external_connections import explain
from appliance.lanes.limits import COUNTS_SECONDS, ERROR_SECONDS, MAX_ANSWER_BYTES, Limit, Timeouts, running, sooner
from appliance.lanes.machine_failures import MachineFailures

_ALONE = {"Connection": "close"}
"""These servers close connections that they have promised to keep: llama.cpp's behind every stream, vLLM's after 5 s. A
call must not be lost on one that is just being closed, nor be sent twice to find out."""


class CompatibleLane:
    def __init__(self, session: aiohttp.ClientSession, timeouts: Timeouts) -> None:
        self._session = session
        self._timeouts = timeouts

    async def chat(
        self, url: str, headers: Mapping[str, str], outgoing: Outgoing, *, elapsed: float = 0.0
    ) -> AsyncGenerator[Event, None]:
        """Send the body to `url`, which ends with `/v1`, and yield the answer's events; the last one is a `Finish`.

        `headers` are those with the machine's key, {} without one. `elapsed`: seconds of the call's total limit that
        are used up. Closing the generator closes the connection, which makes the machine stop its work.

        Raises:
            AttemptFailed: with the error the caller would see if nobody else can answer.
        """
        total = running("total", self._timeouts.total, elapsed)
        first_byte = sooner(running("first_byte", self._timeouts.first_byte), total)
        patience = Patience(first_byte, total, self._timeouts.idle, COUNTS_SECONDS, MAX_ANSWER_BYTES)
        failures = MachineFailures(headers)
        response = await self._post(url.rstrip("/") + outgoing.path, headers, outgoing, first_byte, failures)
        try:
            if response.status != 200:
                raise await _refused(response, outgoing, first_byte, failures)
            async for event in events(response, outgoing.reader(), patience, failures):
                yield event
        finally:
            response.close()

    async def _post(
        self, url: str, headers: Mapping[str, str], outgoing: Outgoing, limit: Limit, failures: MachineFailures
    ) -> aiohttp.ClientResponse:
        connect = self._timeouts.connect
        try:
            return await post(self._session, url, outgoing, {**headers, **_ALONE}, limit=limit, connect=connect)
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError):
                raise failures.passed(limit) from error
            failure = explain(error, connect)
            told = failures.died(failure.said, severed=True) if failure.reached else failures.unreachable(failure.said)
            raise told from error


async def _refused(
    response: aiohttp.ClientResponse, outgoing: Outgoing, limit: Limit, failures: MachineFailures
) -> AttemptFailed:
    """The failure that an error status stands for."""
    if 300 <= response.status < 400:
        return failures.redirected()
    body = await error_body(response, sooner(running("idle", ERROR_SECONDS), limit), failures)
    return failures.refused(outgoing.refusal(response.status, body), response.status)
