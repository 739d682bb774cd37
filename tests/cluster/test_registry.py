import asyncio
from dataclasses import replace

from appliance.cluster.addresses import at_url
from appliance.cluster.machine import Machine
from appliance.cluster.registry import Registry
from tests.waiting import until


class Prober:
    """Says of each machine what `well` says, and counts."""

    def __init__(self) -> None:
        self.well: dict[str, bool] = {}
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.asleep: set[str] = set()
        self.gate = asyncio.Event()
        self.gate.set()

    async def probe(self, machine: Machine) -> Machine:
        self.asked.put_nowait(machine.id)
        if machine.id in self.asleep:
            await asyncio.Event().wait()
        await self.gate.wait()
        return replace(machine, healthy=True, why="") if self.well.get(machine.id, True) else machine.failed("down")


ONE, TWO = at_url("http://127.0.0.1:1"), at_url("http://127.0.0.1:2")


def state(registry: Registry) -> dict[str, bool]:
    return {machine.name: machine.healthy for machine in registry.snapshot()}


async def test_start_asks_every_machine_once_before_it_returns():
    prober = Prober()
    prober.well[TWO.id] = False
    registry = Registry(prober, interval=3600)
    await registry.start([ONE, TWO])
    assert state(registry) == {"127.0.0.1:1": True, "127.0.0.1:2": False}
    await registry.stop()


async def test_a_machine_that_failed_a_call_is_suspect_until_it_was_asked_at_once():
    prober = Prober()
    registry = Registry(prober, interval=3600)
    await registry.start([ONE])
    registry.report_failure(ONE.id, "it accepted no connection")
    suspect = registry.snapshot()[0]
    assert (suspect.suspect, suspect.why) == (True, "it accepted no connection")
    await until(lambda: not registry.snapshot()[0].suspect)
    assert registry.snapshot()[0].healthy
    prober.well[ONE.id] = False
    registry.report_failure(ONE.id, "it accepted no connection")
    await until(lambda: not registry.snapshot()[0].suspect)
    assert not registry.snapshot()[0].healthy
    await registry.stop()


async def test_what_a_call_found_out_is_newer_than_a_probe_that_began_before_it():
    prober = Prober()
    registry = Registry(prober, interval=0.01)
    await registry.start([ONE])
    prober.gate.clear()
    while prober.asked.qsize():
        prober.asked.get_nowait()
    await asyncio.wait_for(prober.asked.get(), 5)
    registry.report_failure(ONE.id, "the connection to it broke")
    prober.well[ONE.id] = True
    seen: list[bool] = []
    registry.listen(lambda _, after: seen.append(after is not None and after.suspect))
    prober.gate.set()
    await until(lambda: not registry.snapshot()[0].suspect)
    assert seen == [False]  # the probe that began before said nothing
    await registry.stop()


async def test_a_machine_that_sleeps_does_not_keep_the_others_from_being_asked():
    prober = Prober()
    registry = Registry(prober, interval=0.001)
    await registry.start([ONE, TWO])
    prober.asleep.add(ONE.id)
    seen = [await asyncio.wait_for(prober.asked.get(), 5) for _ in range(20)]
    assert seen.count(TWO.id) >= 15
    await registry.stop()


async def test_machines_come_change_and_go_while_it_runs():
    prober = Prober()
    registry = Registry(prober, interval=3600)
    await registry.start([ONE])
    told: list[tuple[str | None, str | None]] = []
    registry.listen(lambda before, after: told.append((before and before.name, after and after.name)))
    registry.put(TWO)
    await until(lambda: state(registry).get("127.0.0.1:2", False))
    registry.put(replace(TWO, name="attic", draining=True, slots=9))
    changed = registry.get(TWO.id)
    assert changed is not None
    assert (changed.name, changed.draining, changed.slots, changed.healthy) == ("attic", True, 9, True)
    registry.remove(TWO.id)
    assert registry.get(TWO.id) is None
    assert told[0] == (None, "127.0.0.1:2")
    assert told[-1] == ("attic", None)
    before = prober.asked.qsize()
    registry.probe_soon(TWO.id)
    registry.report_failure(TWO.id, "gone")
    registry.remove(TWO.id)
    assert prober.asked.qsize() == before
    assert state(registry) == {"127.0.0.1:1": True}
    await registry.stop()


async def test_what_was_decided_while_a_machine_was_asked_holds():
    prober = Prober()
    registry = Registry(prober, interval=3600)
    await registry.start([ONE])
    prober.gate.clear()
    while prober.asked.qsize():
        prober.asked.get_nowait()
    registry.probe_soon(ONE.id)
    await asyncio.wait_for(prober.asked.get(), 5)
    registry.put(replace(ONE, draining=True))
    prober.gate.set()
    await asyncio.wait_for(prober.asked.get(), 5)  # it was put, and so asked again
    assert registry.snapshot()[0].draining
    await registry.stop()


async def test_an_answer_from_where_a_machine_was_does_not_undo_where_it_was_put():
    prober = Prober()
    registry = Registry(prober, interval=3600)
    await registry.start([ONE])
    prober.gate.clear()
    while prober.asked.qsize():
        prober.asked.get_nowait()
    registry.probe_soon(ONE.id)
    await asyncio.wait_for(prober.asked.get(), 5)
    elsewhere = replace(ONE, url="http://127.0.0.1:9")
    registry.put(elsewhere)
    prober.gate.set()
    await asyncio.wait_for(prober.asked.get(), 5)
    await until(lambda: registry.snapshot()[0].healthy)
    assert registry.snapshot()[0].url == elsewhere.url
    await registry.stop()
