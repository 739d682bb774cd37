"""Answers over HTTP, from events. What a chat makes of it is in test_chats."""

import json
from collections.abc import AsyncGenerator, Sequence

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from appliance.engine import answers
from appliance.engine.answers import Voice
from appliance.engine.clock import Clock
from appliance.engine.llama import End, Event, Piece, RunnerFailed
from appliance.engine.tools import ToolCall
from appliance.engine.writing import JSON, NDJSON, Writer, json_response

END = End("stop", "", 3, 1000, 2, 2000)


async def of(*events: Event) -> AsyncGenerator[Event]:
    for event in events:
        yield event


def writer() -> Writer:
    steady = iter((7, 107))
    return Writer(Voice("m", answers.in_response), Clock(lambda: 0, lambda: next(steady)), 5)


def test_a_body_of_json():
    response = json_response(b"{}", 404)
    assert (response.status, response.headers["Content-Type"], response.body) == (404, JSON, b"{}")


async def test_whole_with_times_and_what_is_remembered():
    heard: list[str] = []

    async def remember(text: str) -> Sequence[int]:
        heard.append(text)
        return [1, 2]

    response = await writer().whole(of(Piece("a"), ToolCall("f", {}), Piece("b"), END), remember)
    body = json.loads(bytes(response.body))
    assert (body["total_duration"], body["load_duration"]) == (102, 2)
    assert body["context"] == [1, 2]
    assert heard == ["ab"]


async def test_events_without_an_end_are_a_failure():
    for events in ((), (Piece("a"),)):
        with pytest.raises(RunnerFailed, match="before the answer was done"):
            await writer().whole(of(*events))
    assert (await streamed())[0] == 500
    status, text = await streamed(Piece("a"))
    assert status == 200
    assert "before the answer was done" in json.loads(text.splitlines()[-1])["error"]


async def test_streamed():
    status, text = await streamed(Piece("a"), END)
    assert status == 200
    assert [json.loads(line)["done"] for line in text.splitlines()] == [False, True]


async def streamed(*events: Event) -> tuple[int, str]:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await writer().stream(request, of(*events))
        except RunnerFailed as failed:
            return web.Response(status=500, text=failed.message)

    app = web.Application()
    app.router.add_get("/", handle)
    async with TestClient(TestServer(app)) as client, client.get("/") as response:
        assert response.status != 200 or response.headers["Content-Type"] == NDJSON
        return response.status, await response.text()
