"""`POST /v1/ai/complete`: the gateway's own dialect's door to the path of a call. Its answers come whole."""

from collections.abc import Mapping, Sequence

from starlette.types import Scope

from appliance.calls.pipeline import Exchange
from appliance.dialects.chat import Event
from appliance.dialects.native import answer as answers
from appliance.dialects.native import request
from appliance.gateway.calling import Asked
from appliance.gateway.errors import Shape
from appliance.gateway.serving import StreamEncoder

ENDPOINT = "/v1/ai/complete"


class NativeDoor:
    endpoint = ENDPOINT

    def parse(self, content: bytes) -> Asked:
        """Raises DialectError."""
        asked = request.parse(content)
        return Asked(
            "",
            asked.chat,
            stream=False,
            wire=_Wire,
            drives=asked.drives,
            writes=asked.extraction is not None and asked.extraction.persist,
        )

    def headers(self, scope: Scope) -> Mapping[str, str]:  # noqa: ARG002  none matters here
        return {}


class _Wire:
    """Renders one call's answer. `extracted` are the facts that go with it."""

    shape: Shape = "native"

    def __init__(self, exchange: Exchange, request_id: str) -> None:
        self.request_id = request_id
        self.extracted: Sequence[Mapping[str, object]] = ()
        self._exchange = exchange

    def whole(self, answer: Sequence[Event]) -> bytes:
        course = self._exchange.course
        routing: Mapping[str, object] = {
            "task": course.task,
            "tier": course.tier,
            "provider": course.provider,
            "model": course.model,
        }
        return answers.whole(
            answer, extracted=self.extracted, routing=routing, latency_ms=round(self._exchange.elapsed * 1000)
        )

    def stream(self) -> StreamEncoder:
        raise NotImplementedError
