"""A double of Ollama: its wire as recorded, on a port of its own, with every fault that a machine can have."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from tests.upstreams.serving import Double, listening

CREATED_AT = "2026-11-29T19:30:11.465547296Z"


def line(text: str = "", **message: Any) -> bytes:
    """One piece of an answer, as Ollama 0.32 sends it; `message` adds `thinking` or `tool_calls`."""
    said = {"role": "assistant", "content": text, **message}
    return _ndjson({"model": "double", "created_at": CREATED_AT, "message": said, "done": False})


def called(name: str, arguments: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """One entry of `tool_calls`. Ollama's own parsers give an id and an index, its older ones neither."""
    return {**fields, "function": {**fields.pop("function", {}), "name": name, "arguments": arguments}}


def done(reason: str = "stop", *, prompt: int = 7, completion: int = 3, **message: Any) -> bytes:
    """The last line of an answer; it can itself carry content and tool calls (dialects.md §2)."""
    return _ndjson(
        {
            "model": "double",
            "created_at": CREATED_AT,
            "message": {"role": "assistant", "content": "", **message},
            "done": True,
            "done_reason": reason,
            "total_duration": 311961814,
            "load_duration": 758179,
            "prompt_eval_count": prompt,
            "prompt_eval_duration": 74889000,
            "eval_count": completion,
            "eval_duration": 233055000,
        }
    )


def _ndjson(value: object) -> bytes:
    return orjson.dumps(value) + b"\n"


def progress(status: str, digest: str = "", *, total: int = 0, completed: int = 0) -> bytes:
    """A line of `/api/pull`, as Ollama 0.32 sends it: a count that is zero is left out, and so is an empty digest."""
    counts = {"digest": digest, "total": total, "completed": completed}
    return _ndjson({"status": status} | {name: value for name, value in counts.items() if value})


SUCCESS = progress("success")
WEIGHTS, TEMPLATE = "sha256:2bada8a7450677000f678be90653b85d364de7db25eb5ea54136ada5f3933730", "sha256:" + "e" * 64
DOWNLOADED = (
    progress("pulling manifest"),
    progress("pulling 2bada8a74506", WEIGHTS, total=4_000_000_000),
    progress("pulling 2bada8a74506", WEIGHTS, total=4_000_000_000, completed=1_000_000_000),
    progress("pulling 2bada8a74506", WEIGHTS, total=4_000_000_000, completed=4_000_000_000),
    progress("pulling eeeeeeeeeeee", TEMPLATE, total=1_500, completed=1_500),
    progress("verifying sha256 digest"),
    progress("writing manifest"),
)
"""What comes before `SUCCESS`."""

Step = bytes | float | str | asyncio.Event | Callable[[web.Request], Awaitable[None]]
"""A piece of a script: bytes to send, seconds or an event to wait for, what happens then, or `die` (the connection
breaks)."""

Script = Callable[[web.Request], Awaitable[web.StreamResponse]]


def says(*steps: Step, status: int = 200) -> Script:
    """A script that sends and waits as told."""

    async def run(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        for step in steps:
            if isinstance(step, bytes):
                await response.write(step)
            elif isinstance(step, asyncio.Event):
                await step.wait()
            elif callable(step):
                await step(request)
            elif step == "die":
                assert request.transport is not None
                request.transport.abort()
                raise ConnectionResetError
            else:
                await asyncio.sleep(float(step))
        await response.write_eof()
        return response

    return run


def answers(*texts: str, reason: str = "stop") -> Script:
    """A script of a healthy answer in these pieces."""
    return says(*(line(text) for text in texts), done(reason, completion=len(texts)))


def cuts(*texts: str, context: int = 4096) -> Script:
    """A script of a machine that has cut the prompt to half its context without a word (recording 30)."""
    return says(*(line(text) for text in texts), done("stop", prompt=context // 2 + 2, completion=len(texts)))


def replays(recording: Path) -> Script:
    """A script that answers as recorded: status, content type, framing and every byte of the body."""
    head, _, body = recording.read_bytes().partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    headers = dict(field.split(": ", 1) for field in head.decode().split("\r\n")[1:])

    async def run(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"Content-Type": headers["Content-Type"]})
        await response.prepare(request)
        for piece in body.splitlines(keepends=True):
            await response.write(piece)
        await response.write_eof()
        return response

    return run


def refuses(status: int, text: str) -> Script:
    """A script of an error status with Ollama's error body."""

    async def run(request: web.Request) -> web.StreamResponse:
        return web.json_response({"error": text}, status=status)

    return run


@dataclass
class OllamaDouble(Double):
    """Give it `scripts` (one a call, then `default`); read `received` (bodies) and `left` (calls the client left)."""

    models: list[str] = field(default_factory=lambda: ["double:latest"])
    capabilities: list[str] = field(default_factory=lambda: ["completion"])
    context_length: int = 8192
    loaded_context: int = 0
    """Tokens of the context that its models are loaded with; 0 means that none is loaded."""
    shown: list[str] = field(default_factory=list)
    default: Script = field(default_factory=lambda: answers("Hello", " there", "."))
    scripts: deque[Script] = field(default_factory=deque)
    received: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    pulls: deque[Script] = field(default_factory=deque)
    """One a pull; then each model comes, and is in its tags."""
    pulled: list[dict[str, Any]] = field(default_factory=list)
    """The bodies of the pulls."""

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self.received.append(await request.read())
        self.headers.append(dict(request.headers))
        self.connections.add(id(request.transport))
        script = self.scripts.popleft() if self.scripts else self.default
        return await self.play(script(request))

    async def pull(self, request: web.Request) -> web.StreamResponse:
        self.pulled.append(await request.json())
        self.headers.append(dict(request.headers))
        script = self.pulls.popleft() if self.pulls else self.fetches(*DOWNLOADED)
        return await self.play(script(request))

    def fetches(self, *steps: Step) -> Script:
        """A script of a pull that ends well after these steps."""

        async def take_in(request: web.Request) -> None:
            name = (await request.json())["model"]
            self.models.append(name if ":" in name else f"{name}:latest")

        return says(*steps, take_in, SUCCESS)

    async def version(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"version": "0.32.15"})

    async def tags(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"models": [_tag(name) for name in self.models]})

    async def show(self, request: web.Request) -> web.StreamResponse:
        name = (await request.json())["model"]
        self.shown.append(name)
        if name not in self.models:
            return web.json_response({"error": f"model '{name}' not found"}, status=404)
        info = {"general.architecture": "llama", "llama.context_length": self.context_length}
        return web.json_response({"capabilities": self.capabilities, "model_info": info})

    async def ps(self, request: web.Request) -> web.StreamResponse:
        loaded = self.models if self.loaded_context else []
        return web.json_response({"models": [_tag(name) | {"context_length": self.loaded_context} for name in loaded]})


def _tag(name: str) -> dict[str, Any]:
    details = {"format": "gguf", "family": "llama", "parameter_size": "134.52M", "quantization_level": "Q4_1"}
    return {
        "name": name,
        "model": name,
        "digest": "0" * 64,
        "size": 1,
        "details": details,
        "capabilities": ["completion"],
    }


@asynccontextmanager
async def ollama_double(port: int = 0, *, more: Iterable[web.AbstractRouteDef] = (), **options: Any):
    """A running double; it listens on loopback until the block is left. `more`: routes beside its own."""
    double = OllamaDouble(**options)
    routes = [
        web.post("/api/chat", double.chat),
        web.get("/api/version", double.version),
        web.get("/api/tags", double.tags),
        web.get("/api/ps", double.ps),
        web.post("/api/show", double.show),
        web.post("/api/pull", double.pull),
        *more,
    ]
    async with listening(double, routes, port):
        yield double
