"""Serves one call: runs it, sends its answer whole or streamed, and ends it honestly whatever happens.

The order is the promise (gateway.md, "Streaming"): certificate and ledger row are committed before the last
byte of a whole answer, or the terminal event of a stream, leaves. A client that goes away cancels the work.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Protocol

from starlette.types import Receive

from appliance.calls.call import Ending
from appliance.calls.record import Course, ending_of
from appliance.dialects.chat import Event, Finish
from appliance.errors import CallError, StorageUnavailable, UpstreamFailed
from appliance.gateway import errors
from appliance.gateway.asgi import ClientGone, Header, Reply
from appliance.gateway.pauses import with_pauses
from appliance.gateway.rate_headers import rate_headers
from appliance.metering.rate_limits import Standing

_log = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS = 10.0
"""Headers go with the first event or after this time; a sign of life follows at every such pause."""

LAST_WORDS_SECONDS = 2.0
"""How long the last bytes of a call may take while the daemon stops."""

SSE_HEADERS: tuple[Header, ...] = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)


class StreamEncoder(Protocol):
    """Renders one stream in a dialect. `start` comes first, `finish` or `error` last; `keep_alive` says something in a
    silence of as many seconds so far."""

    def start(self) -> bytes: ...
    def delta(self, event: Event) -> bytes: ...
    def keep_alive(self, silent: float) -> bytes: ...
    def finish(self) -> bytes: ...
    def error(self, body: bytes) -> bytes: ...


class Served(Protocol):
    """A call that has been accepted: see `pipeline.Exchange`."""

    @property
    def proof_id(self) -> str: ...
    @property
    def received(self) -> datetime: ...
    @property
    def elapsed(self) -> float: ...
    @property
    def answered(self) -> bool: ...
    @property
    def course(self) -> Course: ...
    @property
    def standing(self) -> Standing | None: ...
    def events(self) -> AsyncGenerator[Event, None]: ...
    async def close(self, ending: Ending, *, status: int | None, response_sha256: str) -> None: ...
    def close_later(self, ending: Ending, *, status: int | None, response_sha256: str) -> None: ...


class Wire(Protocol):
    """How a dialect renders the answer of one call."""

    shape: errors.Shape
    request_id: str

    def whole(self, answer: Sequence[Event]) -> bytes: ...
    def stream(self) -> StreamEncoder: ...


class Serving:
    """One call on the wire; use once. `failed` is told the code of an error that ends it."""

    def __init__(
        self,
        exchange: Served,
        wire: Wire,
        reply: Reply,
        *,
        stream: bool,
        stopping: asyncio.Event,
        limit_seconds: float,
        failed: Callable[[str], None],
    ) -> None:
        self._exchange = exchange
        self._wire = wire
        self._reply = reply
        self._encoder = wire.stream() if stream else None
        self._stopping = stopping
        self._limit_seconds = limit_seconds
        self._failed = failed
        self._stopped: Ending | None = None
        self._certified = False

    async def run(self, receive: Receive) -> None:
        """Answer the call, or end it when its client leaves or the daemon has to stop."""
        work = asyncio.ensure_future(self._answer())
        gone = asyncio.ensure_future(_until_gone(receive))
        stop = asyncio.ensure_future(self._stopping.wait())
        try:
            watched = {work, gone, stop}
            done, _ = await asyncio.wait(watched, timeout=self._limit_seconds, return_when=asyncio.FIRST_COMPLETED)
            if done == {stop} and (self._certified or self._exchange.answered):
                done, _ = await asyncio.wait({work, gone}, timeout=LAST_WORDS_SECONDS)
            if not work.done():
                # A call that outlives every limit of the machine's is held up by a client that does not read.
                self._stopped = "failed" if done == {stop} else "cancelled"
                self._reply.patience = LAST_WORDS_SECONDS
                work.cancel()
            await work
        finally:
            gone.cancel()
            stop.cancel()
            if not work.done():  # the server itself cancels us: the call still gets its ending
                self._stopped = self._stopped or "failed"
                work.cancel()
                await asyncio.wait({work})

    async def _answer(self) -> None:
        try:
            if self._encoder is None:
                await self._whole()
            else:
                await self._stream(self._encoder)
        except asyncio.CancelledError:
            if self._stopped is None:
                raise
            await self._end_early(self._stopped)
        except ClientGone:
            await self._end_early("cancelled")
        except CallError as error:
            await self._fail(error)
        except Exception as error:
            _log.exception("call %s failed unexpectedly: %s", self._exchange.proof_id, type(error).__name__)
            await self._fail(errors.InternalError())

    async def _whole(self) -> None:
        async with aclosing(self._exchange.events()) as events:
            answer = [event async for event in events]
        ending = ending_of(answer, self._exchange.course)
        body = self._wire.whole(answer)
        await self._certify(ending, self._reply.sha256_with(body))
        await self._reply.whole(200, body, self._headers(whole=True))

    async def _stream(self, encoder: StreamEncoder) -> None:
        finishes: list[Event] = []
        silent = 0.0
        async with aclosing(with_pauses(self._exchange.events(), KEEP_ALIVE_SECONDS)) as events:
            async for event in events:
                if isinstance(event, Finish):
                    finishes.append(event)
                else:
                    await self._begin(encoder)
                silent = silent + KEEP_ALIVE_SECONDS if event is None else 0.0
                chunk = encoder.keep_alive(silent) if event is None else encoder.delta(event)
                if chunk:
                    await self._reply.write(chunk)
        ending = ending_of(finishes, self._exchange.course)
        await self._begin(encoder)
        tail = encoder.finish()
        await self._certify(ending, self._reply.sha256_with(tail))
        await self._reply.write(tail, last=True)

    async def _certify(self, ending: Ending, sha256: str) -> None:
        """From here on the certificate tells a success: a daemon that stops lets the last bytes go out."""
        self._certified = True
        try:
            await self._exchange.close(ending, status=200, response_sha256=sha256)
        except BaseException:
            self._certified = False
            raise

    async def _begin(self, encoder: StreamEncoder) -> None:
        if not self._reply.started:
            await self._reply.start(200, [*SSE_HEADERS, *self._headers(whole=False)])
            await self._reply.write(encoder.start())

    async def _fail(self, error: CallError) -> None:
        """End the call with an error: as a status while nothing has been sent, else as the stream's last event."""
        if self._reply.ended:
            return
        ending = "failed" if error.broken else "refused"
        self._failed(error.code)
        _log.warning("call %s %s: %s", self._exchange.proof_id, ending, error.code)
        if self._reply.started and self._encoder is not None:
            status, headers = 200, ()
            body = self._encoder.error(errors.body(error, self._wire.shape, self._wire.request_id))
        else:
            refusal = errors.reply(error, self._wire.shape, self._wire.request_id)
            status, headers, body = refusal.status, refusal.headers, refusal.body
        await self._close_quietly(ending, status, self._reply.sha256_with(body))
        if self._reply.started:
            await self._reply.write(body, last=True)
        else:
            await self._reply.whole(status, body, [*headers, *self._headers(whole=False)])

    async def _end_early(self, ending: Ending) -> None:
        if ending == "failed":
            await self._fail(UpstreamFailed("The gateway is stopping.", advice="Send the request again in a minute."))
        elif not self._reply.ended:
            status = 200 if self._reply.started else None
            await self._close_quietly(ending, status, self._reply.sha256_with())

    async def _close_quietly(self, ending: Ending, status: int | None, sha256: str) -> None:
        """The call has failed already: an ending that cannot be written now is written later."""
        try:
            await self._exchange.close(ending, status=status, response_sha256=sha256)
        except StorageUnavailable:
            self._exchange.close_later(ending, status=status, response_sha256=sha256)

    def _headers(self, *, whole: bool) -> Iterable[Header]:
        if self._wire.shape != "native":  # its callers see no certificates
            yield b"x-pulse-proof", self._exchange.proof_id.encode()
        if self._exchange.standing is not None:
            yield from rate_headers(self._exchange.standing, anthropic=self._wire.shape == "anthropic")
        if whole:
            yield b"x-pulse-provider", self._exchange.course.provider.encode()
            yield b"x-pulse-pii-masked", str(self._exchange.course.pii_masked).encode()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
