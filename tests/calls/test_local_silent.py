"""A machine that takes a call and answers nobody any more: the call goes elsewhere. Source: cluster.md."""

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from appliance.cluster import registry
from tests.box import Box, box
from tests.upstreams.ollama import OllamaDouble, answers, ollama_double, says
from tests.waiting import until


async def frozen_call(made: Box, frozen: OllamaDouble) -> "asyncio.Task[int]":
    """A call that waits on the frozen machine for its first byte."""

    async def ask() -> int:
        return (await made.chat()).status_code

    for _ in range(8):
        call = asyncio.ensure_future(ask())
        await until(lambda call=call: call.done() or bool(frozen.received))
        if frozen.received and not call.done():
            return call
        await call
    raise AssertionError("no call went there")


@pytest.mark.parametrize("others", [1, 0])
async def test_what_has_not_begun_goes_to_another_machine_if_there_is_one(tmp_path: Path, others: int):
    thaw = asyncio.Event()
    async with AsyncExitStack() as stack:
        frozen = await stack.enter_async_context(ollama_double(default=says(thaw)))
        well = [await stack.enter_async_context(ollama_double(default=answers("Hi"))) for _ in range(others)]
        made = await stack.enter_async_context(box(tmp_path / "state", frozen.url, *(one.url for one in well)))
        call = await frozen_call(made, frozen)
        machine = next(one for one in made.app.registry.snapshot() if one.url == frozen.url)
        for _ in range(registry.LOST_PROBES):
            made.app.registry._count(machine.failed("it did not answer in time"))
        began = time.monotonic()
        if others:
            assert await asyncio.wait_for(call, 10) == 200
            assert time.monotonic() - began < 5
        else:
            await asyncio.wait({call}, timeout=1.5)
            assert not call.done()  # it may still come
        thaw.set()
        await asyncio.wait({call}, timeout=10)
        assert call.done()


async def test_one_probe_that_is_late_takes_no_call_away(tmp_path: Path):
    thaw = asyncio.Event()
    async with (
        ollama_double(default=says(thaw)) as slow,
        ollama_double(default=answers("Hi")) as well,
        box(tmp_path / "state", slow.url, well.url) as made,
    ):
        call = await frozen_call(made, slow)
        machine = next(one for one in made.app.registry.snapshot() if one.url == slow.url)
        made.app.registry._count(machine.failed("it did not answer in time"))
        await asyncio.wait({call}, timeout=0.5)
        assert not call.done()
        thaw.set()
        await call
