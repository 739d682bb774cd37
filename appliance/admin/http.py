"""What every route of the admin API does with requests and answers: strict JSON in, JSON out, and who asks.

Must not know any route.
"""

from typing import Any, TypeVar, cast

import orjson
from starlette.requests import Request
from starlette.responses import Response

from appliance.admin import wire
from appliance.admin.peers import PEER, Peer
from appliance.errors import AdminError

T = TypeVar("T")

MAX_BODY_BYTES = 64 * 1024
"""No request of this API comes near it; the few that do say so."""

MAX_INDEX = 2**53 - 1
"""The largest log index that JSON carries exactly."""


class BodyTooLarge(AdminError):
    code = "request_too_large"


def who_asks(request: Request) -> str:
    return cast(Peer, request.scope[PEER]).login


def number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= MAX_INDEX):
        raise wire.InvalidInput(f"{name} must be a whole number.")
    return int(text)


async def body_as(cls: type[T], request: Request, limit: int = MAX_BODY_BYTES) -> T:
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > limit:
            raise BodyTooLarge(
                f"The body is larger than {limit} bytes.", advice="Shorten what was typed or pasted, and send it again."
            )
    try:
        value = orjson.loads(read)
    except orjson.JSONDecodeError as error:
        raise wire.InvalidInput("The body is not JSON.") from error
    return wire.decode(cls, value)


def answer(shape: Any, *, status: int = 200) -> Response:
    return raw_answer(orjson.dumps(wire.encode(shape)), status=status)


def raw_answer(body: bytes, *, status: int = 200) -> Response:
    return Response(body, status_code=status, media_type="application/json", headers={"cache-control": "no-store"})


def refusal(status: int, code: str, message: str, advice: str) -> Response:
    return answer(wire.Refusal(wire.Problem(code, message, advice)), status=status)
