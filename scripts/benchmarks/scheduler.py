"""The scheduler on hundreds of machines: the gateway's own decisions, on synthetic load, in simulated time.

Calls come at random, each with an answer of random length; machines differ in speed, and one of them can fail fast. For
each size: how busy the machines were, how long calls waited, and what one decision costs in real time.
"""

import heapq
import math
import random
import time
from dataclasses import dataclass, field, replace

from appliance.cluster.choice import Wanted
from appliance.cluster.dispatch import Dispatch, Ticket
from appliance.cluster.machine import Machine, Model
from appliance.errors import LocalLaneUnavailable, Overloaded
from scripts.benchmarks.results import percentile, report

MODEL = "m"
SLOTS = 4
ANSWER_SECONDS = 4.0
"""On a machine of middle speed."""
LOAD = 0.8
"""Of what all machines together can answer."""
CALLS = 2_000
"""At least, and a hundred for each machine."""
QUEUE = 64
WAIT_SECONDS = 30.0
CALLERS = 40
SIZES = (1, 2, 4, 8, 64, 256)


@dataclass
class Seen:
    """What came of a run. `busy` is the time of slots in use, summed over machines, `seconds` that until the last call
    came."""

    waits: list[float] = field(default_factory=list)
    refused: int = 0
    gave_up: int = 0
    busy: float = 0.0
    seconds: float = 0.0
    failing: int = 0
    attempts: int = 0
    deciding: float = 0.0


@dataclass(order=True)
class Event:
    at: float
    order: int
    what: str = field(compare=False)
    ticket: Ticket | None = field(default=None, compare=False)
    machine: Machine | None = field(default=None, compare=False)
    arrived: float = field(default=0.0, compare=False)


class Simulation:
    def __init__(self, machines: list[Machine], speeds: dict[str, float], *, failing: str | None, seed: int) -> None:
        self._dice = random.Random(seed)
        self._dispatch = Dispatch(lambda: machines, size=QUEUE, tie=self._dice.random)
        self._machines = machines
        self._speeds = speeds
        self._failing = failing
        self._events: list[Event] = []
        self._arrived: dict[Ticket, float] = {}
        self._lengths: dict[Ticket, float] = {}
        self._order = 0
        self.seen = Seen()

    def run(self, calls: int, load: float = LOAD) -> Seen:
        rate = load * sum(SLOTS * speed for speed in self._speeds.values()) / ANSWER_SECONDS
        at = 0.0
        for _ in range(calls):
            at += self._dice.expovariate(rate)
            self._push(at, "call")
        while self._events:
            event = heapq.heappop(self._events)
            getattr(self, f"_{event.what}")(event)
        return self.seen

    def _push(self, at: float, what: str, **given: object) -> None:
        self._order += 1
        heapq.heappush(self._events, Event(at, self._order, what, **given))  # type: ignore[arg-type]

    def _call(self, event: Event) -> None:
        self.seen.seconds = event.at
        ticket = Ticket(Wanted(MODEL), self._dice.randrange(CALLERS))
        self._arrived[ticket] = event.at
        self._lengths[ticket] = self._dice.lognormvariate(math.log(ANSWER_SECONDS) - 0.5, 1.0)
        self._ask(ticket, event.at)

    def _ask(self, ticket: Ticket, now: float) -> None:
        began = time.perf_counter()
        try:
            machine = self._dispatch.ask(ticket, now)
        except (Overloaded, LocalLaneUnavailable):
            self.seen.refused += 1
            return
        finally:
            self.seen.deciding += time.perf_counter() - began
        if machine is None:
            self._push(now + WAIT_SECONDS, "late", ticket=ticket)
        else:
            self._begin(ticket, machine, now)

    def _begin(self, ticket: Ticket, machine: Machine, now: float) -> None:
        self.seen.attempts += 1
        if machine.id == self._failing:
            self.seen.failing += 1
            self._push(now + 0.01, "failed", ticket=ticket, machine=machine)
            return
        self.seen.waits.append(now - self._arrived.pop(ticket))
        seconds = self._lengths.pop(ticket) / self._speeds[machine.id]
        self.seen.busy += seconds
        self._dispatch.began(machine.id, MODEL, 0.3 / self._speeds[machine.id], now)
        self._push(now + seconds, "answered", machine=machine)

    def _answered(self, event: Event) -> None:
        assert event.machine is not None
        self._dispatch.ended(event.machine.id, "answered", event.at)
        self._hand_out(event.at)

    def _failed(self, event: Event) -> None:
        assert event.machine is not None
        assert event.ticket is not None
        self._dispatch.ended(event.machine.id, "failed", event.at)
        self._hand_out(event.at)
        again = Ticket(replace(event.ticket.wanted, tried=frozenset({event.machine.id})), event.ticket.caller, True)
        for by_ticket in (self._arrived, self._lengths):
            by_ticket[again] = by_ticket.pop(event.ticket)
        self._ask(again, event.at)

    def _late(self, event: Event) -> None:
        assert event.ticket is not None
        if event.ticket in self._arrived:
            self._dispatch.leave(event.ticket)
            del self._arrived[event.ticket]
            self.seen.gave_up += 1

    def _hand_out(self, now: float) -> None:
        began = time.perf_counter()
        going = self._dispatch.go(now, same_machines=True)
        self.seen.deciding += time.perf_counter() - began
        for ticket, answer in going:
            if isinstance(answer, Machine):
                self._begin(ticket, answer, now)


def machines_of(size: int) -> tuple[list[Machine], dict[str, float]]:
    """Half as fast to twice as fast as the middle, evenly."""
    model = Model(MODEL, "d", 1, frozenset({"completion"}), remote=False)
    made = [
        Machine(f"n{i}", f"n{i}", f"http://n{i}", "pinned", "", True, "", (model,), {MODEL: 8192}, slots=SLOTS)
        for i in range(size)
    ]
    return made, {machine.id: 2.0 ** (2 * (i + 0.5) / size - 1) for i, machine in enumerate(made)}


def main() -> None:
    figures: dict[str, float] = {}
    unit: dict[str, str] = {}

    def note(name: str, value: float, of: str) -> None:
        figures[name], unit[name] = value, of

    for size in SIZES:
        made, speeds = machines_of(size)
        calls = max(CALLS, 100 * size)
        seen = Simulation(made, speeds, failing=None, seed=size).run(calls)
        named = f"{size} machine{'s' if size > 1 else ''}"
        note(f"{named}: slots in use", 100 * seen.busy / (SLOTS * size * seen.seconds), "%")
        note(f"{named}: wait, median", percentile(seen.waits, 0.5), "s")
        note(f"{named}: wait, p99", percentile(seen.waits, 0.99), "s")
        note(f"{named}: refused or waited too long", 100 * (seen.refused + seen.gave_up) / calls, "%")
        note(f"{named}: a decision", 1e6 * seen.deciding / seen.attempts, "µs")
    made, speeds = machines_of(2)
    speeds = dict.fromkeys(speeds, 10.0)  # answers of 0.4 s, of which one machine alone can give enough
    seen = Simulation(made, speeds, failing=made[1].id, seed=2).run(CALLS, load=0.4)
    note("1 of 2 fails at once: its share of 2,000 calls", 100 * seen.failing / CALLS, "%")
    report("scheduler", figures, unit=unit)


if __name__ == "__main__":
    main()
