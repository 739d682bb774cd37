"""What is in flight where, who waits, and which machines fail: the scheduler without its event loop.

Pure but for what it counts: moments are handed in, so that a simulation runs the very same code in a time of its own.
A slot is taken in the same step in which a machine is chosen, and given back by `ended`, which every grant must reach.
"""

import random
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from appliance.cluster.breaker import Breaker, Outcome, State
from appliance.cluster.choice import Load, Wanted, able, choose
from appliance.cluster.line import Line
from appliance.cluster.machine import Machine, canonical
from appliance.cluster.refusals import line_is_full, nobody
from appliance.errors import LocalLaneUnavailable

RECENT_SECONDS = 300.0
"""How long a machine's time to its first token counts: what was slow once may have been loading a model."""

WEIGHT = 0.3
"""Of the newest time among those before it."""


@dataclass(eq=False, frozen=True, slots=True)
class Ticket:
    """One attempt at one call, of `caller`. `again`: another machine failed it, so that it waits no second time."""

    wanted: Wanted
    caller: Hashable = ""
    again: bool = False


@dataclass(frozen=True, slots=True)
class _Begun:
    """How long a first token took, as of `at`."""

    seconds: float
    at: float


class Dispatch:
    """`size`: how many calls may wait."""

    def __init__(
        self,
        machines: Callable[[], Sequence[Machine]],
        *,
        size: int = 64,
        tie: Callable[[], float] = random.random,
    ) -> None:
        self._machines = machines
        self._tie = tie
        self._line: Line[Ticket] = Line(size)
        self._in_flight: Counter[str] = Counter()
        self._breakers: dict[str, Breaker] = {}
        self._begun: dict[str, dict[str, _Begun]] = {}

    @property
    def waiting(self) -> int:
        return len(self._line)

    def in_flight(self, machine_id: str) -> int:
        return self._in_flight[machine_id]

    def breaker(self, machine_id: str, now: float) -> State:
        return self._breaker(machine_id).state(now)

    def ask(self, ticket: Ticket, now: float) -> Machine | None:
        """A machine, which has one more call in flight from here on; None: the ticket waits in the line.

        Raises:
            LocalLaneUnavailable: no machine can serve the call, now or soon.
            Overloaded: all are busy, and no more calls may wait.
        """
        answer = self._answer(ticket.wanted, self._loads(now))
        if isinstance(answer, Machine):
            return self._grant(answer)
        if answer is not None:
            raise answer
        if self._line.full and not ticket.again:
            raise line_is_full(len(self._line))
        self._line.join(ticket.caller, ticket, in_front=ticket.again)
        return None

    def leave(self, ticket: Ticket) -> None:
        """It waits no more."""
        self._line.leave(ticket.caller, ticket)

    def ended(self, machine_id: str, outcome: Outcome, now: float) -> None:
        """A call on this machine has ended, and its slot is free."""
        self._in_flight[machine_id] -= 1
        if not self._in_flight[machine_id]:
            del self._in_flight[machine_id]
        self._breaker(machine_id).ends(outcome, now)

    def began(self, machine_id: str, model: str, seconds: float, now: float) -> None:
        """The first token of an answer came `seconds` after its machine was asked."""
        times = self._begun.setdefault(machine_id, {})
        before = times.get(canonical(model))
        recent = before is not None and now - before.at <= RECENT_SECONDS
        times[canonical(model)] = _Begun(
            before.seconds + WEIGHT * (seconds - before.seconds) if before and recent else seconds, now
        )

    def recovered(self, machine_id: str, now: float) -> None:
        """The machine was not well, and is again."""
        self._breaker(machine_id).recovers(now)

    def forget(self, machine_id: str) -> None:
        """The machine is none of ours any more; calls that are in flight there still end."""
        self._breakers.pop(machine_id, None)
        self._begun.pop(machine_id, None)

    def go(self, now: float, *, same_machines: bool = False) -> list[tuple[Ticket, Machine | LocalLaneUnavailable]]:
        """Everyone in the line who can go now, each with a machine, or with the reason why there is none any more.

        `same_machines`: only slots got free, so that nobody has to be told that there is none.
        """
        gone: list[tuple[Ticket, Machine | LocalLaneUnavailable]] = []
        while self._line:
            loads = self._loads(now)
            if same_machines and not any(load.free for load in loads):
                break
            ticket = self._line.next(lambda ticket, loads=loads: self._answer(ticket.wanted, loads) is not None)
            if ticket is None:
                break
            answer = self._answer(ticket.wanted, loads)
            if isinstance(answer, Machine):
                self._grant(answer)
            if answer is not None:
                gone.append((ticket, answer))
        return gone

    def _answer(self, wanted: Wanted, loads: list[Load]) -> Machine | LocalLaneUnavailable | None:
        """The machine for the call, or why there is none; None while all that can serve it are busy."""
        machine = choose(loads, wanted, tie=self._tie)
        if machine is not None or able(loads, wanted):
            return machine
        return nobody([load.machine for load in loads], wanted)

    def _grant(self, machine: Machine) -> Machine:
        self._in_flight[machine.id] += 1
        self._breaker(machine.id).begins()
        return machine

    def _loads(self, now: float) -> list[Load]:
        return [self._load(machine, now) for machine in self._machines()]

    def _load(self, machine: Machine, now: float) -> Load:
        breaker = self._breaker(machine.id)
        times = self._begun.get(machine.id, {})
        return Load(
            machine,
            self._in_flight[machine.id],
            breaker.state(now),
            breaker.trying,
            {model: begun.seconds for model, begun in times.items() if now - begun.at <= RECENT_SECONDS},
        )

    def _breaker(self, machine_id: str) -> Breaker:
        return self._breakers.setdefault(machine_id, Breaker())
