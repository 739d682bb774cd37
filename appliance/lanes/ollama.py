"""The local lane: one chat on one machine over Ollama's native API, always streamed.

Knows the wire and its faults; which machine, which model and whether to try again is decided elsewhere.
"""

import asyncio
import io
from collections.abc import AsyncGenerator, Iterator, Mapping

import aiohttp

from appliance.dialects.chat import Event
from appliance.dialects.ollama.body import Prepared
from appliance.dialects.ollama.errors import (
    InvalidToolCall,
    OllamaError,
    error_text,
    failure,
    is_about_format,
    is_overflow,
)
from appliance.dialects.ollama.lines import Reader
from appliance.errors import (
    BadRequest,
    CallError,
    ContextLengthExceeded,
    LocalLaneUnavailable,
    Overloaded,
    UpstreamFailed,
)
from appliance.lanes.attempt import AttemptFailed
from appliance.lanes.limits import MAX_ANSWER_BYTES, MAX_ERROR_BYTES, Limit, Timeouts, read_end, running, sooner
from appliance.lanes.lines import Lines, LineTooLong

_WORDS = {
    "first_byte": (
        "The machine sent nothing for",
        "It may be loading a large model: try again, or raise [timeouts] first_byte.",
    ),
    "idle": (
        "In the middle of its answer the machine fell silent for",
        "Try again; `synapse node list` says how the machines are.",
    ),
    "total": ("The whole call took longer than", "Ask for less, or raise [timeouts] total."),
}
"""What is said when a limit passes: a beginning, to which the time is added, and an advice."""


class OllamaLane:
    def __init__(self, session: aiohttp.ClientSession, timeouts: Timeouts) -> None:
        self._session = session
        self._timeouts = timeouts

    async def chat(
        self, url: str, prepared: Prepared, *, elapsed: float = 0.0, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Event, None]:
        """Send the body to `url`/api/chat and yield the answer's events; the last one is a `Finish`.

        `elapsed`: seconds of the call's total limit that are used up. `headers` hold the machine's key, if it has one.
        Closing the generator closes the connection, which makes the machine stop its work.

        Raises:
            AttemptFailed: with the error the caller would see if nobody else can answer.
        """
        total = running("total", self._timeouts.total, elapsed)
        first_byte = sooner(running("first_byte", self._timeouts.first_byte), total)
        response = await self._post(f"{url}/api/chat", prepared.body, headers or {}, first_byte)
        try:
            if response.status != 200:
                raise _refused(response.status, await _read(response, first_byte), prepared.format_from)
            async for event in self._events(response, prepared.reader, first_byte, total):
                yield event
        finally:
            response.release()  # closes the connection too, unless the answer was read to its end

    async def _post(self, url: str, body: bytes, headers: Mapping[str, str], limit: Limit) -> aiohttp.ClientResponse:
        # Only the connect limit is aiohttp's own: it names that phase apart.
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._timeouts.connect)
        headers = {"Content-Type": "application/json", **headers}
        try:
            async with asyncio.timeout_at(limit.at):
                # From a file object, so that a long prompt is written in pieces and other calls go on meanwhile.
                data = io.BytesIO(body)
                return await self._session.post(url, data=data, headers=headers, timeout=timeout, allow_redirects=False)
        except aiohttp.ServerTimeoutError as error:
            raise _unreachable(f"no connection within {self._timeouts.connect:g} s (limit `connect`)") from error
        except aiohttp.ClientConnectorError as error:
            raise _unreachable("it accepts no connections") from error
        except TimeoutError as error:
            raise limit.passed(_WORDS) from error
        except (aiohttp.ClientError, OSError) as error:
            raise _died("the connection broke", severed=True) from error

    async def _events(
        self, response: aiohttp.ClientResponse, reader: Reader, first_byte: Limit, total: Limit
    ) -> AsyncGenerator[Event, None]:
        lines = Lines()
        limit = first_byte
        size = 0
        while chunk := await _read(response, limit):
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise _died("its answer has no end")
            limit = sooner(running("idle", self._timeouts.idle), total)
            for event in _parse(lines, reader, chunk):
                yield event
            if reader.finished:
                await read_end(response)
                return
        raise _died("its answer ended before it was done")


async def _read(response: aiohttp.ClientResponse, limit: Limit) -> bytes:
    """The next chunk, empty at the end."""
    try:
        async with asyncio.timeout_at(limit.at):
            return await response.content.readany()
    except TimeoutError as error:
        raise limit.passed(_WORDS) from error
    except (aiohttp.ClientError, OSError) as error:
        raise _died("the connection broke", severed=True) from error


def _parse(lines: Lines, reader: Reader, chunk: bytes) -> Iterator[Event]:
    """The events of a chunk, one by one: what came before a bad line still counts, what comes after the end not."""
    try:
        for line in lines.feed(chunk):
            if reader.finished:
                return
            yield from reader.read(line)
    except OllamaError as error:
        raise _told(error) from error
    except LineTooLong as error:
        raise _died("it sent a line without an end") from error


def _unreachable(why: str) -> AttemptFailed:
    error = LocalLaneUnavailable(
        f"A machine that runs models cannot be reached: {why}.",
        advice="Check that Ollama or the embedded engine is running; `synapse node list` lists the machines.",
    )
    return AttemptFailed(error, elsewhere=True, reached=False, severed=True)


def _died(how: str, *, severed: bool = False) -> AttemptFailed:
    error = UpstreamFailed(
        f"The machine failed while it answered: {how}.",
        advice="Try again; `synapse node list` says how the machines are.",
    )
    return AttemptFailed(error, elsewhere=True, severed=severed)


def _told(error: OllamaError) -> AttemptFailed:
    """What the machine said in its stream."""
    if isinstance(error, InvalidToolCall):
        wrong = UpstreamFailed(str(error), advice="Try again, or use a larger model.")
        return AttemptFailed(wrong, elsewhere=False, again=True, usage=error.usage)
    return AttemptFailed(_said(str(error)), elsewhere=True)


def _said(text: str) -> CallError:
    overflow = is_overflow(text)
    if overflow is not None:
        tokens, context = overflow
        return ContextLengthExceeded(
            f"This model's maximum context length is {context} tokens, but the messages came to {tokens} tokens.",
            advice="Shorten the messages, or have the administrator raise [local] context.",
            param="messages",
            tokens=tokens,
            maximum=context,
        )
    return UpstreamFailed(f"The machine reported an error: {text}", advice="Try again; its own log says more.")


def _refused(status: int, body: bytes, format_from: str | None) -> AttemptFailed:
    """The failure that an error status stands for (dialects.md §2, "Errors")."""
    text = error_text(body[:MAX_ERROR_BYTES])
    reported = failure(text)
    if isinstance(reported, InvalidToolCall):
        return _told(reported)
    if status == 404:
        error: CallError = LocalLaneUnavailable(
            f"The machine does not have the model any more: {text}",
            advice="Run `ollama pull` on it, or choose another model with `synapse model set full NAME`.",
        )
    elif status in (429, 503):
        error = Overloaded(f"The machine is busy: {text}", advice="Try again in a moment.")
    elif status == 400 and is_overflow(text) is None:
        # Well-formed as it was, it asks for what this model cannot do: to send it again would not help.
        error = BadRequest(
            f"The machine cannot serve this request: {text}",
            advice="Leave that out, or ask the administrator for a model that can do it.",
            param=format_from if is_about_format(text) else None,
        )
    else:
        error = _said(text)
    return AttemptFailed(error, elsewhere=status in (404, 429) or status >= 500)
