"""Two models side by side, one of which may still be in the making."""

import asyncio
import logging
from pathlib import Path

import pytest

from appliance.engine.clock import Clock
from appliance.engine.models import digest_of, load_model
from appliance.engine.runner import RunnerSettings
from appliance.engine.shelf import Served, Shelf, serve
from appliance.errors import EngineError
from tests.engine.ggufs import small_header
from tests.engine.played import make_desk
from tests.waiting import until


async def test_both_are_found_by_name(tmp_path: Path):
    desk = await make_desk(tmp_path)
    assert await desk.shelf.find("TINY:latest") is desk.text
    assert await desk.shelf.find("vectors") is desk.embedding
    assert await desk.shelf.find("nope") is None
    assert await desk.shelf.all() == [desk.text, desk.embedding]
    await desk.shelf.close()


async def test_only_those_wait_for_the_second_model_who_need_it(tmp_path: Path):
    desk = await make_desk(tmp_path)
    made = asyncio.Event()

    async def later() -> Served:
        await made.wait()
        return desk.embedding

    shelf = Shelf(desk.text, later())
    assert await shelf.find("tiny") is desk.text
    waiting = [asyncio.create_task(shelf.find("vectors")), asyncio.create_task(shelf.all())]
    await asyncio.wait(waiting, timeout=0.05)
    assert not any(task.done() for task in waiting)
    waiting[0].cancel()  # one who leaves does not stop the making
    made.set()
    assert await waiting[1] == [desk.text, desk.embedding]
    await shelf.close()
    await desk.shelf.close()


async def test_without_a_second_model_there_is_one(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    desk = await make_desk(tmp_path)

    async def none() -> None:
        return None

    async def broken() -> Served:
        raise EngineError("The disk is full.", advice="Make room.")

    for embedding in (none(), broken()):
        shelf = Shelf(desk.text, embedding)
        assert await shelf.all() == [desk.text]
        assert await shelf.find("vectors") is None
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "The disk is full. Make room."
    ]
    await desk.shelf.close()


async def test_each_leaves_memory_when_its_own_time_has_come(tmp_path: Path):
    desk = await make_desk(tmp_path)
    watch = asyncio.create_task(desk.shelf.watch())
    async with desk.text.residence.hold(None), desk.embedding.residence.hold(0):
        assert desk.embedder.alive
    await until(lambda: not desk.embedder.alive)
    assert desk.runner.alive
    watch.cancel()
    await asyncio.wait([watch])
    await desk.shelf.close()


async def test_closing_ends_both(tmp_path: Path):
    desk = await make_desk(tmp_path)
    await desk.runner.start()
    await desk.embedder.start()
    await desk.shelf.all()
    await desk.shelf.close()
    assert not desk.runner.alive
    assert not desk.embedder.alive


async def test_closing_ends_the_making(tmp_path: Path):
    desk = await make_desk(tmp_path)
    ended = []

    async def endless() -> Served:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
        return desk.embedding

    shelf = Shelf(desk.text, endless())
    await asyncio.sleep(0)
    await shelf.close()
    assert ended
    await desk.shelf.close()


async def test_a_context_is_cut_to_the_models_own(tmp_path: Path):
    path = tmp_path / "tiny.gguf"
    path.write_bytes(small_header())  # trained for 2048 tokens
    for wanted, context in ((512, 512), (100_000, 2048)):
        made = serve(load_model(path), RunnerSettings(1, 1, wanted, verbose=False), Clock())
        assert made.context == context
        assert await made.digest == await digest_of(path)
        assert made.residence.seconds_left is None
        await made.close()
