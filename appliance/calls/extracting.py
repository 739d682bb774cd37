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

from appliance.calls.call import Call, Ending
from appliance.calls.entries import EXTRACTION
from appliance.calls.pipeline import Exchange, Pipeline
from appliance.calls.record import Course, ending_of
from appliance.dialects.chat import Chat, Event, TextDelta
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


@dataclass(frozen=True, slots=True)
class Extractor:
    """Finds the facts in a user's message, and keeps them."""

    pipeline: Pipeline
    wiper: Wiper
    clock: Clock
    ids: Ids

    async def facts(self, call: Call, extraction: Extraction) -> tuple[Fact, ...]:
        """Those in the last message of the user of this call, stored where that is wanted. Where there is a failure it
        is logged, and there are none."""
        message = "\n".join(message.text for message in call.drives.messages) if call.drives else ""
        if not message.strip():
            return ()
        try:
            answer = await self._asked(call, message, extraction)
            # A long message takes a while to be looked through.
            found = await asyncio.to_thread(facts_in, answer, message, extraction.categories)
            if found and extraction.persist:
                await self._keep(call.caller.user_n, extraction.source, found)
        except CallError as error:
            _log.warning("nothing was extracted: %s", error.code)
            return ()
        except Exception as error:
            _log.exception("nothing was extracted: %s", type(error).__name__)
            return ()
        return found

    async def _asked(self, call: Call, message: str, extraction: Extraction) -> str:
        """What a model says of the message. Raises CallError where it says nothing."""
        chat = extraction_chat(message, extraction.categories)
        body = _body(chat)
        own = replace(
            call,
            endpoint=EXTRACTION,
            chat=chat,
            body=body,
            body_sha256=hashlib.sha256(body).hexdigest(),
            received=self.clock(),
            received_bytes=len(body),
        )
        exchange = await self.pipeline.open(own)
        try:
            async with aclosing(exchange.events()) as events:
                answer = [event async for event in events]
            ending = ending_of(answer, exchange.course)
        except asyncio.CancelledError:
            exchange.close_later("cancelled", status=None, response_sha256=_sha256(""))
            raise
        except Exception as error:
            refused = isinstance(error, CallError) and not error.broken
            await _end(exchange, "refused" if refused else "failed", "")
            raise
        text = "".join(event.text for event in answer if isinstance(event, TextDelta))
        await _end(exchange, ending, text)
        return text

    async def _keep(self, user_n: int, source: str, found: Sequence[Fact]) -> None:
        now = to_ms(self.clock())
        ids = [self.ids.new("fct") for _ in found]
        await self.wiper.write(
            lambda conn: [
                stored.upsert(conn, user_n, source, fact, now, new_id) for fact, new_id in zip(found, ids, strict=True)
            ]
        )


async def _end(exchange: Exchange, ending: Ending, text: str) -> None:
    try:
        await exchange.close(ending, status=None, response_sha256=_sha256(text))
    except StorageUnavailable:
        exchange.close_later(ending, status=None, response_sha256=_sha256(text))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _body(chat: Chat) -> bytes:
    """The call in the OpenAI dialect, which has a word for all of it: masked where it leaves, and read again."""
    return orjson.dumps({**written.body(chat, model="", compatible=True), "reasoning_effort": chat.effort})


class WithFacts:
    """An exchange that finds the facts once it has its answer, and is else as the exchange itself."""

    def __init__(self, exchange: Exchange, extractor: Extractor, call: Call, extraction: Extraction) -> None:
        self._exchange = exchange
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
        self.facts = await self._extractor.facts(self._call, self._extraction)

    async def close(self, ending: Ending, *, status: int | None, response_sha256: str) -> None:
        await self._exchange.close(ending, status=status, response_sha256=response_sha256)

    def close_later(self, ending: Ending, *, status: int | None, response_sha256: str) -> None:
        self._exchange.close_later(ending, status=status, response_sha256=response_sha256)
