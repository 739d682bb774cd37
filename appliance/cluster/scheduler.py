"""Hands out machines to calls, and lets them wait where all are busy. Decides nothing: `dispatch` does.

No slot leaks: a lease ends with its block, however that is left, also where the caller goes while it waits.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager

from appliance.cluster.breaker import Outcome
from appliance.cluster.choice import Wanted
from appliance.cluster.dispatch import Dispatch, Ticket
from appliance.cluster.machine import Machine
from appliance.cluster.refusals import waited_too_long
from appliance.errors import LocalLaneUnavailable


class Lease:
    """One machine for one attempt. Say how it went: unsaid, it speaks neither for nor against the machine.

    `waited`: seconds until there was a machine.
    """

    def __init__(self, machine: Machine, waited: float) -> None:
        self.machine = machine
        self.waited = waited
        self.outcome: Outcome = "neither"


class Scheduler:
    """`wait`: seconds that a call may wait for a machine."""

    def __init__(self, dispatch: Dispatch, *, wait: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._dispatch = dispatch
        self._wait = wait
        self._monotonic = monotonic
        self._promises: dict[Ticket, asyncio.Future[Machine]] = {}

    @property
    def waiting(self) -> int:
        """Calls that wait for a machine."""
        return self._dispatch.waiting

    def in_flight(self, machine_id: str) -> int:
        return self._dispatch.in_flight(machine_id)

    def resting(self, machine_id: str) -> bool:
        """Whether it failed so often that it gets no calls but a trial."""
        return self._dispatch.breaker(machine_id, self._monotonic()) != "closed"

    def began(self, machine: Machine, model: str, seconds: float) -> None:
        """The first token came `seconds` after the machine was asked."""
        self._dispatch.began(machine.id, model, seconds, self._monotonic())

    def machine_changed(self, before: Machine | None, after: Machine | None) -> None:
        """The registry knows something else of a machine: whoever waits may have a machine now, or none any more."""
        if after is None and before is not None:
            self._dispatch.forget(before.id)
        if before is not None and after is not None and after.healthy and not before.healthy:
            self._dispatch.recovered(after.id, self._monotonic())
        self._pump()

    @asynccontextmanager
    async def lease(self, wanted: Wanted, *, caller: Hashable = "", again: bool = False) -> AsyncGenerator[Lease]:
        """A machine for one attempt at one call, which counts as in flight there until the block is left.

        Raises:
            LocalLaneUnavailable: no machine can serve the call.
            Overloaded: all were busy, and too many calls wait, or this one has waited too long.
        """
        began = self._monotonic()
        machine = await self._machine(Ticket(wanted, caller, again))
        lease = Lease(machine, self._monotonic() - began)
        try:
            yield lease
        finally:
            self._end(machine, lease.outcome)

    async def _machine(self, ticket: Ticket) -> Machine:
        machine = self._dispatch.ask(ticket, self._monotonic())
        if machine is not None:
            return machine
        promise = self._promises[ticket] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self._wait):
                return await promise
        except BaseException as error:
            self._give_up(ticket, promise)
            if isinstance(error, TimeoutError):
                raise waited_too_long(self._wait) from None
            raise
        finally:
            self._promises.pop(ticket, None)

    def _give_up(self, ticket: Ticket, promise: "asyncio.Future[Machine]") -> None:
        """Out of the line; a machine that was given in this very moment goes back."""
        self._dispatch.leave(ticket)
        if promise.done() and not promise.cancelled() and promise.exception() is None:
            self._end(promise.result(), "neither")

    def _end(self, machine: Machine, outcome: Outcome) -> None:
        self._dispatch.ended(machine.id, outcome, self._monotonic())
        self._pump(same_machines=True)

    def _pump(self, *, same_machines: bool = False) -> None:
        for ticket, answer in self._dispatch.go(self._monotonic(), same_machines=same_machines):
            promise = self._promises.get(ticket)
            if promise is None or promise.done():  # its caller left in this very moment
                if isinstance(answer, Machine):
                    self._dispatch.ended(answer.id, "neither", self._monotonic())
            elif isinstance(answer, LocalLaneUnavailable):
                promise.set_exception(answer)
            else:
                promise.set_result(answer)
