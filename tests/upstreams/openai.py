"""A double of OpenAI, of a server that speaks alike, and of Mistral: their wires, with every fault a provider can have.

The shapes are those of the OpenAI API reference ("The chat completion chunk object", "Error codes"), of the Mistral API
reference, and of answers that are quoted in public issues, as said at each.
"""

import asyncio
import re
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from tests.upstreams.serving import Double, listening

CREATED = 1_764_444_223
TOKEN = re.compile(r"\[[A-Z][A-Z0-9_]*_[a-z2-7]{8,}\]")
"""A masked value (shield.md, "Tokens")."""

MISTRAL_MEMBERS = frozenset(
    {
        "model", "temperature", "top_p", "max_tokens", "stream", "stop", "random_seed", "metadata", "messages",
        "response_format", "tools", "tool_choice", "presence_penalty", "frequency_penalty", "n", "prediction",
        "parallel_tool_calls", "prompt_mode", "reasoning_effort", "guardrails", "safe_prompt",
    }
)  # fmt: skip
"""Every member of Mistral's `ChatCompletionStreamRequest`."""

DONE = b"data: [DONE]\n\n"


def data(value: object, *, event: str = "") -> bytes:
    """One server-sent event."""
    name = f"event: {event}\n".encode() if event else b""
    return name + b"data: " + (value if isinstance(value, bytes) else orjson.dumps(value)) + b"\n\n"


def chunk(delta: dict[str, Any] | None = None, *, index: int = 0, reason: str | None = None, **more: Any) -> bytes:
    """A chunk with one choice; `more` goes beside `choices`, but `logprobs` into the choice."""
    choice: dict[str, Any] = {"index": index, "delta": delta or {}, "finish_reason": reason}
    if "logprobs" in more:
        choice["logprobs"] = more.pop("logprobs")
    return data({**_head(), "choices": [choice], **more})


def text(content: str, index: int = 0) -> bytes:
    return chunk({"content": content}, index=index)


def finish(reason: str = "stop", index: int = 0, **more: Any) -> bytes:
    return chunk(index=index, reason=reason, **more)


def tool_piece(index: int | None = 0, **function: Any) -> bytes:
    """A chunk with a piece of a tool call: `id` beside the function, `name` and `arguments` in it."""
    call: dict[str, Any] = {} if index is None else {"index": index}
    if "id" in function:
        call |= {"id": function.pop("id"), "type": "function"}
    return chunk({"tool_calls": [{**call, "function": function}]})


def usage(prompt: int = 7, completion: int = 3) -> bytes:
    """OpenAI's chunk behind the last one, that is asked for by `include_usage`."""
    return data({**_head(), "choices": [], "usage": counts(prompt, completion)})


def counts(prompt: int = 7, completion: int = 3) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _head() -> dict[str, Any]:
    return {"id": "chatcmpl-theirs", "object": "chat.completion.chunk", "created": CREATED, "model": "double"}


Step = bytes | float | str | asyncio.Event
"""A piece of a script: bytes to send, seconds or an event to wait for, or `die` (the connection breaks)."""

Script = Callable[[web.Request], Awaitable[web.StreamResponse]]


def says(*steps: Step, status: int = 200, content_type: str = "text/event-stream") -> Script:
    """A script that sends and waits as told."""

    async def run(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"Content-Type": content_type})
        await response.prepare(request)
        for step in steps:
            if isinstance(step, bytes):
                await response.write(step)
            elif isinstance(step, asyncio.Event):
                await step.wait()
            elif step == "die":
                _die(request)
            else:
                await asyncio.sleep(float(step))
        await response.write_eof()
        return response

    return run


def dies() -> Script:
    """A script that breaks the connection before a word of an answer."""

    async def run(request: web.Request) -> web.StreamResponse:
        _die(request)
        raise AssertionError

    return run


def _die(request: web.Request) -> None:
    assert request.transport is not None
    request.transport.abort()
    raise ConnectionResetError


def answers(*texts: str, reason: str = "stop", prompt: int = 7) -> Script:
    """OpenAI's healthy answer in these pieces."""
    pieces = [text(one) for one in texts]
    begin = chunk({"role": "assistant", "content": "", "refusal": None})
    return says(begin, *pieces, finish(reason), usage(prompt, len(texts)), DONE)


def mistral_answers(*texts: str, reason: str = "stop", prompt: int = 7) -> Script:
    """Mistral's healthy answer: the usage comes with the reason."""
    begin = chunk({"role": "assistant", "content": ""})
    end = chunk({"content": ""}, reason=reason, usage=counts(prompt, len(texts)))
    return says(begin, *[text(one) for one in texts], end, DONE)


def calls(name: str, arguments: str, *, call_id: str = "call_theirs", piece: int = 5) -> Script:
    """OpenAI's tool call, its arguments in pieces."""
    parts = [arguments[i : i + piece] for i in range(0, len(arguments), piece)]
    return says(
        tool_piece(0, id=call_id, name=name, arguments=""),
        *[tool_piece(0, arguments=part) for part in parts],
        finish("tool_calls"),
        usage(),
        DONE,
    )


def call_shapes(name: str, arguments: str, *, piece: int = 5) -> dict[str, Script]:
    """The same call in every shape that servers give it, by what is odd about it."""
    parts = [arguments[i : i + piece] for i in range(0, len(arguments), piece)]
    ends = (finish("tool_calls"), usage(), DONE)
    whole = {"name": name, "arguments": arguments}
    with_reason = {"tool_calls": [{"id": "D681PevKs", "function": whole, "index": 0}], "content": ""}
    as_object = {"name": name, "arguments": orjson.loads(arguments)}
    older = [chunk({"function_call": {"arguments": part}}) for part in parts]
    return {
        "in pieces": calls(name, arguments, piece=piece),
        "whole, with the reason": says(chunk(with_reason, reason="tool_calls", usage=counts()), DONE),
        "whole, without a number": says(tool_piece(None, id="c1", **whole), *ends),
        "whole, without an id": says(tool_piece(0, **whole), finish("stop"), usage(), DONE),
        "an object": says(tool_piece(0, id="c1", **as_object), *ends),
        "pieces without a number": says(
            tool_piece(None, id="c1", name=name), *[tool_piece(None, arguments=part) for part in parts], *ends
        ),
        "id and name in every piece": says(
            *[tool_piece(0, id="c1", name=name, arguments=part) for part in parts], *ends
        ),
        "another id in every piece": says(
            tool_piece(0, id="c1", name=name, arguments=""),
            *[tool_piece(0, id=f"c{i + 2}", arguments=part) for i, part in enumerate(parts)],
            *ends,
        ),
        "function_call": says(
            chunk({"function_call": {"name": name, "arguments": ""}}), *older, finish("function_call"), usage(), DONE
        ),
    }


def refuses(status: int, body: object = None, **headers: str) -> Script:
    """A script of an error status; the body is JSON, or bytes as they are."""
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    async def run(request: web.Request) -> web.StreamResponse:
        return web.Response(body=raw, status=status, headers={"Content-Type": "application/json", **named})

    return run


def error(message: str, *, kind: str = "invalid_request_error", code: str | None = None, param: str | None = None):
    """OpenAI's error object, whole."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def unknown_members(names: Iterable[str]) -> Script:
    """Mistral's 422."""
    problems = [
        {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"} for name in names
    ]
    return refuses(422, {"object": "error", "message": {"detail": problems}, "type": "invalid_request_error"})


def wrong_key(key: str = "sk-wrong") -> Script:
    """OpenAI's own words, which quote the key."""
    message = f"Incorrect API key provided: {key}. You can find your API key at https://platform.openai.com."
    return refuses(401, error(message, code="invalid_api_key"))


def model_missing(model: str = "gpt-none") -> Script:
    message = f"The model `{model}` does not exist or you do not have access to it."
    return refuses(404, error(message, code="model_not_found"))


def too_long(limit: int = 128_000, used: int = 140_000) -> Script:
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in {used} tokens. "
        "Please reduce the length of the messages."
    )
    return refuses(400, error(message, code="context_length_exceeded", param="messages"))


def busy(retry_after: str | None = None, status: int = 429) -> Script:
    headers = {} if retry_after is None else {"Retry_After": retry_after}
    body = error("Rate limit reached for requests", kind="requests", code="rate_limit_exceeded")
    return refuses(status, body, **headers)


def echoes(*, piece: int = 3, tokens_only: bool = False, as_call: str = "") -> Script:
    """A script that says the last message again, or only the masked values in it, in pieces of that many characters.

    `as_call`: as the arguments of a call of this tool instead, in `{"said": …}`.
    """

    async def run(request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        said = _text(body["messages"][-1].get("content"))
        if tokens_only:
            said = " ".join(TOKEN.findall(said))
        if as_call:
            return await calls(as_call, orjson.dumps({"said": said}).decode(), piece=piece)(request)
        return await answers(*[said[i : i + piece] for i in range(0, len(said), piece)])(request)

    return run


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


@dataclass(frozen=True)
class Received:
    """One request as it came."""

    method: str
    path: str
    """With the query."""
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @property
    def raw(self) -> bytes:
        """Everything in it, for a search: no value may be hidden in a header or in the path."""
        head = b"".join(name + b": " + value + b"\r\n" for name, value in self.headers)
        return f"{self.method} {self.path}\r\n".encode() + head + b"\r\n" + self.body

    def header(self, name: str) -> str | None:
        wanted = name.lower().encode()
        return next((value.decode() for key, value in self.headers if key.lower() == wanted), None)


@dataclass
class OpenAIDouble(Double):
    """Give it `scripts` (one a call, then `default`); read what it `received` and how many calls the client `left`.

    `url` is its base URL. With a `key`, another one is refused. `models` are those that it lists and, with `strict`,
    the only ones that it serves.
    """

    key: str | None = None
    models: list[str] = field(default_factory=lambda: ["gpt-double", "gpt-double-mini"])
    strict: bool = False
    known: frozenset[str] | None = None
    """With `MISTRAL_MEMBERS` it refuses a body that has other members, as Mistral does."""
    lists_models: bool = True
    open_list: bool = False
    """Whether the list of models needs no key, as with OpenRouter."""
    default: Script = field(default_factory=lambda: answers("Hello", " there", "."))
    scripts: deque[Script] = field(default_factory=deque)
    received: list[Received] = field(default_factory=list)
    """The chat calls; `asked` are the other ones."""
    asked: list[Received] = field(default_factory=list)

    @property
    def bodies(self) -> list[bytes]:
        return [one.body for one in self.received]

    @property
    def raw(self) -> bytes:
        """Every byte of every request."""
        return b"".join(one.raw for one in (*self.asked, *self.received))

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.received.append(_received(request, body))
        self.connections.add(id(request.transport))
        script = self._refusal(request, body) or (self.scripts.popleft() if self.scripts else self.default)
        return await self.play(script(request))

    async def list(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(_received(request, b""))
        if not self.open_list and not self._knows(request):
            return await wrong_key()(request)
        if not self.lists_models:
            return await refuses(404, {"detail": "Not Found"})(request)
        entries = [{"id": name, "object": "model", "created": CREATED, "owned_by": "double"} for name in self.models]
        return web.json_response({"object": "list", "data": entries})

    async def nothing(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(_received(request, await request.read()))
        message = f"Invalid URL ({request.method} {request.path})"
        return await refuses(404, error(message))(request)

    def _refusal(self, request: web.Request, body: bytes) -> Script | None:
        if not self._knows(request):
            return wrong_key()
        fields = orjson.loads(body)
        unknown = [name for name in fields if self.known is not None and name not in self.known]
        if unknown:
            return unknown_members(unknown)
        model = fields.get("model")
        return model_missing(model) if self.strict and model not in self.models else None

    def _knows(self, request: web.Request) -> bool:
        return self.key is None or request.headers.get("Authorization") == f"Bearer {self.key}"


def _received(request: web.Request, body: bytes) -> Received:
    return Received(request.method, request.raw_path, tuple(request.raw_headers), body)


@asynccontextmanager
async def openai_double(port: int = 0, *, tls: ssl.SSLContext | None = None, **options: Any):
    """A running double; it listens on loopback until the block is left."""
    double = OpenAIDouble(**options)
    routes = [
        web.post("/v1/chat/completions", double.chat),
        web.get("/v1/models", double.list),
        web.route("*", "/{path:.*}", double.nothing),
    ]
    async with listening(double, routes, port, tls):
        double.url += "/v1"
        yield double
