"""The extraction that follows an answer of `POST /v1/ai/complete`: a call of its own, whose failure fails nothing.

It goes the way of any call, shield and rule for sensitive text included, has a certificate and a row in the ledger, and
counts no questions. Source: completions.md ("Automatic extraction"), proofs.md ("Profile").
"""

import asyncio
import hashlib
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime

import orjson

from appliance.calls.address import SENSITIVE_BASE
from appliance.calls.call import Call, Ending
from appliance.calls.entries import EXTRACTION
from appliance.calls.pipeline import Exchange, Pipeline
from appliance.calls.record import Course, ending_of
from appliance.dialects.chat import Chat, Event, TextDelta
from appliance.dialects.leaves import leaves
from appliance.dialects.native.request import Extraction
from appliance.dialects.openai import written
from appliance.errors import CallError, StorageUnavailable
from appliance.extraction.asking import extraction_chat
from appliance.extraction.facts import Fact
from appliance.extraction.reading import facts_in
from appliance.ids import Clock, Ids
from appliance.metering.rate_limits import Standing
from appliance.store import facts as stored
from appliance.store.wiping import Wiper
from appliance.times import to_ms

_log = logging.getLogger(__name__)


SECONDS = 30.0
"""How long an answer that is there waits for its facts at most."""


@dataclass(frozen=True, slots=True)
class Extractor:
    """Finds the facts in a user's message, and keeps them. `total_seconds` is what a call may take with all of it."""

    pipeline: Pipeline
    wiper: Wiper
    clock: Clock
    ids: Ids
    total_seconds: float

    async def facts(
        self, exchange: Exchange, call: Call, extraction: Extraction, stopping: asyncio.Event
    ) -> tuple[Fact, ...]:
        """Those in the last message of the user of this call, which has its answer; stored where that is wanted. Where
        there is a failure it is logged, and there are none; nor where it takes too long, or the daemon has to stop."""
        message = "\n".join(message.text for message in call.drives.messages) if call.drives else ""
        seconds = min(SECONDS, self.total_seconds - exchange.elapsed)
        if not message.strip() or seconds <= 0:
            return ()
        work = asyncio.ensure_future(self._found(exchange, call, message, extraction))
        stop = asyncio.ensure_future(stopping.wait())
        try:
            done, _ = await asyncio.wait({work, stop}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if work in done:
                return work.result()
            _log.warning("nothing was extracted for %s: %s", exchange.proof_id, "stopping" if done else "too slow")
        except CallError as error:
            _log.warning("nothing was extracted for %s: %s", exchange.proof_id, error.code)
        except Exception as error:
            _log.exception("nothing was extracted for %s: %s", exchange.proof_id, type(error).__name__)
        finally:
            stop.cancel()
            work.cancel()
            await asyncio.wait({work})
        return ()

    async def _found(self, exchange: Exchange, call: Call, message: str, extraction: Extraction) -> tuple[Fact, ...]:
        answer = await self._asked(exchange, call, message, extraction)
        # A long message takes a while to be looked through.
        found = await asyncio.to_thread(facts_in, answer, message, extraction.categories)
        if not found or not extraction.persist:
            return found
        return await self._kept(call, extraction.source, found)

    async def _asked(self, exchange: Exchange, call: Call, message: str, extraction: Extraction) -> str:
        """What a model says of the message. Raises CallError where it says nothing."""
        chat = extraction_chat(message, extraction.categories)
        body = _body(chat)
        # What stayed inside stays inside, though nothing in this one message would tell.
        sensitive = exchange.course.task == "sensitive"
        own = replace(
            call,
            endpoint=EXTRACTION,
            model=SENSITIVE_BASE if sensitive else "",
            chat=chat,
            beside=tuple(leaf.text for leaf in leaves(call.chat)),
            body=body,
            body_sha256=hashlib.sha256(body).hexdigest(),
            received=self.clock(),
            received_bytes=len(body),
        )
        opening = asyncio.ensure_future(self.pipeline.open(own))
        try:
            opened = await asyncio.shield(opening)
        except asyncio.CancelledError:  # its intent is written all the same, and has to be closed
            opening.add_done_callback(_give_up)
            raise
        try:
            async with aclosing(opened.events()) as events:
                answer = [event async for event in events]
            ending = ending_of(answer, opened.course)
        except asyncio.CancelledError:
            _cancel(opened)
            raise
        except Exception as error:
            refused = isinstance(error, CallError) and not error.broken
            await _end(opened, "refused" if refused else "failed", "")
            raise
        text = "".join(event.text for event in answer if isinstance(event, TextDelta))
        await _end(opened, ending, text)
        return text

    async def _kept(self, call: Call, source: str, found: Sequence[Fact]) -> tuple[Fact, ...]:
        """The facts, once they are stored as of when the call came: of two messages the later one corrects the other,
        whichever was extracted first. None of a user who was erased meanwhile."""
        user_n, at_ms = call.caller.user_n, to_ms(call.received)
        new = [(fact, self.ids.new("fct")) for fact in found]
        rows = await self.wiper.write(
            lambda conn: [stored.upsert(conn, user_n, source, fact, at_ms, new_id) for fact, new_id in new]
        )
        return tuple(fact for fact, row in zip(found, rows, strict=True) if row is not None)


def _give_up(opening: "asyncio.Future[Exchange]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        _cancel(opening.result())


def _cancel(exchange: Exchange) -> None:
    exchange.close_later("cancelled", status=None, response_sha256=_sha256(""))


async def _end(exchange: Exchange, ending: Ending, text: str) -> None:
    try:
        await exchange.close(ending, status=None, response_sha256=_sha256(text))
    except StorageUnavailable:
        exchange.close_later(ending, status=None, response_sha256=_sha256(text))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _body(chat: Chat) -> bytes:
    """The call in the OpenAI dialect, which has a word for all of it: masked where it leaves, and read again. Without
    the temperature, which many models of providers refuse."""
    said = replace(chat, sampling=replace(chat.sampling, temperature=None))
    return orjson.dumps({**written.body(said, model="", compatible=True), "reasoning_effort": chat.effort})


class WithFacts:
    """An exchange that finds the facts once it has its answer, and is else as the exchange itself."""

    def __init__(
        self, exchange: Exchange, extractor: Extractor, call: Call, extraction: Extraction, stopping: asyncio.Event
    ) -> None:
        self._exchange = exchange
        self._stopping = stopping
        self._extractor = extractor
        self._call = call
        self._extraction = extraction
        self.facts: tuple[Fact, ...] = ()

    @property
    def proof_id(self) -> str:
        return self._exchange.proof_id

    @property
    def received(self) -> datetime:
        return self._exchange.received

    @property
    def elapsed(self) -> float:
        return self._exchange.elapsed

    @property
    def answered(self) -> bool:
        return self._exchange.answered

    @property
    def course(self) -> Course:
        return self._exchange.course

    @property
    def standing(self) -> Standing | None:
        return self._exchange.standing

    async def events(self) -> AsyncGenerator[Event, None]:
        """Those of the answer; its facts are there when they end. Raises as the exchange's own."""
        async with aclosing(self._exchange.events()) as events:
            async for event in events:
                yield event
        self.facts = await self._extractor.facts(self._exchange, self._call, self._extraction, self._stopping)

    async def close(self, ending: Ending, *, status: int | None, response_sha256: str) -> None:
        await self._exchange.close(ending, status=status, response_sha256=response_sha256)

    def close_later(self, ending: Ending, *, status: int | None, response_sha256: str) -> None:
        self._exchange.close_later(ending, status=status, response_sha256=response_sha256)
