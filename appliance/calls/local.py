"""Runs a chat on the installation's own machines: one run for each answer that is wanted, each with its attempts.

Knows machines, contexts and what a model can do; which model it is was decided before, and what becomes of the
answer is decided after.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from appliance.calls.asking_again import added, check_text, with_spent
from appliance.calls.call import Call
from appliance.calls.context import was_cut, words
from appliance.calls.entries import ENTRIES
from appliance.calls.estimate import measure
from appliance.calls.fitting import Fitting
from appliance.calls.local_bodies import OneAnswer, local_body
from appliance.calls.merging import merged
from appliance.calls.offload import offloaded
from appliance.calls.record import Course
from appliance.cluster.choice import Wanted, obstacle
from appliance.cluster.contexts import Contexts
from appliance.cluster.machine import Machine, Model
from appliance.cluster.scheduler import Lease, Scheduler
from appliance.dialects.chat import Event, Finish, TextDelta, ToolCallDelta, Usage
from appliance.dialects.leaves import leaves
from appliance.dialects.ollama.body import Prepared, offers
from appliance.dialects.ollama.forced import forced
from appliance.dialects.upstream import Outgoing
from appliance.errors import ContextLengthExceeded, LocalLaneUnavailable, Overloaded, UpstreamFailed
from appliance.lanes.attempt import AttemptFailed

OTHERS_SECONDS = 1.0
"""How often it is looked whether another machine can take a call from one that answers nobody."""

SLOW_SECONDS = 1.0
"""A try that ended without a first token after so long says how slow its machine is, as far as that is known."""


class Machines(Protocol):
    def snapshot(self) -> tuple[Machine, ...]: ...
    def report_failure(self, machine_id: str, why: str) -> None: ...

    async def lost(self, machine_id: str) -> None:
        """Return once this machine has not answered for a while."""
        ...


class Ask(Protocol):
    def __call__(self, machine: Machine, body: Prepared | Outgoing, *, elapsed: float) -> AsyncGenerator[Event, None]:
        """Send a body to a machine and yield the answer's events. Raises AttemptFailed. `elapsed`: seconds of the
        call's total limit that are used up."""
        ...


@dataclass(frozen=True, slots=True)
class LocalLane:
    """What a run is made of. `draw_seed` gives a seed for a call for several answers that brings none."""

    scheduler: Scheduler
    machines: Machines
    contexts: Contexts
    ask: Ask
    monotonic: Callable[[], float]
    new_call_id: Callable[[], str]
    draw_seed: Callable[[], int]


class LocalRun:
    """One chat on one model. `known_only` keeps it off machines that are known by their address alone."""

    def __init__(self, parts: LocalLane, call: Call, model: str, course: Course, *, known_only: bool = False) -> None:
        self._parts = parts
        self._call = call
        self._chat = chat = call.chat
        # What the model is told of counts, which a tool that it has no choice about is not.
        self._told = replace(chat, tools=offers(chat))
        self._model = model
        self._course = course
        self._known_only = known_only
        # An answer that may have to be tried again is kept back until it is whole. Beside tools the format cannot
        # bind at the first try, so that this is likely.
        self._hold = not call.stream or (chat.format is not None and bool(self._told.tools))
        self._demanded = forced(chat) is not None
        self._seed = parts.draw_seed() if chat.choices > 1 and chat.sampling.seed is None else None

    def events(self) -> AsyncGenerator[Event, None]:
        """The events of all answers.

        Raises:
            AttemptFailed: the first answer that cannot be had ends the run; a provider may have it, where it says so.
            CallError: the call cannot be had like this, whoever is asked.
        """
        choices = [self._choice(index) for index in range(self._chat.choices)]
        return choices[0] if len(choices) == 1 else merged(choices)

    async def _choice(self, choice: int) -> AsyncGenerator[Event, None]:
        """One answer: each machine at most once, and one second try where the model got it wrong.

        After the first event that went on nobody else is tried.
        """
        tried: set[str] = set()
        spent = Usage(0, 0)
        failure: AttemptFailed | None = None
        again = forwarded = False
        fitting = self._fitting()
        while True:
            fitting.look(self._others(tried))
            wanted = Wanted(self._model, fitting.fits, self._known_only, frozenset(tried))
            leasing = self._parts.scheduler.lease(wanted, caller=self._call.caller.key_n, again=failure is not None)
            try:
                async with leasing as lease:
                    self._course.waited(lease.waited)
                    tried.add(lease.machine.id)
                    attempt = self._attempt_at(lease.machine, fitting, choice, tried, again=again)
                    async with aclosing(self._leased(lease, attempt)) as events:
                        async for event in events:
                            forwarded = True
                            yield with_spent(spent, event) if isinstance(event, Finish) else event
                return
            except LocalLaneUnavailable as nobody:
                raise failure or AttemptFailed(nobody, elsewhere=True, reached=False) from None
            except Overloaded as busy:
                raise AttemptFailed(busy, elsewhere=True, reached=failure is not None) from None
            except AttemptFailed as failed:
                if failed.usage is not None:
                    spent = added(spent, failed.usage)
                    self._course.spent(failed.usage)
                    self._course.given += forwarded
                if forwarded or not (failed.elsewhere or (failed.again and not again)):
                    raise
                if failed.again:
                    again = True
                    tried.clear()
                failure = failed

    def _fitting(self) -> Fitting:
        """Raises ContextLengthExceeded where no machine can have room."""
        estimate = measure(self._told).tokens
        fitting = Fitting(self._parts.contexts, self._model, estimate=estimate, turns=len(self._told.messages))
        fitting.check(self._parts.machines.snapshot())
        return fitting

    def _others(self, tried: Collection[str]) -> list[Machine]:
        """The machines that could be asked now, if the prompt fits."""
        wanted = Wanted(self._model, known_only=self._known_only, tried=frozenset(tried))
        return [machine for machine in self._parts.machines.snapshot() if obstacle(machine, wanted) is None]

    def _attempt_at(
        self, machine: Machine, fitting: Fitting, choice: int, tried: Collection[str], *, again: bool
    ) -> "_Attempt":
        """Raises AttemptFailed where the machine has no such model any more."""
        model = machine.find(self._model)
        if model is None:  # it went between the choice of the machine and now
            lost = LocalLaneUnavailable("The machine has lost the model.", advice="Try again in a moment.")
            raise AttemptFailed(lost, elsewhere=True, reached=False)
        context = self._parts.contexts.of(machine, model)
        # A server of another kind may take the demand of a tool for a wish, and has to be asked again.
        hold = self._hold or (self._demanded and machine.kind != "ollama")
        return _Attempt(machine, model, context, fitting, choice, again, frozenset(tried), hold)

    async def _leased(self, lease: Lease, attempt: "_Attempt") -> AsyncGenerator[Event, None]:
        """One attempt on a machine that was found for it; what it shows of the machine is told to who chooses."""
        machine, fitting = attempt.machine, attempt.fitting
        try:
            async with aclosing(self._attempt(attempt)) as events:
                async for event in events:
                    yield event
        except AttemptFailed as failed:
            if failed.speaks_against:
                lease.outcome = "failed"
            if failed.severed:
                how = "the connection to it broke" if failed.reached else "it accepted no connection"
                self._parts.machines.report_failure(machine.id, how)
            if isinstance(failed.error, ContextLengthExceeded):
                fitting.refused_at(attempt.context or failed.error.maximum or 0)
                failed.elsewhere = fitting.larger(self._others(attempt.tried))
            raise
        lease.outcome = "answered"

    async def _attempt(self, attempt: "_Attempt") -> AsyncGenerator[Event, None]:
        machine = attempt.machine
        answer = OneAnswer(self._chat, self._model, attempt.choice, self._seed, attempt.again)
        new_id = self._parts.new_call_id
        prepared = await offloaded(
            self._call, lambda: local_body(answer, machine, attempt.model, attempt.context, new_id=new_id)
        )
        course = self._course
        course.sending(machine, self._model, prepared.body, choice=attempt.choice)
        sent = self._parts.monotonic()
        begun = False
        held: list[Event] = []
        try:
            async with aclosing(self._parts.ask(machine, prepared, elapsed=sent - course.started)) as events:
                async for event in self._checked(self._unless_lost(events, attempt), attempt):
                    if not begun:
                        begun = True
                        self._parts.scheduler.began(machine, self._model, self._parts.monotonic() - sent)
                    if attempt.hold:
                        held.append(event)
                    else:
                        yield event
        finally:
            waited = self._parts.monotonic() - sent
            if not begun and waited >= SLOW_SECONDS:
                self._parts.scheduler.began(machine, self._model, waited)
        for event in held:
            yield event

    async def _unless_lost(
        self, events: AsyncGenerator[Event, None], attempt: "_Attempt"
    ) -> AsyncGenerator[Event, None]:
        """The events; before the first, whoever waits for a machine that answers nobody goes to another, if one can."""
        first = asyncio.ensure_future(_next(events))
        lost = asyncio.ensure_future(self._parts.machines.lost(attempt.machine.id))
        try:
            await asyncio.wait({first, lost}, return_when=asyncio.FIRST_COMPLETED)
            while not first.done():
                if self._others(attempt.tried):
                    silent = UpstreamFailed("The machine does not answer any more.", advice="Try again.")
                    raise AttemptFailed(silent, elsewhere=True)
                await asyncio.wait({first}, timeout=OTHERS_SECONDS)
            event = first.result()
        finally:
            lost.cancel()
            first.cancel()
            await asyncio.wait({first, lost})
            if not first.cancelled():
                first.exception()  # looked at, though nobody wants it any more
        if event is None:
            return
        yield event
        async for event in events:
            yield event

    async def _checked(self, events: AsyncGenerator[Event, None], attempt: "_Attempt") -> AsyncGenerator[Event, None]:
        """The events, looked at as they go on: what the machine has read, and whether JSON is what was asked for."""
        text: list[str] = []
        called = False
        async for event in events:
            if isinstance(event, Finish):
                event = await self._end(event, "".join(text), attempt, called=called)
            else:
                self._course.content(self._parts.monotonic())
                called = called or isinstance(event, ToolCallDelta)
                if isinstance(event, TextDelta) and self._chat.format is not None:
                    text.append(event.text)
            yield event

    async def _end(self, finish: Finish, text: str, attempt: "_Attempt", *, called: bool) -> Finish:
        said = await offloaded(self._call, lambda: words(leaf.text for leaf in leaves(self._told)))
        if was_cut(said, finish.usage.prompt_tokens, attempt.context):
            attempt.fitting.refused_at(attempt.context)
            if attempt.hold and attempt.fitting.larger(self._others(attempt.tried)):
                too_long = attempt.fitting.exceeded(attempt.context)
                raise AttemptFailed(too_long, elsewhere=True, usage=finish.usage)
            self._course.context_cut = True
            return Finish("length", finish.usage, finish.choice)
        if self._demanded and not called and finish.reason == "stop":
            idle = UpstreamFailed(
                "The model called no tool, which the request demands.", advice="Try again, or use a larger model."
            )
            raise AttemptFailed(idle, elsewhere=False, again=True, usage=finish.usage)
        wanted = self._chat.format if ENTRIES[self._call.endpoint].judged else None
        if wanted is not None and finish.reason == "stop" and not called:
            await check_text(text, wanted, self._chat.sampling, finish.usage)
        return finish


async def _next(events: AsyncGenerator[Event, None]) -> Event | None:
    """None at the end."""
    return await anext(events, None)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """At one answer, the `choice`th that the call asks for. `again`: the model got it wrong once. `tried`: the machines
    that were asked for it, this one too. `hold`: it is kept back until it is whole."""

    machine: Machine
    model: Model
    context: int
    fitting: Fitting
    choice: int
    again: bool
    tried: frozenset[str]
    hold: bool
