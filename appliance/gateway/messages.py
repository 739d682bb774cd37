"""`POST /v1/messages` and `POST /v1/messages/count_tokens`: the Anthropic dialect's door to the path of a call."""

from collections.abc import Mapping, Sequence

import orjson
from starlette.types import Receive, Scope, Send

from appliance.calls.address import DEFAULT_BASE
from appliance.calls.estimate import measure
from appliance.dialects.anthropic import answer as answers
from appliance.dialects.anthropic import request
from appliance.dialects.chat import Event
from appliance.gateway.asgi import Reply, read_body
from appliance.gateway.auth import Authenticator
from appliance.gateway.calling import Asked, parsed
from appliance.gateway.errors import Shape
from appliance.gateway.room import Room
from appliance.gateway.serving import Served

ENDPOINT = "/v1/messages"
COUNTING = "/v1/messages/count_tokens"

_HEADERS = ("anthropic-version", "anthropic-beta")


class AnthropicDoor:
    endpoint = ENDPOINT

    def parse(self, content: bytes) -> Asked:
        """Raises DialectError."""
        asked = request.parse(content)
        return Asked(
            asked.model, asked.chat, asked.stream, lambda exchange, request_id: _Wire(exchange, request_id, asked.model)
        )

    def headers(self, scope: Scope) -> Mapping[str, str]:
        """Of a header that comes several times all values, as if it were one."""
        found: dict[str, str] = {}
        for name, value in scope["headers"]:
            known = name.decode("latin-1")
            if known in _HEADERS:
                said = value.decode("latin-1")
                found[known] = f"{found[known]},{said}" if known in found else said
        return found


class _Wire:
    """Renders one call's answer. The message has the id of its proof, so that one leads to the other."""

    shape: Shape = "anthropic"

    def __init__(self, exchange: Served, request_id: str, model: str) -> None:
        self.request_id = request_id
        self._id = "msg_" + exchange.proof_id.removeprefix("prf_")
        self._course = exchange.course
        self._model = model

    def whole(self, answer: Sequence[Event]) -> bytes:
        course = self._course
        return answers.whole(id=self._id, model=course.model, events=answer, input_tokens=course.estimate)

    def stream(self) -> answers.Stream:
        return answers.Stream(self._id, self._model or DEFAULT_BASE, input_tokens=lambda: self._course.estimate)


class CountTokens:
    """An ASGI application that says how long a prompt is: the estimate that routing goes by, and no model's count.

    Asks nobody and writes nothing down.
    """

    def __init__(self, auth: Authenticator, room: Room, max_body_bytes: int) -> None:
        self._auth = auth
        self._room = room
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = await self._auth.caller(scope, ["engine"])
        with self._room.place() as place:
            body = await read_body(scope, receive, self._max_body_bytes, place)
            tokens = await parsed(_count, body.content)
        self._auth.admit(caller)
        await Reply(send).whole(200, orjson.dumps({"input_tokens": tokens}))


def _count(content: bytes) -> int:
    return measure(request.counted(content)).tokens
