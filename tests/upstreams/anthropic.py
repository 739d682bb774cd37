"""A double of Anthropic's API: its wire as documented, on a port of its own, with every fault that a provider can have.

It refuses what the real API refuses (`anthropic_rules`), so that a wrong body shows. Sources: Anthropic's documentation
("Streaming messages", "Errors", "Models"); the types of PyPI `anthropic` 2.14.0, whose client reads what this writes.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from tests.upstreams.anthropic_events import end, folded, ping, start, text, tool_use
from tests.upstreams.anthropic_rules import problem
from tests.upstreams.serving import Double, listening

Json = dict[str, Any]

KEY = "sk-ant-api03-of-the-double"


Step = bytes | float | str | asyncio.Event
"""A piece of a script: bytes to send, seconds or an event to wait for, or `die` (the connection breaks)."""

Script = Callable[[web.Request, Json], Awaitable[web.StreamResponse]]


def says(*steps: Step) -> Script:
    """A script that sends and waits as told: the events as they are, or one message of them if no stream was asked."""

    async def run(request: web.Request, body: Json) -> web.StreamResponse:
        if not body.get("stream"):
            said = b"".join([piece async for piece in _pieces(request, steps)])
            return web.json_response(folded(said))
        headers = {"Content-Type": "text/event-stream; charset=utf-8", "request-id": "req_011Double"}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        async for piece in _pieces(request, steps):
            await response.write(piece)
        await response.write_eof()
        return response

    return run


async def _pieces(request: web.Request, steps: Iterable[Step]) -> AsyncIterator[bytes]:
    for step in steps:
        if isinstance(step, bytes):
            yield step
        elif isinstance(step, asyncio.Event):
            await step.wait()
        elif step == "die":
            assert request.transport is not None
            request.transport.abort()
            raise ConnectionResetError
        else:
            await asyncio.sleep(float(step))


def after(wait: float | asyncio.Event, script: Script) -> Script:
    """The script, begun late: until then the caller has not even a status."""

    async def run(request: web.Request, body: Json) -> web.StreamResponse:
        await (wait.wait() if isinstance(wait, asyncio.Event) else asyncio.sleep(wait))
        return await script(request, body)

    return run


def answers(*texts: str, reason: str = "end_turn") -> Script:
    """A script of a healthy answer in these pieces."""
    return says(start(), ping(), text(*texts), end(reason, tokens=len(texts)))


def calls(*tools: tuple[str, tuple[str, ...]], before: str = "") -> Script:
    """A script of a text and then these calls, each a name and the pieces of its input."""
    first = [text(before)] if before else []
    used = [
        tool_use(name, *pieces, index=len(first) + n, id=f"toolu_{n:02}Double")
        for n, (name, pieces) in enumerate(tools)
    ]
    return says(start(), ping(), *first, *used, end("tool_use"))


def echoes(size: int = 7) -> Script:
    """A script that answers with all text that it was sent, in order, a line each, in pieces of `size` characters."""

    async def run(request: web.Request, body: Json) -> web.StreamResponse:
        said = "\n".join(texts_of(body))
        return await answers(*(said[i : i + size] for i in range(0, len(said), size)))(request, body)

    return run


def refuses(status: int, kind: str, message: str, **headers: str) -> Script:
    """A script of an error status with Anthropic's error body; `retry_after` and the like become headers."""

    async def run(request: web.Request, body: Json) -> web.StreamResponse:
        return refused(status, kind, message, **headers)

    return run


def refused(status: int, kind: str, message: str, **headers: str) -> web.Response:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011Double"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.json_response(body, status=status, headers={"request-id": "req_011Double", **named})


INVALID_KEY = refuses(401, "authentication_error", "invalid x-api-key")
FORBIDDEN = refuses(403, "permission_error", "Your API key does not have permission to use the specified resource.")
TOO_LONG = refuses(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
TOO_LARGE = refuses(413, "request_too_large", "Request exceeds the maximum size")
RATE_LIMITED = refuses(429, "rate_limit_error", "This request would exceed your rate limit.", retry_after="2")
BROKEN = refuses(500, "api_error", "Internal server error")
OVERLOADED = refuses(529, "overloaded_error", "Overloaded")


def texts_of(body: Json) -> list[str]:
    """Every text that the model reads, in order: the system's, then block by block, results and calls' inputs too."""
    system = body.get("system", [])
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else [*system]
    for message in body["messages"]:
        content = message["content"]
        blocks += [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [piece for one in blocks for piece in _texts(one)]


def _texts(one: Json) -> list[str]:
    if one["type"] == "tool_use":
        return [orjson.dumps(one["input"]).decode()]
    content = one.get("content", [])
    if one["type"] == "tool_result":
        return [content] if isinstance(content, str) else [piece for inner in content for piece in _texts(inner)]
    return [one["text"]] if one["type"] == "text" else []


@dataclass
class AnthropicDouble(Double):
    """Give it `scripts` (one a call, then `default`); read `received` (bodies) and `left` (calls the client left).

    `prefill`: whether its models go on from an assistant's last turn, which newer ones do not. `system_turns`: whether
    they take the role `system` among the messages, which older ones do not. `lenient`: whether it takes bodies that the
    API would refuse.
    """

    key: str = KEY
    models: list[str] = field(default_factory=lambda: ["claude-double", "claude-double-small"])
    prefill: bool = False
    system_turns: bool = False
    lenient: bool = False
    default: Script = field(default_factory=lambda: answers("Hello", " there", "."))
    scripts: deque[Script] = field(default_factory=deque[Script])
    received: list[bytes] = field(default_factory=list[bytes])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    counted: list[bytes] = field(default_factory=list[bytes])
    problems: list[str] = field(default_factory=list[str])
    """What was wrong with the bodies that it refused by itself."""

    async def messages(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        self.received.append(data)
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.connections.add(id(request.transport))
        wrong = self._wrong(request, data)
        if wrong is not None:
            return wrong
        script = self.scripts.popleft() if self.scripts else self.default
        return await self.play(script(request, orjson.loads(data)))

    def _wrong(self, request: web.Request, data: bytes, *, counting: bool = False) -> web.Response | None:
        unknown = self._unknown(request)
        if unknown is not None:
            return unknown
        if request.content_type != "application/json":
            return self._refused("Content-Type: must be application/json")
        try:
            body = orjson.loads(data)
        except orjson.JSONDecodeError:
            return self._refused("The request body is not valid JSON")
        betas = request.headers.get("anthropic-beta", "").split(",")
        wrong = None
        if not self.lenient:
            wrong = problem(body, betas, prefill=self.prefill, system_turns=self.system_turns, counting=counting)
        if wrong is not None:
            return self._refused(wrong)
        if body["model"] not in self.models:
            return refused(404, "not_found_error", f"model: {body['model']}")
        return None

    def _unknown(self, request: web.Request) -> web.Response | None:
        """The refusal of a caller without the key or without a version."""
        given = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix("Bearer ")
        if not given:
            return refused(401, "authentication_error", "x-api-key header is required")
        if given != self.key:
            return refused(401, "authentication_error", "invalid x-api-key")
        if "anthropic-version" not in request.headers:
            return self._refused("anthropic-version: header is required")
        return None

    def _refused(self, message: str) -> web.Response:
        self.problems.append(message)
        return refused(400, "invalid_request_error", message)

    async def count_tokens(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        self.counted.append(data)
        wrong = self._wrong(request, data, counting=True)
        return wrong or web.json_response({"input_tokens": -(-len(data) // 4)})

    async def list_models(self, request: web.Request) -> web.StreamResponse:
        unknown = self._unknown(request)
        shown = self.models[: int(request.query.get("limit", "20"))]
        more = len(shown) < len(self.models)
        ends = {"has_more": more, "first_id": shown[0] if shown else None, "last_id": shown[-1] if shown else None}
        return unknown or web.json_response({"data": [_model(name) for name in shown], **ends})

    async def one_model(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["model"]
        unknown = self._unknown(request)
        if unknown is None and name not in self.models:
            unknown = refused(404, "not_found_error", f"model: {name}")
        return unknown or web.json_response(_model(name))


def _model(name: str) -> Json:
    return {
        "type": "model",
        "id": name,
        "display_name": name.replace("-", " ").title(),
        "created_at": "2026-09-29T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": 200_000,
        "max_tokens": 64_000,
    }


async def _not_found(request: web.Request) -> web.StreamResponse:
    return refused(404, "not_found_error", "Not Found")


@asynccontextmanager
async def anthropic_double(port: int = 0, **options: Any):
    """A running double; it listens on loopback until the block is left."""
    double = AnthropicDouble(**options)
    routes = [
        web.post("/v1/messages", double.messages),
        web.post("/v1/messages/count_tokens", double.count_tokens),
        web.get("/v1/models", double.list_models),
        web.get("/v1/models/{model}", double.one_model),
        web.route("*", "/{rest:.*}", _not_found),
    ]
    async with listening(double, routes, port):
        yield double
