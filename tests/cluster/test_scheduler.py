import asyncio
from dataclasses import replace

import pytest

from appliance.cluster.choice import Wanted
from appliance.cluster.dispatch import Dispatch
from appliance.cluster.machine import Machine
from appliance.cluster.scheduler import Scheduler
from appliance.errors import LocalLaneUnavailable, Overloaded
from tests.cluster.machines import first, machine
from tests.waiting import until

M = Wanted("m")


def of(*machines: Machine, size: int = 64, wait: float = 30.0) -> Scheduler:
    return Scheduler(Dispatch(lambda: machines, size=size, tie=first), wait=wait)


async def hold(scheduler: Scheduler, go: asyncio.Event) -> str:
    async with scheduler.lease(M) as lease:
        await go.wait()
        return lease.machine.id


async def test_calls_spread_and_leave_no_slot_behind():
    scheduler, go = of(machine("a"), machine("b")), asyncio.Event()
    calls = [asyncio.ensure_future(hold(scheduler, go)) for _ in range(10)]
    await until(lambda: scheduler.waiting == 2)
    assert (scheduler.in_flight("a"), scheduler.in_flight("b")) == (4, 4)
    calls[0].cancel()
    go.set()
    ends = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(end, str) for end in ends) == 9
    assert (scheduler.in_flight("a"), scheduler.in_flight("b"), scheduler.waiting) == (0, 0, 0)


async def test_machines_that_were_tried_are_left_out():
    scheduler = of(machine("a"), machine("b"))
    async with scheduler.lease(Wanted("m", tried=frozenset({"a"}))) as lease:
        assert lease.machine.id == "b"
    with pytest.raises(LocalLaneUnavailable):
        async with scheduler.lease(Wanted("m", tried=frozenset({"a", "b"}))):
            pass


async def test_who_leaves_while_it_waits_takes_no_place():
    scheduler, go = of(replace(machine("a"), slots=1)), asyncio.Event()
    holding = asyncio.ensure_future(hold(scheduler, go))
    waiting = asyncio.ensure_future(hold(scheduler, go))
    await until(lambda: scheduler.waiting == 1)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert scheduler.waiting == 0
    go.set()
    await holding
    assert scheduler.in_flight("a") == 0


async def test_who_leaves_in_the_moment_in_which_it_gets_a_machine_gives_it_back():
    scheduler, go = of(replace(machine("a"), slots=1)), asyncio.Event()
    holding = asyncio.ensure_future(hold(scheduler, go))
    waiting = asyncio.ensure_future(hold(scheduler, asyncio.Event()))
    last = asyncio.ensure_future(hold(scheduler, go))
    await until(lambda: scheduler.waiting == 2)
    holding.add_done_callback(lambda _: waiting.cancel())
    go.set()
    assert await asyncio.wait_for(last, 5) == "a"
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert scheduler.in_flight("a") == 0


async def test_who_waits_too_long_is_told_so():
    scheduler, go = of(replace(machine("a"), slots=1), wait=0.02), asyncio.Event()
    holding = asyncio.ensure_future(hold(scheduler, go))
    await until(lambda: scheduler.in_flight("a") == 1)
    with pytest.raises(Overloaded, match=r"0\.02 s") as refused:
        await hold(scheduler, go)
    assert refused.value.retry_after
    assert scheduler.waiting == 0
    go.set()
    await holding


async def test_who_waits_for_a_machine_that_goes_is_told_at_once():
    machines = [replace(machine("a"), slots=1)]
    scheduler, go = Scheduler(Dispatch(lambda: machines, tie=first), wait=30), asyncio.Event()
    holding = asyncio.ensure_future(hold(scheduler, go))
    waiting = asyncio.ensure_future(hold(scheduler, go))
    await until(lambda: scheduler.waiting == 1)
    before, machines[0] = machines[0], machines[0].failed("down")
    scheduler.machine_changed(before, machines[0])
    with pytest.raises(LocalLaneUnavailable):
        await asyncio.wait_for(waiting, 5)
    go.set()
    await holding


async def test_who_waits_gets_a_machine_that_comes():
    machines = [replace(machine("a"), slots=1)]
    scheduler, go = Scheduler(Dispatch(lambda: machines, tie=first), wait=30), asyncio.Event()
    holding = asyncio.ensure_future(hold(scheduler, go))
    waiting = asyncio.ensure_future(hold(scheduler, go))
    await until(lambda: scheduler.waiting == 1)
    machines.append(machine("b"))
    scheduler.machine_changed(None, machines[1])
    await until(lambda: scheduler.in_flight("b") == 1)
    go.set()
    assert await waiting == "b"
    await holding


async def test_a_suspect_machine_is_waited_for():
    """A call has found it failing. With no other machine, the next call is not refused before it was asked."""
    machines = [replace(machine("a"), suspect=True)]
    scheduler, go = Scheduler(Dispatch(lambda: machines, tie=first), wait=30), asyncio.Event()
    go.set()
    waiting = asyncio.ensure_future(hold(scheduler, go))
    await until(lambda: scheduler.waiting == 1)
    before, machines[0] = machines[0], machine("a")
    scheduler.machine_changed(before, machines[0])
    assert await waiting == "a"


async def test_three_failures_in_a_row_rest_a_machine_until_it_comes_back():
    scheduler = of(machine("a"), machine("b"))
    for _ in range(3):
        async with scheduler.lease(Wanted("m", tried=frozenset({"b"}))) as lease:
            lease.outcome = "failed"
    assert scheduler.resting("a")
    async with scheduler.lease(M) as lease:
        assert lease.machine.id == "b"
    scheduler.machine_changed(machine("a", healthy=False), machine("a"))
    async with scheduler.lease(M) as lease:
        assert lease.machine.id == "a"
        lease.outcome = "answered"
    assert not scheduler.resting("a")


async def test_a_lease_knows_how_long_it_was_waited_for():
    now = 0.0
    scheduler = Scheduler(
        Dispatch(lambda: (replace(machine("a"), slots=1),), tie=first), wait=30, monotonic=lambda: now
    )
    async with scheduler.lease(M) as lease:
        assert lease.waited == 0
        waiting = asyncio.ensure_future(_waited(scheduler))
        await until(lambda: scheduler.waiting == 1)
        now = 2.5
    assert await waiting == 2.5


async def _waited(scheduler: Scheduler) -> float:
    async with scheduler.lease(M) as lease:
        return lease.waited
