"""`POST /v1/chat/completions`: the OpenAI dialect's door to the path of a call."""

from collections.abc import Mapping, Sequence

from starlette.types import Scope

from appliance.calls.address import DEFAULT_BASE
from appliance.dialects.chat import Event
from appliance.dialects.openai import answer as answers
from appliance.dialects.openai import request
from appliance.gateway.calling import Asked
from appliance.gateway.errors import Shape
from appliance.gateway.serving import Served

ENDPOINT = "/v1/chat/completions"


class OpenAIDoor:
    endpoint = ENDPOINT

    def parse(self, content: bytes) -> Asked:
        """Raises DialectError."""
        asked = request.parse(content)
        return Asked(
            asked.model, asked.chat, asked.stream, lambda exchange, request_id: _Wire(exchange, request_id, asked)
        )

    def headers(self, scope: Scope) -> Mapping[str, str]:  # noqa: ARG002  none matters here
        return {}


class _Wire:
    """Renders one call's answer. The completion has the id of its proof, so that one leads to the other."""

    shape: Shape = "openai"

    def __init__(self, exchange: Served, request_id: str, asked: request.Request) -> None:
        self.request_id = request_id
        self._id = "chatcmpl-" + exchange.proof_id.removeprefix("prf_")
        self._created = int(exchange.received.timestamp())
        self._course = exchange.course
        self._asked = asked

    def whole(self, answer: Sequence[Event]) -> bytes:
        course = self._course
        pulse: Mapping[str, object] = {
            "provider": course.provider,
            "task": course.task,
            "pii_masked": course.pii_masked,
        }
        return answers.whole(
            id=self._id,
            created=self._created,
            model=course.model,
            events=answer,
            pulse=pulse,
            legacy_functions=self._asked.legacy_functions,
        )

    def stream(self) -> answers.Stream:
        return answers.Stream(
            self._id,
            self._created,
            self._asked.model or DEFAULT_BASE,
            include_usage=self._asked.include_usage,
            choices=self._asked.chat.choices,
            legacy_functions=self._asked.legacy_functions,
        )
