import asyncio
from dataclasses import replace

from appliance.cluster.machine import Machine, at_url
from appliance.cluster.registry import Registry


class Prober:
    """Says of each machine what `well` says, and counts."""

    def __init__(self) -> None:
        self.well: dict[str, bool] = {}
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.asleep: set[str] = set()

    async def probe(self, machine: Machine) -> Machine:
        self.asked.put_nowait(machine.id)
        if machine.id in self.asleep:
            await asyncio.Event().wait()
        return replace(machine, healthy=True, why="") if self.well.get(machine.id, True) else machine.failed("down")


ONE, TWO = at_url("http://127.0.0.1:1"), at_url("http://127.0.0.1:2")


def state(registry: Registry) -> dict[str, bool]:
    return {machine.name: machine.healthy for machine in registry.snapshot()}


async def test_start_asks_every_machine_once_before_it_returns():
    prober = Prober()
    prober.well[TWO.id] = False
    registry = Registry([ONE, TWO], prober, interval=3600)
    await registry.start()
    assert state(registry) == {"127.0.0.1:1": True, "127.0.0.1:2": False}
    await registry.stop()


async def test_a_failure_reported_by_a_call_holds_until_the_next_probe():
    prober = Prober()
    registry = Registry([ONE], prober, interval=0.01)
    await registry.start()
    registry.report_failure(ONE.id, "it accepted no connection")
    assert registry.snapshot()[0].why == "it accepted no connection"
    while not registry.snapshot()[0].healthy:
        await asyncio.wait_for(prober.asked.get(), 5)
    await registry.stop()


async def test_a_machine_that_sleeps_does_not_keep_the_others_from_being_asked():
    prober = Prober()
    registry = Registry([ONE, TWO], prober, interval=0.001)
    await registry.start()
    prober.asleep.add(ONE.id)
    seen = [await asyncio.wait_for(prober.asked.get(), 5) for _ in range(20)]
    assert seen.count(TWO.id) >= 15
    await registry.stop()
