import asyncio

import pytest

from appliance.metering.stalls import INTERVAL_SECONDS, WINDOW_SECONDS, Stalls
from tests.waiting import until


class Clock:
    """Time goes on by sleeping alone, and by as much more as the next of `late` says."""

    def __init__(self, *late: float) -> None:
        self.now = 1000.0
        self.late = list(late)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        if not self.late:
            raise asyncio.CancelledError
        self.now += seconds + self.late.pop(0)


async def looked(*late: float) -> tuple[Stalls, Clock, list[float]]:
    """The stalls after as many looks."""
    clock, seen = Clock(*late), list[float]()
    stalls = Stalls(seen.append, monotonic=clock, sleep=clock.sleep)
    with pytest.raises(asyncio.CancelledError):
        await stalls.watch()
    return stalls, clock, seen


async def test_every_look_is_told_and_the_longest_is_known():
    stalls, _, seen = await looked(0.0, 0.4, 0.1)
    assert seen == pytest.approx([0.0, 0.4, 0.1])
    assert stalls.longest() == pytest.approx(0.4)


async def test_one_that_wakes_up_early_is_no_stall():
    stalls, _, seen = await looked(-0.01)
    assert (seen, stalls.longest()) == ([0.0], 0.0)


async def test_without_a_look_there_is_none():
    assert (await looked())[0].longest() == 0.0


async def test_a_stall_is_forgotten_after_a_minute_and_the_next_longest_stands():
    stalls, clock, _ = await looked(0.4, 0.1, 0.2)
    clock.now += WINDOW_SECONDS - 0.31
    assert stalls.longest() == pytest.approx(0.2)
    clock.now += 1
    assert stalls.longest() == 0.0


async def test_little_is_remembered():
    stalls, _, _ = await looked(*[0.001 * (i % 7) for i in range(5000)])
    assert len(stalls._longest) <= 7


async def test_a_real_stall_is_seen():
    stalls = Stalls(lambda _: None)
    task = asyncio.ensure_future(stalls.watch())
    try:
        await asyncio.sleep(0)
        blocked = 0.3
        end = asyncio.get_running_loop().time() + blocked
        while asyncio.get_running_loop().time() < end:
            pass
        await until(lambda: stalls.longest() > 0)
        assert stalls.longest() >= blocked - INTERVAL_SECONDS - 0.01
    finally:
        task.cancel()
