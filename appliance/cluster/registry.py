"""The machines known now, kept fresh by one probe loop each, so that a sleeping machine delays no other."""

import asyncio
import logging
from collections.abc import Iterable

from appliance.cluster.health import Prober
from appliance.cluster.machine import Machine
from appliance.tasks import Tasks

_log = logging.getLogger(__name__)

PROBE_INTERVAL_SECONDS = 5.0


class Registry:
    """Holds the newest picture of every machine; readers take a snapshot and never wait."""

    def __init__(
        self, machines: Iterable[Machine], prober: Prober, *, interval: float = PROBE_INTERVAL_SECONDS
    ) -> None:
        self._machines = {machine.id: machine for machine in machines}
        self._prober = prober
        self._interval = interval
        self._tasks = Tasks()

    def snapshot(self) -> tuple[Machine, ...]:
        return tuple(self._machines.values())

    async def start(self) -> None:
        """Ask every machine once, then go on asking in the background."""
        await asyncio.gather(*(self._probe(machine_id) for machine_id in self._machines))
        for machine_id in self._machines:
            self._tasks.spawn(f"probe-{machine_id}", self._probe_forever(machine_id))

    async def stop(self) -> None:
        await self._tasks.cancel()

    def report_failure(self, machine_id: str, why: str) -> None:
        """A call could not reach this machine: leave it out until a probe finds it well again."""
        self._set(self._machines[machine_id].failed(why))

    async def _probe_forever(self, machine_id: str) -> None:
        while True:
            await asyncio.sleep(self._interval)
            await self._probe(machine_id)

    async def _probe(self, machine_id: str) -> None:
        machine = self._machines[machine_id]
        try:
            found = await self._prober.probe(machine)
        except Exception as error:  # whatever a machine sends, the next probe has to come
            _log.error("the probe of machine %s failed: %s", machine.name, type(error).__name__)
            found = machine.failed("it does not answer like Ollama")
        self._set(found)

    def _set(self, machine: Machine) -> None:
        before = self._machines[machine.id]
        self._machines[machine.id] = machine
        if before.healthy != machine.healthy:
            state = "is well" if machine.healthy else f"is not used: {machine.why}"
            _log.info("machine %s %s", machine.name, state)
