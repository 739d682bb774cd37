"""A runner that plays its part, on a shelf with models that are only headers, behind a route of its own."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from appliance.engine.clock import Clock
from appliance.engine.llama import Event, Prompt, RunnerFailed
from appliance.engine.models import Model, load_embedding_model, load_model
from appliance.engine.refusal import Refused
from appliance.engine.requests import Message
from appliance.engine.residence import Residence
from appliance.engine.shelf import Served, Shelf
from appliance.engine.tools import Tool
from tests.engine.ggufs import embedding_header, small_header

CONTEXT = 100


@dataclass
class PlayedRunner:
    """Says what it is told to: events, and errors in their place. A word is a token."""

    script: list[Event | Exception] = field(default_factory=list)
    alive: bool = False
    bodies: list[dict[str, object]] = field(default_factory=list)
    tools: Sequence[Tool] = ()
    embedded: list[list[list[int]]] = field(default_factory=list)
    stalls: bool = False
    closed: int = 0
    vocabulary: int = 2**31
    longest: int = 0
    """Characters of the longest text that was to become tokens."""
    memory: int = 5

    async def start(self) -> None:
        self.alive = True

    async def stop(self) -> None:
        self.alive = False

    async def render(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> Prompt:
        self.tools = tools
        text = " ".join(each.content for each in messages)
        return Prompt(text, await self.tokenize(text), tuple(messages))

    async def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        self.longest = max(self.longest, len(text))
        return [len(word) for word in text.split()]

    async def detokenize(self, tokens: Sequence[int]) -> str:
        if any(token >= self.vocabulary for token in tokens):
            raise Refused(500, "vector::_M_range_check")
        return "".join("x" * token + " " for token in tokens)

    async def embed(self, inputs: Sequence[Sequence[int]]) -> list[list[float]]:
        self.embedded.append([list(tokens) for tokens in inputs])
        return [[0.6, 0.8 - index, 0.0] for index in range(len(inputs))]

    async def generate(self, body: bytes, tokens: Sequence[int], *, alternatives: int = 0) -> AsyncGenerator[Event]:
        async for event in self._play(body):
            yield event

    async def chat(self, body: bytes, tokens: Sequence[int], reader: object) -> AsyncGenerator[Event]:
        async for event in self._play(body):
            yield event

    async def _play(self, body: bytes) -> AsyncGenerator[Event]:
        self.bodies.append(json.loads(body))
        try:
            for step in self.script:
                if isinstance(step, Exception):
                    raise step
                yield step
            if self.stalls:
                await asyncio.Event().wait()
        finally:
            self.closed += 1


@dataclass
class Desk:
    """A shelf with two models, and requests to the route that a test put before it."""

    text: Served
    embedding: Served
    runner: PlayedRunner
    embedder: PlayedRunner
    shelf: Shelf
    clock: Clock
    client: TestClient[web.Request, web.Application] | None = None

    async def send(self, **fields: object) -> tuple[int, str]:
        assert self.client is not None
        async with self.client.post("/", json={"model": "tiny"} | fields) as response:
            return response.status, await response.text()


@web.middleware
async def _statuses(request: web.Request, handler):
    try:
        return await handler(request)
    except Refused as refused:
        return web.Response(status=refused.status, text=refused.message)
    except RunnerFailed as failed:
        return web.Response(status=500, text=failed.message)


def served(model: Model, runner: object) -> Served:
    async def digest() -> str:
        return "abc"

    return Served(model, runner, Residence(runner, clock=Clock()), CONTEXT, asyncio.create_task(digest()))


async def make_desk(directory: Path, **changes: object) -> Desk:
    """`changes` are other fields of the text model."""
    files = {"tiny": small_header(), "vectors": embedding_header()}
    for name, header in files.items():
        (directory / f"{name}.gguf").write_bytes(header)
    runner, embedder = PlayedRunner(), PlayedRunner()
    text = served(replace(load_model(directory / "tiny.gguf"), **changes), runner)
    embedding = served(load_embedding_model(directory / "vectors.gguf"), embedder)

    async def ready() -> Served:
        return embedding

    return Desk(text, embedding, runner, embedder, Shelf(text, ready()), Clock(lambda: 0, lambda: 5))


@contextlib.asynccontextmanager
async def opened(desk: Desk, handle) -> AsyncIterator[Desk]:
    app = web.Application(middlewares=[_statuses])
    app.router.add_post("/", handle)
    async with TestClient(TestServer(app, handler_cancellation=True)) as client:
        desk.client = client
        yield desk
    await desk.shelf.close()
