"""`POST /v1/chat/completions`: the OpenAI dialect's door to the path of a call."""

import asyncio
from collections.abc import Mapping, Sequence

from starlette.types import Receive, Scope, Send

from appliance.calls.address import DEFAULT_BASE
from appliance.calls.call import Call
from appliance.calls.pipeline import Exchange, Pipeline
from appliance.dialects.chat import DialectError, Event
from appliance.dialects.openai import answer as answers
from appliance.dialects.openai import request
from appliance.errors import BadRequest
from appliance.gateway.asgi import Reply, read_body
from appliance.gateway.auth import Authenticator
from appliance.gateway.drain import Drain
from appliance.gateway.errors import Shape
from appliance.gateway.serving import Serving
from appliance.ids import Clock

ENDPOINT = "/v1/chat/completions"

LARGE_BODY_BYTES = 256 * 1024
"""From here on reading a body takes a millisecond and more, and is done beside the event loop."""

MANY_PATTERNS = 10
"""Each regular expression of a schema may take a millisecond as well."""


class ChatCompletions:
    """An ASGI application for this one route. Errors before the call is accepted are raised as `CallError`."""

    def __init__(
        self,
        auth: Authenticator,
        pipeline: Pipeline,
        drain: Drain,
        *,
        clock: Clock,
        max_body_bytes: int,
        limit_seconds: float,
    ) -> None:
        self._auth = auth
        self._pipeline = pipeline
        self._drain = drain
        self._clock = clock
        self._max_body_bytes = max_body_bytes
        self._limit_seconds = limit_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        received = self._clock()
        caller = await self._auth.caller(scope, ["engine"])
        body = await read_body(scope, receive, self._max_body_bytes)
        asked = await _parse(body.content)
        call = Call(
            caller=caller,
            endpoint=ENDPOINT,
            model=asked.model,
            stream=asked.stream,
            chat=asked.chat,
            body=body.content,
            body_sha256=body.sha256,
            received=received,
        )
        with self._drain.call() as stopping:
            exchange = await self._pipeline.open(call)
            wire = _OpenAIWire(exchange.proof_id, int(received.timestamp()), asked)
            serving = Serving(
                exchange,
                wire,
                Reply(send),
                stream=asked.stream,
                stopping=stopping,
                limit_seconds=self._limit_seconds,
            )
            await serving.run(receive)


async def _parse(content: bytes) -> request.Request:
    """Raises `BadRequest` for what the dialect cannot say."""
    try:
        if len(content) < LARGE_BODY_BYTES and content.count(b'"pattern') < MANY_PATTERNS:
            return request.parse(content)
        return await asyncio.to_thread(request.parse, content)
    except DialectError as error:
        raise BadRequest(error.message, param=error.param) from None


class _OpenAIWire:
    """Renders one call's answer. The completion has the id of its proof, so that one leads to the other."""

    shape: Shape = "openai"

    def __init__(self, proof_id: str, created: int, asked: request.Request) -> None:
        self._id = "chatcmpl-" + proof_id.removeprefix("prf_")
        self._created = created
        self._asked = asked

    def whole(self, exchange: Exchange, answer: Sequence[Event]) -> bytes:
        course = exchange.course
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
