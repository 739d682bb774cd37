"""`POST /v1/ai/complete`: the gateway's own dialect's door to the path of a call. Its answers come whole."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from starlette.types import Scope

from appliance.calls.call import Call
from appliance.calls.extracting import Extractor, WithFacts
from appliance.calls.pipeline import Exchange
from appliance.dialects.chat import Event
from appliance.dialects.native import answer as answers
from appliance.dialects.native import request
from appliance.gateway.calling import Asked
from appliance.gateway.errors import Shape
from appliance.gateway.serving import Served, StreamEncoder

ENDPOINT = "/v1/ai/complete"


class NativeDoor:
    endpoint = ENDPOINT

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor

    def parse(self, content: bytes) -> Asked:
        """Raises DialectError."""
        asked = request.parse(content)
        extraction = asked.extraction
        if extraction is None:
            return Asked("", asked.chat, stream=False, wire=_Wire, drives=asked.drives)

        def around(exchange: Exchange, call: Call, stopping: asyncio.Event) -> WithFacts:
            return WithFacts(exchange, self._extractor, call, extraction, stopping)

        return Asked(
            "",
            asked.chat,
            stream=False,
            wire=_Wire,
            drives=asked.drives,
            writes=extraction.persist,
            around=around,
        )

    def headers(self, scope: Scope) -> Mapping[str, str]:  # noqa: ARG002  none matters here
        return {}


class _Wire:
    """Renders one call's answer, and the facts that were found after it."""

    shape: Shape = "native"

    def __init__(self, exchange: Served, request_id: str) -> None:
        self.request_id = request_id
        self._exchange = exchange

    def whole(self, answer: Sequence[Event]) -> bytes:
        exchange = self._exchange
        course = exchange.course
        routing: Mapping[str, object] = {
            "task": course.task,
            "tier": course.tier,
            "provider": course.provider,
            "model": course.model,
        }
        facts = exchange.facts if isinstance(exchange, WithFacts) else ()
        return answers.whole(
            answer,
            extracted=[asdict(fact) for fact in facts],
            routing=routing,
            latency_ms=round(exchange.elapsed * 1000),
        )

    def stream(self) -> StreamEncoder:
        raise AssertionError("answers of this endpoint come whole")
