"""The machines known now, kept fresh by one probe loop each, so that a sleeping machine delays no other."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from appliance.cluster.health import Prober
from appliance.cluster.machine import Machine
from appliance.tasks import Tasks

_log = logging.getLogger(__name__)

PROBE_INTERVAL_SECONDS = 5.0

AGAIN_SECONDS = 0.25
"""After a call found a machine failing it is asked at once, but not more often than this."""

LOST_PROBES = 2
"""In a row without an answer, after which what waits for this machine may go elsewhere: one can be late by itself."""

Listener = Callable[[Machine | None, Machine | None], None]
"""Told of a machine before and after a change; None where it was, or is, none of ours."""


class Registry:
    """Holds the newest picture of every machine; readers take a snapshot and never wait."""

    def __init__(self, prober: Prober, *, interval: float = PROBE_INTERVAL_SECONDS) -> None:
        self._prober = prober
        self._interval = interval
        self._machines: dict[str, Machine] = {}
        self._wake: dict[str, asyncio.Event] = {}
        self._loops: dict[str, asyncio.Task[None]] = {}
        self._failed: set[str] = set()
        self._missed: Counter[str] = Counter()
        self._lost: dict[str, asyncio.Event] = {}
        self._listeners: list[Listener] = []
        self._tasks = Tasks()

    def snapshot(self) -> tuple[Machine, ...]:
        return tuple(self._machines.values())

    def get(self, machine_id: str) -> Machine | None:
        return self._machines.get(machine_id)

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def start(self, machines: Iterable[Machine]) -> None:
        """Ask all of them once, then go on asking in the background."""
        given = list(machines)
        for machine in given:
            self._set(machine)
        await asyncio.gather(*(self._probe(machine.id) for machine in given))
        for machine in given:
            self._watch(machine.id)

    async def stop(self) -> None:
        await self._tasks.cancel()

    def put(self, machine: Machine) -> None:
        """Take a machine in, or say something else of one that is known; what it was last seen to have is kept, unless
        it is to be asked in another way."""
        known = self._machines.get(machine.id)
        if known is not None and known.kind == machine.kind:
            machine = replace(
                known,
                name=machine.name,
                url=machine.url,
                slots=machine.slots,
                slots_set=machine.slots_set,
                draining=machine.draining,
            )
        self._set(machine)
        self._watch(machine.id)
        self.probe_soon(machine.id)

    def remove(self, machine_id: str) -> None:
        """It gets no more calls, and is not asked any more."""
        before = self._machines.pop(machine_id, None)
        if (loop := self._loops.pop(machine_id, None)) is not None:
            loop.cancel()
        self._wake.pop(machine_id, None)
        self._missed.pop(machine_id, None)
        if (lost := self._lost.pop(machine_id, None)) is not None:
            lost.set()
        if before is not None:
            self._tell(before, None)

    def report_failure(self, machine_id: str, why: str) -> None:
        """A call could not reach this machine, or lost it: a probe, which comes at once, says how it is."""
        machine = self._machines.get(machine_id)
        if machine is not None:
            self._failed.add(machine_id)
            self._set(replace(machine, suspect=True, why=why))
            self.probe_soon(machine_id)

    async def lost(self, machine_id: str) -> None:
        """Return once this machine has not answered for a while, or is none of ours any more."""
        if machine_id in self._machines:
            await self._lost.setdefault(machine_id, asyncio.Event()).wait()

    def probe_soon(self, machine_id: str) -> None:
        """Do not wait for the next turn."""
        if (wake := self._wake.get(machine_id)) is not None:
            wake.set()

    def _watch(self, machine_id: str) -> None:
        if machine_id not in self._loops:
            self._wake[machine_id] = asyncio.Event()
            self._loops[machine_id] = self._tasks.spawn(f"probe-{machine_id}", self._probe_forever(machine_id))

    async def _probe_forever(self, machine_id: str) -> None:
        wake = self._wake[machine_id]
        while True:
            try:
                async with asyncio.timeout(self._interval):
                    await wake.wait()
            except TimeoutError:
                pass
            wake.clear()
            await self._probe(machine_id)
            await asyncio.sleep(min(AGAIN_SECONDS, self._interval))

    async def _probe(self, machine_id: str) -> None:
        machine = self._machines[machine_id]
        self._failed.discard(machine_id)
        try:
            found = await self._prober.probe(machine)
        except Exception as error:  # whatever a machine sends, the next probe has to come
            _log.error("the probe of machine %s failed: %s", machine.name, type(error).__name__)
            found = machine.failed("what it answers cannot be read")
        now = self._machines.get(machine_id)
        if now is not None:
            self._count(found)
        if now is None or machine_id in self._failed:  # a call has found out more since then
            return
        if (now.url, now.kind) != (machine.url, machine.kind):  # it was put elsewhere, and is asked there next
            return
        # What was decided about it while it was asked holds.
        slots = now.slots if now.slots_set else found.slots
        decided = replace(found, name=now.name, slots=slots, slots_set=now.slots_set, draining=now.draining)
        self._set(replace(decided, suspect=False))

    def _count(self, found: Machine) -> None:
        """Of probes in a row that had no answer."""
        self._missed[found.id] = 0 if found.healthy else self._missed[found.id] + 1
        if found.healthy:
            lost = self._lost.get(found.id)
            if lost is not None and lost.is_set():
                del self._lost[found.id]
        elif self._missed[found.id] >= LOST_PROBES:
            self._lost.setdefault(found.id, asyncio.Event()).set()

    def _set(self, machine: Machine) -> None:
        before = self._machines.get(machine.id)
        self._machines[machine.id] = machine
        if before is not None and before.healthy != machine.healthy:
            state = "is well" if machine.healthy else f"is not used: {machine.why}"
            _log.info("machine %s %s", machine.name, state)
        self._tell(before, machine)

    def _tell(self, before: Machine | None, after: Machine | None) -> None:
        for listener in self._listeners:
            listener(before, after)
