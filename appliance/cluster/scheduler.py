"""Which machine takes the next call: fewest in flight first (synapse.md, "Multiple machines").

The decision is a pure function over a snapshot; the scheduler only counts what is in flight.
"""

import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from appliance.cluster.machine import Machine, canonical
from appliance.errors import LocalLaneUnavailable, ModelAbsent


@dataclass(frozen=True, slots=True)
class Load:
    """One machine as the choice sees it."""

    machine: Machine
    in_flight: int


def choose(loads: Iterable[Load], model: str, *, tie: Callable[[], float]) -> Machine | None:
    """The healthy machine with the model and the fewest calls in flight; then one that has it loaded; then by `tie`."""
    fit = [load for load in loads if load.machine.healthy and load.machine.has(model)]
    if not fit:
        return None
    warm = canonical(model)
    return min(fit, key=lambda load: (load.in_flight, warm not in load.machine.loaded, tie())).machine


class Scheduler:
    """Hands out machines. A lease counts as in flight until its block is left, however it is left."""

    def __init__(
        self, machines: Callable[[], tuple[Machine, ...]], *, tie: Callable[[], float] = random.random
    ) -> None:
        self._machines = machines
        self._tie = tie
        self._in_flight: Counter[str] = Counter()

    def in_flight(self, machine_id: str) -> int:
        return self._in_flight[machine_id]

    @asynccontextmanager
    async def lease(self, model: str, *, tried: frozenset[str] = frozenset()) -> AsyncGenerator[Machine]:
        """Reserve a machine for one attempt at one call, leaving out those that were `tried` before.

        Raises:
            LocalLaneUnavailable: no machine can serve the model now.
        """
        machines = [machine for machine in self._machines() if machine.id not in tried]
        machine = choose((Load(one, self._in_flight[one.id]) for one in machines), model, tie=self._tie)
        if machine is None:
            raise _unavailable(machines, model)
        self._in_flight[machine.id] += 1
        try:
            yield machine
        finally:
            self._in_flight[machine.id] -= 1


def _unavailable(machines: list[Machine], model: str) -> LocalLaneUnavailable:
    well = any(machine.healthy for machine in machines)
    if well and not any(machine.has(model) for machine in machines):
        return ModelAbsent(
            f"No machine of this installation has the model {model!r}.",
            advice=f"Run `ollama pull {model}` on one; or see `synapse model list` for the role that has it, and"
            " change that with `synapse model set` or `synapse model unset`.",
        )
    if well:
        return LocalLaneUnavailable(
            f"No machine that has the model {model!r} is reachable.",
            advice="Try again in a moment; `synapse status` says what is wrong with each machine.",
        )
    return LocalLaneUnavailable(
        "No machine that runs models is reachable.",
        advice="Start Ollama or the embedded engine; `synapse status` says what is wrong with each machine.",
    )
