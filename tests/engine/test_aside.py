"""Work beside the loop."""

import asyncio
import threading

import pytest

from appliance.engine.aside import LARGE, aside
from tests.waiting import until


async def test_small_work_is_done_at_once_and_large_work_in_a_thread():
    here = threading.get_ident()
    assert await aside(0, threading.get_ident) == here
    assert await aside(LARGE, threading.get_ident) != here


async def test_the_loop_goes_on_beside_large_work():
    begun, go_on = threading.Event(), threading.Event()

    def work(value: int, *, more: int) -> int:
        begun.set()
        go_on.wait(10)
        return value + more

    task = asyncio.create_task(aside(LARGE, work, 1, more=2))
    await until(begun.is_set)
    go_on.set()
    assert await task == 3


@pytest.mark.parametrize("size", [0, LARGE])
async def test_what_goes_wrong_comes_back(size: int):
    def work() -> None:
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        await aside(size, work)
