"""What the admin API does about pulls: models that machines fetch, in the background and whoever watches. A part of
`service`, on parts that are handed in.

A pull ends with the daemon, and what is known of one is kept in memory only: what was asked for is in the audit table.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from appliance.admin import node_view
from appliance.admin.changes import Change, clean_model
from appliance.admin.looks import printable
from appliance.admin.node_wire import Node, NodeState
from appliance.admin.pull_wire import NewPull, Pull, PullList, PullState
from appliance.admin.wire import UnknownSubject
from appliance.cluster.machine import Machine, canonical
from appliance.errors import AdminError
from appliance.ids import Clock, Ids
from appliance.lanes.pulling import Progress, PullFailed
from appliance.store.database import Database
from appliance.tasks import Tasks
from appliance.times import rfc3339

KEPT = 10
"""Pulls that have ended and are still shown."""

STATUS_CHARACTERS = 80
"""Of what a machine says that it does: Ollama's own words have some twenty."""

PROBLEM_CHARACTERS = 600

IN_USE: frozenset[NodeState] = frozenset({"admitted", "active", "unhealthy", "draining"})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """`nodes`: every machine and candidate. `pull` raises PullFailed; `look_again` asks a machine how it is at once."""

    database: Database
    clock: Clock
    ids: Ids
    nodes: Callable[[], Sequence[Node]]
    machine: Callable[[str], Machine | None]
    pull: Callable[[Machine, str], AsyncGenerator[Progress, None]]
    look_again: Callable[[str], None]


class Pulls:
    """A machine fetches one model at a time, as one fills its line and its disk; another is refused until then."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._pulls: dict[str, Pull] = {}
        self._ended: deque[str] = deque()
        self._work: dict[str, asyncio.Task[None]] = {}
        self._tasks = Tasks()
        self._starting = asyncio.Lock()

    def list_all(self) -> PullList:
        return PullList(tuple(reversed(self._pulls.values())))

    async def start(self, who: str, new: NewPull) -> Pull:
        """Let a machine fetch a model. Where it does so already, that is what is answered.

        Raises:
            InvalidInput: the name is no model's, or several machines are meant.
            UnknownSubject: there is no such machine.
            AdminError: the machine cannot, or fetches another model now.
        """
        name = clean_model(new.name)
        async with self._starting:  # so that two at once do not both find the machine free
            node = self._meant(new.node)
            running = self._running_on(node)
            if running is not None and canonical(running.name) == canonical(name):
                return running
            machine = self._usable(node)
            if running is not None:
                raise AdminError(
                    f"{node_view.called(node)} is pulling {running.name} now, and pulls one model at a time.",
                    advice=f"Wait for its end, or cancel it: synapse model pull {running.name} --cancel",
                )
            await self._record(who, "model.pull", name, before=None, after=_where(machine))
            pull_id, started = self._parts.ids.new("pull"), rfc3339(self._parts.clock())
            pull = Pull(pull_id, name, machine.name, machine.id, "running", "", 0, 0, started, None)
            self._pulls[pull_id] = pull
            self._work[pull_id] = self._tasks.spawn(f"pull-{pull_id}", self._run(pull, machine))
            return pull

    async def cancel(self, who: str, pull_id: str) -> Pull:
        """End a pull; the machine stops fetching. Raises UnknownSubject, and AdminError where it has ended already."""
        pull = self._pulls.get(pull_id)
        if pull is None:
            raise UnknownSubject(f'There is no pull "{pull_id}".', advice="synapse model list shows those that run.")
        if pull.state != "running":
            raise AdminError(f"The pull of {pull.name} has ended already.", advice="Nothing is left to be done.")
        where = {"node": pull.node, "node_id": pull.node_id}
        await self._record(who, "model.pull-cancel", pull.name, before=where, after=None)
        work = self._work.get(pull_id)
        if work is None:  # it has ended meanwhile
            return self._pulls.get(pull_id, pull)
        ended = self._end(pull_id, "cancelled")
        work.cancel()
        await asyncio.wait({work})
        return ended

    async def stop(self) -> None:
        """The daemon ends, and all that run with it."""
        await self._tasks.cancel()

    async def _run(self, pull: Pull, machine: Machine) -> None:
        try:
            async with aclosing(self._parts.pull(machine, pull.name)) as told:
                async for progress in told:
                    self._say(pull.id, progress)
        except PullFailed as failed:
            self._came_to(pull.id, "failed", failed.message, failed.advice)
        except Exception:
            self._came_to(pull.id, "failed", "The daemon failed over it.", "Its log says where.")
            raise
        else:
            self._came_to(pull.id, "done")
            self._parts.look_again(machine.id)

    def _say(self, pull_id: str, progress: Progress) -> None:
        if pull_id not in self._work:
            return
        status = printable(progress.status[:STATUS_CHARACTERS])[:STATUS_CHARACTERS]
        self._pulls[pull_id] = replace(
            self._pulls[pull_id], status=status, completed=progress.completed, total=progress.total
        )

    def _came_to(self, pull_id: str, state: PullState, problem: str = "", advice: str = "") -> None:
        """Its end, unless it was cancelled: that stands, whatever becomes of a pull that is being broken off."""
        if pull_id in self._work:
            self._end(pull_id, state, problem, advice)

    def _end(self, pull_id: str, state: PullState, problem: str = "", advice: str = "") -> Pull:
        del self._work[pull_id]
        ended = self._pulls[pull_id] = replace(
            self._pulls[pull_id],
            state=state,
            ended=rfc3339(self._parts.clock()),
            problem=printable(problem)[:PROBLEM_CHARACTERS],
            advice=advice,
        )
        _log.info("the pull of %s on machine %s is %s", ended.name, ended.node, state)
        self._ended.append(pull_id)
        if len(self._ended) > KEPT:
            del self._pulls[self._ended.popleft()]
        return ended

    def _running_on(self, node: Node) -> Pull | None:
        return next((self._pulls[one] for one in self._work if self._pulls[one].node_id == node.id), None)

    def _meant(self, named: str | None) -> Node:
        nodes = self._parts.nodes()
        if named is not None:
            return node_view.find(nodes, named)
        found = [node for node in nodes if node.state in IN_USE and node.kind == "ollama"]
        if not found:
            raise AdminError(
                "No machine that runs Ollama is in use.",
                advice="Start `synapse node serve` on one, or name its address: synapse node add URL.",
            )
        if len(found) > 1:
            names = [node.name for node in found]
            told = [node.name if names.count(node.name) == 1 else node_view.shown_id(node) for node in found]
            raise AdminError(f"{len(found)} machines run Ollama: {', '.join(told)}.", advice="Say which: --node NAME.")
        return found[0]

    def _usable(self, node: Node) -> Machine:
        """Raises AdminError where it cannot fetch a model."""
        called = node_view.called(node)
        machine = self._parts.machine(node.id)
        if node.state not in IN_USE or machine is None:
            raise AdminError(
                f"{called} is not in use.", advice=f"synapse node admit {node_view.shown_id(node)} lets it in."
            )
        if node.kind != "ollama":
            raise AdminError(
                f"{called} does not run Ollama, and cannot be told to fetch a model.",
                advice="Its models are chosen where its server is started. Name a machine with Ollama: --node NAME.",
            )
        if not machine.healthy:
            raise AdminError(
                f"{called} cannot pull now: {machine.why}.", advice="synapse node list says how each machine is."
            )
        return machine

    async def _record(self, who: str, action: str, name: str, *, before: object, after: object) -> None:
        change = Change(who, self._parts.clock(), self._parts.ids)
        await self._parts.database.write(lambda conn: change.record(conn, action, name, before, after))


def _where(machine: Machine) -> dict[str, str]:
    return {"node": machine.name, "node_id": machine.id}
