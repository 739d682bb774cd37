"""Many callers on several machines. Source: cluster.md, "Choosing a machine"; synapse.md, "Multiple machines"."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from appliance.cluster.scheduler import Scheduler
from tests.box import Box, box
from tests.upstreams.ollama import OllamaDouble, done, line, ollama_double, refuses, says
from tests.waiting import until

pytestmark = pytest.mark.alone

CALLERS = 64
ANSWER_SECONDS = 0.2

SLOW = says(ANSWER_SECONDS, line("Hello"), done())


@asynccontextmanager
async def office(tmp_path: Path, machines: int, **settings: str) -> AsyncIterator[tuple[Box, list[OllamaDouble]]]:
    """A gateway with so many machines, each with four slots and answers of 0.2 s."""
    async with AsyncExitStack() as stack:
        doubles = [await stack.enter_async_context(ollama_double(default=SLOW)) for _ in range(machines)]
        environ = {"SYNAPSE_QUEUE__SIZE": "500", **settings}
        made = await stack.enter_async_context(
            box(tmp_path / f"state-{machines}", *(double.url for double in doubles), **environ)
        )
        yield made, doubles


def scheduler_of(made: Box) -> Scheduler:
    return made.app.pipeline.scheduler


async def in_turn(made: Box, calls: int, slots: int) -> float:
    """So many calls by 64 callers at a time, all answered; calls a second while all slots are in use."""
    left = iter(range(calls))
    ended: list[float] = []
    limits = httpx.Limits(max_connections=CALLERS, max_keepalive_connections=CALLERS)
    headers = {"authorization": f"Bearer {made.key}", "content-type": "application/json"}
    body = made.body()
    client = httpx.AsyncClient(
        base_url=made.url, headers=headers, timeout=60, limits=limits, trust_env=False, verify=False
    )
    async with client as http:

        async def caller() -> None:
            for _ in left:
                answer = await http.post("/v1/chat/completions", content=body)
                assert answer.status_code == 200, answer.text
                ended.append(time.monotonic())

        await asyncio.gather(*(caller() for _ in range(CALLERS)))
    # Without the first calls, which make connections, and the last, for which there is nobody to follow.
    steady = ended[2 * slots : -slots]
    return (len(steady) - 1) / (steady[-1] - steady[0])


async def test_twice_the_machines_answer_twice_the_calls(tmp_path: Path):
    rates: dict[int, float] = {}
    for machines, least in ((1, 0.0), (2, 1.9), (4, 3.7)):
        async with office(tmp_path, machines) as (made, doubles):
            calls, slots = 48 * machines, 4 * machines
            rates[machines] = await in_turn(made, calls, slots)
            if rates[machines] < least * rates[1]:  # whatever else this machine does can only make it less
                rates[machines] = max(rates[machines], await in_turn(made, calls, slots))
            counts = [len(double.received) for double in doubles]
            assert max(counts) - min(counts) <= 8, counts
    assert rates[2] / rates[1] >= 1.9, rates
    assert rates[4] / rates[1] >= 3.7, rates


async def test_while_all_are_well_no_machine_has_two_calls_more_than_another(tmp_path: Path):
    async with office(tmp_path, 3) as (made, _):
        scheduler, worst = scheduler_of(made), 0
        ids = [machine.id for machine in made.app.registry.snapshot()]

        async def watch() -> None:
            nonlocal worst
            while True:
                counts = [scheduler.in_flight(machine_id) for machine_id in ids]
                if scheduler.waiting:
                    worst = max(worst, max(counts) - min(counts))
                await asyncio.sleep(0)

        watching = asyncio.ensure_future(watch())
        await in_turn(made, 60, 12)
        watching.cancel()
        assert worst <= 1


async def test_no_slot_leaks_over_500_calls_of_which_some_leave_and_some_fail(tmp_path: Path):
    dice = random.Random(4)
    quick = says(0.005, line("Hello"), done())
    async with office(tmp_path, 2) as (made, doubles):
        for double in doubles:
            double.default = quick
            double.scripts.extend(refuses(500, "out of memory") if n % 9 == 0 else quick for n in range(250))

        async def call() -> None:
            leaves = dice.random() < 0.3
            try:
                async with asyncio.timeout(dice.random() * 0.05 if leaves else 30):
                    await made.chat()
            except TimeoutError:
                assert leaves

        for _ in range(5):
            await asyncio.gather(*(call() for _ in range(100)))
        scheduler = scheduler_of(made)
        ids = [machine.id for machine in made.app.registry.snapshot()]
        await until(lambda: all(scheduler.in_flight(machine_id) == 0 for machine_id in ids))
        assert scheduler.waiting == 0
        for double in doubles:
            double.scripts.clear()
        assert (await made.chat()).status_code == 200
