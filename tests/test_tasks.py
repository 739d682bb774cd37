import asyncio

import pytest

from appliance.tasks import Tasks


async def test_a_task_that_dies_is_logged_by_name(caplog: pytest.LogCaptureFixture):
    async def die() -> None:
        raise ValueError("broken")

    tasks = Tasks()
    await asyncio.wait({tasks.spawn("probe-1", die())})
    assert "task probe-1 died: ValueError" in caplog.text
    assert len(tasks) == 0


async def test_cancel_ends_all_and_waits_for_them(caplog: pytest.LogCaptureFixture):
    ended: list[str] = []

    async def work(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(name)

    tasks = Tasks()
    for name in ("a", "b"):
        tasks.spawn(name, work(name))
    await asyncio.sleep(0)
    await tasks.cancel()
    assert sorted(ended) == ["a", "b"]
    assert caplog.text == ""


async def test_nothing_to_cancel_is_fine():
    await Tasks().cancel()
