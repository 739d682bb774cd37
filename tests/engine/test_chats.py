"""One chat call over a runner that plays its part: what is answered when, and with which status."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from appliance.engine.chats import Chats
from appliance.engine.clock import Clock
from appliance.engine.llama import End, Event, Piece, RunnerFailed
from appliance.engine.models import load_model
from appliance.engine.refusal import Refused
from appliance.engine.requests import Message
from appliance.engine.residence import Residence
from tests.engine.ggufs import small_header
from tests.waiting import until

END = End("stop", "", 3, 1000, 2, 2000)
HI = [{"role": "user", "content": "Hi"}]


@dataclass
class PlayedRunner:
    """Says what it is told to: events, and errors in their place."""

    script: list[Event | Exception] = field(default_factory=list)
    alive: bool = False
    bodies: list[dict[str, object]] = field(default_factory=list)
    stalls: bool = False
    closed: int = 0

    async def start(self) -> None:
        self.alive = True

    async def stop(self) -> None:
        self.alive = False

    async def tokenize(self, messages: Sequence[Message]) -> list[int]:
        return [0] * sum(len(each.content.split()) for each in messages)

    async def generate(self, body: bytes, *, alternatives: int = 0) -> AsyncGenerator[Event]:
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
    runner: PlayedRunner
    residence: Residence
    client: TestClient[web.Request, web.Application]

    async def ask(self, **fields: object) -> tuple[int, str]:
        async with self.client.post("/", json={"model": "tiny", "messages": HI} | fields) as response:
            return response.status, await response.text()


@web.middleware
async def statuses(request: web.Request, handler):
    try:
        return await handler(request)
    except Refused as refused:
        return web.Response(status=refused.status, text=refused.message)
    except RunnerFailed as failed:
        return web.Response(status=500, text=failed.message)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(small_header())
    runner = PlayedRunner()
    residence = Residence(runner, clock=Clock())
    chats = Chats(load_model(path), runner, residence, context=100, clock=Clock(lambda: 0, lambda: 5))
    app = web.Application(middlewares=[statuses])
    app.router.add_post("/", chats.handle)
    async with TestClient(TestServer(app, handler_cancellation=True)) as client:
        yield Desk(runner, residence, client)


async def test_a_stream(desk: Desk):
    desk.runner.script = [Piece("a"), Piece("b"), END]
    status, text = await desk.ask()
    lines = [json.loads(line) for line in text.splitlines()]
    assert status == 200
    assert [line["message"]["content"] for line in lines] == ["a", "b", ""]
    assert [line["done"] for line in lines] == [False, False, True]


async def test_an_answer_without_text(desk: Desk):
    desk.runner.script = [END]
    status, text = await desk.ask()
    assert (status, json.loads(text)["done"]) == (200, True)


async def test_a_whole_answer(desk: Desk):
    desk.runner.script = [Piece("a"), Piece("b"), END]
    status, text = await desk.ask(stream=False)
    assert (status, json.loads(text)["message"]["content"]) == (200, "ab")


@pytest.mark.parametrize("stream", [True, False])
async def test_an_error_before_the_first_piece_has_a_status(desk: Desk, stream: bool):
    desk.runner.script = [RunnerFailed("gone")]
    assert await desk.ask(stream=stream) == (500, "gone")
    desk.runner.script = [Refused(400, "no")]
    assert await desk.ask(stream=stream) == (400, "no")


async def test_an_error_after_the_first_piece_is_the_last_line(desk: Desk):
    desk.runner.script = [Piece("a"), RunnerFailed("gone")]
    status, text = await desk.ask()
    assert status == 200
    assert text.splitlines()[1:] == ['{"error":"gone"}']


async def test_a_whole_answer_that_breaks_off_is_an_error_only(desk: Desk):
    desk.runner.script = [Piece("a"), RunnerFailed("gone")]
    assert await desk.ask(stream=False) == (500, "gone")


async def test_the_context_is_a_ceiling_and_a_smaller_one_is_honoured(desk: Desk):
    desk.runner.script = [END]
    for num_ctx, answer in ((None, 99), (50, 49), (1_000_000, 99)):
        await desk.ask(options={"num_ctx": num_ctx})
        assert desk.runner.bodies[-1]["n_predict"] == answer
    status, text = await desk.ask(options={"num_ctx": 1})
    assert status == 400
    assert "exceed_context_size_error" in text


async def test_what_is_wrong_is_said_before_the_model_is_loaded(desk: Desk):
    for fields in ({"model": "nope"}, {"think": True}, {"options": {"seed": "x"}}, {"messages": 3}):
        status, _ = await desk.ask(**fields)
        assert status >= 400
    assert not desk.runner.alive


async def test_load_and_unload(desk: Desk):
    status, text = await desk.ask(messages=[])
    assert (status, json.loads(text)["done_reason"]) == (200, "load")
    assert desk.runner.alive
    status, text = await desk.ask(messages=[], keep_alive=0)
    assert (status, json.loads(text)["done_reason"]) == (200, "unload")
    assert not desk.runner.alive


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("script", [[], [Piece("a")]])
async def test_a_caller_who_leaves_ends_the_completion(desk: Desk, stream: bool, script: list[Event]):
    desk.runner.script = list(script)
    desk.runner.stalls = True
    call = asyncio.create_task(desk.ask(stream=stream))
    await until(lambda: bool(desk.runner.bodies))
    call.cancel()
    await asyncio.wait([call])
    await until(lambda: desk.runner.closed == 1)
    assert desk.residence.seconds_left is not None
