"""What surrounds every route: a request id, forgiving paths, and errors that never show more than they should."""

import asyncio
import difflib
import logging
import re
from collections.abc import Callable, Iterable, Sequence

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from appliance.errors import AmbiguousLength, CallError, MethodNotAllowed, NotFound
from appliance.gateway import errors
from appliance.gateway.asgi import ClientGone, Header, Reply
from appliance.gateway.errors import InternalError, Shape
from appliance.ids import Ids

_log = logging.getLogger(__name__)

ANTHROPIC_PATH = "/v1/messages"
OPENAI_PATHS = ("/v1/chat/", "/v1/completions", "/v1/responses", "/v1/embeddings")
"""Paths of one dialect, whoever asks."""

NATIVE_PATHS = ("/v1/proofs", "/v1/ai/", "/v1/knowledge", "/.well-known/", "/healthz", "/readyz", "/metrics")

DISCARD_BYTES = 256 * 1024 * 1024
DISCARD_SECONDS = 10.0
DISCARD_PAUSE_SECONDS = 2.0
"""How much of a refused body is still read, for how long, and how long its client may pause. Nothing of it is kept, but
the connection is, and anybody can send such a request: no key is needed.
"""

_USE_CHAT = "Set the client to chat completions: POST /v1/chat/completions."

NOT_SERVED = {
    "/": (
        "This is Synapse. Clients of the OpenAI dialect take the base URL with /v1, those of the Anthropic dialect"
        " without; GET /v1/models lists what there is."
    ),
    "/v1": "This is the base URL itself: a client adds the path, such as /chat/completions.",
    "/v1/responses": _USE_CHAT,
    "/v1/completions": _USE_CHAT,
    "/v1/embeddings": "Embeddings are not served yet.",
}
"""Paths that clients ask for, with what to do instead."""


def shape_of(scope: Scope, path: str) -> Shape:
    """Whose error form a request is answered in (gateway.md, "Errors"): its path's, and on paths that several dialects
    share that of its client."""
    if path.startswith(NATIVE_PATHS):
        return "native"
    if path.startswith(OPENAI_PATHS):
        return "openai"
    return "anthropic" if path.startswith(ANTHROPIC_PATH) or speaks_anthropic(scope) else "openai"


def speaks_anthropic(scope: Scope) -> bool:
    """Whether the client says that it speaks Anthropic's dialect, which its requests always do."""
    return any(name == b"anthropic-version" for name, _ in scope["headers"])


class Edge:
    """Wraps the router. Whatever it raises becomes an answer in the route's own error form, and `failed` is told of its
    code."""

    def __init__(self, router: ASGIApp, ids: Ids, paths: Sequence[str], failed: Callable[[str], None]) -> None:
        self._router = router
        self._failed = failed
        self._ids = ids
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close"})
            return
        request_id = self._ids.new("req")
        path = re.sub(r"^(/v1)+(?=/|$)", "/v1", scope["path"])
        shape = shape_of(scope, path)
        reply, body = _Marked(send, request_id, also=b"request-id" if shape == "anthropic" else None), _Body(receive)
        if path == "/" and scope["method"] in ("HEAD", "OPTIONS"):  # how some clients ask whether anybody is there
            await Reply(reply).whole(200, b"")
            return
        try:
            _refuse_two_lengths(scope)
            # With an app in the scope the router raises its refusals instead of answering them in plain text.
            await self._router({**scope, "path": path, "app": self, "request_id": request_id}, body, reply)
        except ClientGone:
            return
        except CallError as error:
            await self._answer(scope, shape, body, reply, error)
        except HTTPException as error:
            allow = [(b"allow", f"{_methods(error)}, OPTIONS".encode())] if error.status_code == 405 else []
            if allow and scope["method"] == "OPTIONS":
                await _allowed(allow, reply)
                return
            await self._answer(scope, shape, body, reply, self._routing_error(error, scope, path), allow)
        except Exception as error:
            _log.exception("request %s failed unexpectedly: %s", request_id, type(error).__name__)
            await self._answer(scope, shape, body, reply, InternalError())

    async def _answer(
        self,
        scope: Scope,
        shape: Shape,
        body: "_Body",
        reply: "_Marked",
        error: CallError,
        also: Iterable[Header] = (),
    ) -> None:
        if reply.started:  # too late for a status: what was begun ends here, unfinished
            return
        self._failed(error.code)
        answer = errors.reply(error, shape, reply.request_id)
        headers = [one for one in answer.headers if one[0] != b"connection" or scope["http_version"] == "1.1"]
        sending = Reply(reply)
        # Who reads it at once has it whole; but its end would close the connection, or reset the stream, on the others.
        await sending.whole(answer.status, answer.body, [*headers, *also], last=False)
        await body.discard()
        await sending.write(b"", last=True)

    def _routing_error(self, error: HTTPException, scope: Scope, path: str) -> CallError:
        if error.status_code == 405:
            return MethodNotAllowed(f"{scope['method']} is not allowed here.", advice=f"Use {_methods(error)}.")
        bare = path.rstrip("/") or "/"
        for known in (bare, f"/v1{bare}"):  # as it is, or without the base URL's own path
            if known in NOT_SERVED:
                return NotFound(f"{bare} is not served by this version.", advice=NOT_SERVED[known])
        near = difflib.get_close_matches(path, self._paths, n=1, cutoff=0.75)
        advice = f"Did you mean {near[0]}?" if near else "This gateway serves " + ", ".join(self._paths) + "."
        return NotFound("There is nothing at this path.", advice=advice)


def _methods(error: HTTPException) -> str:
    """Those that the path of a 405 has a route for; the router names them in any order."""
    return ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))


async def _allowed(allow: Iterable[Header], reply: "_Marked") -> None:
    """What may be done at a path, for a client that asks before (RFC 9110, 9.3.7)."""
    answer = Reply(reply)
    await answer.start(204, allow)
    await answer.write(b"", last=True)


def _refuse_two_lengths(scope: Scope) -> None:
    """Raises `AmbiguousLength`: a proxy in front that believes the other one sees other requests (RFC 9112, 6.3)."""
    names = {name for name, _ in scope["headers"]}
    if {b"content-length", b"transfer-encoding"} <= names:
        raise AmbiguousLength(
            "The request has two lengths.", advice="Send Content-Length or Transfer-Encoding, not both."
        )


class _Body:
    """Hands the request's messages on, and can throw the rest of the body away.

    Most clients read no answer before they have sent their whole body: one that is refused early must still be
    let finish, within reason, or it would see a broken connection instead of the refusal.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ended = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def discard(self) -> None:
        size = 0
        try:
            async with asyncio.timeout(DISCARD_SECONDS):
                while not self._ended and size < DISCARD_BYTES:
                    async with asyncio.timeout(DISCARD_PAUSE_SECONDS):
                        size += len((await self()).get("body", b""))
        except TimeoutError:
            return


class _Marked:
    """Adds the request id to the head of the answer, under a dialect's own name `also`, and remembers that there was
    one."""

    def __init__(self, send: Send, request_id: str, *, also: bytes | None) -> None:
        self._send = send
        self._names = (b"x-request-id", also) if also else (b"x-request-id",)
        self.request_id = request_id
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            marks = [(name, self.request_id.encode()) for name in self._names]
            message = {**message, "headers": [*message["headers"], *marks]}
        await self._send(message)
