"""Prompts that have room on one machine and not on another: cluster.md, "Choosing a machine". Never a silent cut."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from appliance.admin.node_wire import NewNode
from tests.box import Box, box
from tests.calls.lan import by_name, names_lead_here
from tests.upstreams.compatible import compatible_double, overflows
from tests.upstreams.ollama import OllamaDouble, Script, cuts, done, line, ollama_double, refuses, says
from tests.waiting import until

SMALL, LARGE = 4096, 16_384

OVERFLOW = refuses(
    400,
    '{"error":{"code":400,"message":"request (6010 tokens) exceeds the available context size (4096 tokens), try '
    'increasing it","type":"exceed_context_size_error","n_prompt_tokens":6010,"n_ctx":4096}}',
)

FITS = "word " * 3000
"""By the estimate 3,750 tokens."""
RARE = "international " * 1700
"""5,950 by the estimate, and in truth less than a third of it."""
LONG = "word " * 5000
"""6,250, which could be half as many: more than the small one has, and not surely."""


def reads(gate: asyncio.Event | None = None) -> Script:
    """A machine that reads the whole prompt, and says so in its count."""

    async def run(request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        words = sum(len(message["content"].split()) for message in body["messages"])
        waits = () if gate is None else (gate,)
        return await says(*waits, line("x"), done(prompt=words + 20))(request)

    return run


@asynccontextmanager
async def both(directory: Path, large: str = "") -> AsyncIterator[tuple[Box, OllamaDouble, OllamaDouble]]:
    """Two machines; the larger one by the name `large`, if it has one."""
    async with (
        ollama_double(loaded_context=SMALL, default=reads()) as one,
        ollama_double(loaded_context=LARGE, default=reads()) as other,
        box(directory, one.url, by_name(other.url, large) if large else other.url) as gateway,
    ):
        yield gateway, one, other


def contexts(double: OllamaDouble) -> set[int]:
    bodies: list[dict[str, Any]] = [orjson.loads(body) for body in double.received]
    assert all(body["truncate"] is False for body in bodies)
    return {body["options"]["num_ctx"] for body in bodies}


async def ending(gateway: Box, answer: Any) -> tuple[str, int]:
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    return said["response"]["ending"], said["egress"]["attempts"]


async def until_first_at(gateway: Box, double: OllamaDouble, text: str, **fields: Any) -> Any:
    """The answer to a call that went to this machine first, which is left to chance."""
    for _ in range(60):
        before = len(double.received)
        answer = await gateway.chat(text=text, **fields)
        if len(double.received) > before:
            return answer
    raise AssertionError("it was never the first choice")


async def test_each_machine_keeps_its_one_value_whatever_comes(tmp_path: Path):
    async with both(tmp_path) as (gateway, small, large):
        gate = asyncio.Event()
        small.default = large.default = reads(gate)
        running = [asyncio.ensure_future(gateway.chat(text=text)) for text in ("Hi", "Hi", "word " * 300, LONG)]
        await until(lambda: small.active + large.active == 4)
        gate.set()
        await asyncio.gather(*running)
        # Something else loads the model there with another context; we do not follow it back and forth.
        small.loaded_context, large.loaded_context = 2048, 8192
        for machine in gateway.app.registry.snapshot():
            gateway.app.registry.probe_soon(machine.id)
        await until(lambda: {*gateway.app.registry.snapshot()[0].loaded.values()} == {2048})
        await asyncio.gather(*(gateway.chat() for _ in range(4)))
        assert (contexts(small), contexts(large)) == ({SMALL}, {LARGE})


async def test_a_prompt_that_is_too_long_by_the_estimate_goes_where_it_has_room(tmp_path: Path):
    async with both(tmp_path) as (gateway, small, large):
        for _ in range(6):
            answer = await gateway.chat(text=LONG)
            assert (answer.status_code, await ending(gateway, answer)) == (200, ("complete", 1))
        assert (len(small.received), len(large.received)) == (0, 6)
        # It waits for that one rather than goes where it has no room.
        gate = asyncio.Event()
        large.default = reads(gate)
        running = [asyncio.ensure_future(gateway.chat(text=LONG)) for _ in range(5)]
        await until(lambda: gateway.app.pipeline.scheduler.waiting == 1)
        gate.set()
        assert [answer.status_code for answer in await asyncio.gather(*running)] == [200] * 5
        assert small.received == []


@pytest.mark.parametrize("stream", [False, True])
async def test_a_prompt_that_the_machine_says_is_too_long_goes_to_a_larger_one(tmp_path: Path, stream: bool):
    async with both(tmp_path) as (gateway, small, _):
        small.default = OVERFLOW
        answer = await until_first_at(gateway, small, FITS, stream=stream)
        assert answer.status_code == 200
        assert await ending(gateway, answer) == ("complete", 2)
        (machine,) = [one for one in gateway.app.registry.snapshot() if one.url == small.url]
        assert not gateway.app.pipeline.scheduler.resting(machine.id)


async def test_an_answer_to_half_a_prompt_is_thrown_away_for_one_to_the_whole(tmp_path: Path):
    """A machine that does not listen to `truncate`: what it has read shows in its count."""
    async with both(tmp_path) as (gateway, small, large):
        small.default = cuts("half of it", context=SMALL)
        large.default = says(line("all of it"), done(prompt=3100))
        answer = await until_first_at(gateway, small, FITS)
        assert answer.json()["choices"][0]["message"]["content"] == "all of it"
        assert await ending(gateway, answer) == ("complete", 2)
        row = await gateway.ledger(answer.headers["x-pulse-proof"])
        assert row.prompt_tokens == 3100 + SMALL // 2 + 2  # what was thrown away counts as well


async def test_of_a_stream_that_went_on_the_cut_is_told(tmp_path: Path):
    async with both(tmp_path) as (gateway, small, _):
        small.default = cuts("half of it", context=SMALL)
        answer = await until_first_at(gateway, small, FITS, stream=True)
        assert '"finish_reason":"length"' in answer.text
        assert await ending(gateway, answer) == ("context_cut", 1)


@pytest.mark.parametrize("stream", [False, True])
async def test_where_there_is_no_larger_one_it_is_refused(tmp_path: Path, ollama: OllamaDouble, stream: bool):
    ollama.loaded_context, ollama.default = SMALL, OVERFLOW
    async with (
        ollama_double(loaded_context=SMALL, default=OVERFLOW) as twin,
        box(tmp_path, ollama.url, twin.url) as gateway,
    ):
        answer = await gateway.chat(text=FITS, stream=stream)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
        assert "maximum context length is 4096 tokens" in answer.json()["error"]["message"]
        assert len(ollama.received) + len(twin.received) == 1  # its twin has no more room
        assert await ending(gateway, answer) == ("refused", 1)


async def test_a_cut_that_no_other_machine_can_mend_is_told_and_not_thrown_away(tmp_path: Path, ollama: OllamaDouble):
    ollama.loaded_context, ollama.default = SMALL, cuts("half of it", context=SMALL)
    async with box(tmp_path, ollama.url) as gateway:
        answer = await gateway.chat(text=FITS)
        assert answer.json()["choices"][0]["finish_reason"] == "length"
        assert await ending(gateway, answer) == ("context_cut", 1)


async def test_what_has_no_room_anywhere_is_refused_unsent(tmp_path: Path):
    async with both(tmp_path) as (gateway, small, large):
        answer = await gateway.chat(text="word " * 30_000)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
        assert "maximum context length is 16384 tokens" in answer.json()["error"]["message"]
        assert small.received == large.received == []


async def test_a_larger_one_that_fails_leaves_the_prompt_to_the_smaller_one(tmp_path: Path):
    """The estimate was too high, as it is for rare text: then the smaller one has room for it after all."""
    async with both(tmp_path) as (gateway, small, large):
        large.default = refuses(503, "busy")
        answer = await gateway.chat(text=RARE)
        assert (answer.status_code, await ending(gateway, answer)) == (200, ("complete", 2))
        small.default = OVERFLOW
        answer = await gateway.chat(text=LONG)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")


async def test_a_larger_one_that_drains_leaves_the_prompt_to_the_smaller_one(tmp_path: Path):
    async with (
        ollama_double(loaded_context=LARGE) as large,
        ollama_double(loaded_context=SMALL, default=reads()) as small,
        box(tmp_path, small.url) as gateway,
    ):
        added = await gateway.admin.add_node(NewNode(large.url))
        await until(lambda: all(one.healthy for one in gateway.app.registry.snapshot()))
        await gateway.admin.drain_node(added.id)
        answer = await gateway.chat(text=RARE)
        assert (answer.status_code, await ending(gateway, answer)) == (200, ("complete", 1))
        small.default = OVERFLOW
        answer = await gateway.chat(text=LONG)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
        assert large.received == []


@pytest.mark.parametrize("script", [OVERFLOW, None])
async def test_a_sensitive_prompt_does_not_go_to_a_larger_open_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Any
):
    names_lead_here(monkeypatch)
    async with both(tmp_path, large="large") as (gateway, small, large):
        small.default = script or cuts("half of it", context=SMALL)
        answer = await gateway.chat(text=FITS, model="pulse-sensitive")
        if script is None:
            assert await ending(gateway, answer) == ("context_cut", 1)
        else:
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
        assert large.received == []


async def test_a_server_with_a_context_of_its_own_says_so_and_another_takes_over(tmp_path: Path):
    async with (
        compatible_double("vllm", models=["double"], context=None) as unknown,
        ollama_double(loaded_context=LARGE, default=reads()) as large,
        box(tmp_path, large.url) as gateway,
    ):
        unknown.default = overflows(2048, 3000)["vLLM"]
        await gateway.admin.add_node(NewNode(unknown.url, kind="openai-compatible"))
        registry = gateway.app.registry
        await until(lambda: all(one.healthy for one in registry.snapshot()))
        for _ in range(30):
            answer = await gateway.chat(text=FITS)
            assert answer.status_code == 200
            if unknown.received:
                break
        assert await ending(gateway, answer) == ("complete", 2)
        await large.stop()
        for machine in registry.snapshot():
            registry.probe_soon(machine.id)
        await until(lambda: not all(one.healthy for one in registry.snapshot()))
        answer = await gateway.chat(text=FITS)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
