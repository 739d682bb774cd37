"""Which machine a call goes to: a pure function over a snapshot, so that a simulation can run it too.

Fewest calls in flight first, among those that can serve it (synapse.md, "Multiple machines"; cluster.md, "Choosing a
machine"). Must not know queues, the clock or the network.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from appliance.cluster.breaker import State
from appliance.cluster.machine import Machine, canonical


def _anywhere(_: Machine) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a call needs of a machine. `fits`: whether the prompt has room in the context that the model has there.
    `known_only` keeps off machines that are known by their address alone. `tried`: those that failed it already."""

    model: str
    fits: Callable[[Machine], bool] = _anywhere
    known_only: bool = False
    tried: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Load:
    """One machine as the choice sees it. `trying`: its breaker lets one call through, and that one is on its way.
    `first_token`: seconds that a model took lately until its first token there, by its name without `:latest`."""

    machine: Machine
    in_flight: int = 0
    breaker: State = "closed"
    trying: bool = False
    first_token: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def free(self) -> bool:
        """Whether one more call can go there. Of a machine whose breaker is not closed one at a time is asked."""
        room = self.in_flight < self.machine.slots and not self.machine.suspect
        return room and (self.breaker == "closed" or not self.trying)


Obstacle = Literal["tried", "unhealthy", "draining", "no model", "open", "too small"]
"""Why a machine cannot serve a call, whatever else it has to do."""


def obstacle(machine: Machine, wanted: Wanted) -> Obstacle | None:
    """The first that holds, None for a machine that can serve the call."""
    if machine.id in wanted.tried:
        return "tried"
    if not machine.healthy:
        return "unhealthy"
    if machine.draining:
        return "draining"
    if not machine.has(wanted.model):
        return "no model"
    if wanted.known_only and machine.trust == "open":
        return "open"
    return None if wanted.fits(machine) else "too small"


def able(loads: Iterable[Load], wanted: Wanted) -> list[Load]:
    """The machines that can serve the call, now or when a call there has ended.

    Those whose breaker is open are left out, unless there is no other: a try may then find one well again.
    """
    fit = [load for load in loads if obstacle(load.machine, wanted) is None]
    well = [load for load in fit if load.breaker == "closed" or (load.breaker == "half-open" and not load.trying)]
    return well or fit


def choose(loads: Iterable[Load], wanted: Wanted, *, tie: Callable[[], float]) -> Machine | None:
    """The machine for the call, None where all that can serve it are busy, or where there is none.

    At the same number in flight one that has the model loaded, then the one that was the quickest to begin (an unknown
    time counts as none, so that it gets known), then by `tie`.
    """
    free = [load for load in able(loads, wanted) if load.free]
    if not free:
        return None
    model = canonical(wanted.model)

    def rank(load: Load) -> tuple[int, bool, float, float]:
        return (load.in_flight, model not in load.machine.loaded, load.first_token.get(model, 0.0), tie())

    return min(free, key=rank).machine
