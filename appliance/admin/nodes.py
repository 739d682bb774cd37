"""What the admin API does about machines and the cluster key: a part of `service`, on parts that are handed in.

A decision is written down first and takes effect after it.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Protocol, TypeVar

from appliance.admin import node_changes, node_places, node_view
from appliance.admin.changes import Change
from appliance.admin.node_changes import CLUSTER_KEY_DAYS, Books
from appliance.admin.node_wire import (
    Admission,
    ClusterKey,
    CurrentClusterKey,
    NewClusterKey,
    NewNode,
    Node,
    NodeList,
    RevokedClusterKey,
)
from appliance.admin.wire import InvalidInput
from appliance.cluster.addresses import PRIVATE, Inside
from appliance.cluster.cluster_key import SECRET_BYTES
from appliance.cluster.identity import Identity
from appliance.cluster.join_errors import Failure, JoinError
from appliance.cluster.machine import Machine
from appliance.cluster.members import Members
from appliance.cluster.newcomers import Newcomers
from appliance.cluster.words import last_two_match, matches
from appliance.errors import AdminError
from appliance.ids import Clock, Ids
from appliance.store import cluster_secrets, nodes
from appliance.store.cluster_secrets import ClusterKeyRow
from appliance.store.database import Database
from appliance.store.nodes import NodeRow
from appliance.times import parse_rfc3339, to_ms

T = TypeVar("T")

MAX_SLOTS = 1_024
MAX_USES = 1_000


class Load(Protocol):
    """What is in flight."""

    @property
    def waiting(self) -> int: ...

    def in_flight(self, machine_id: str) -> int: ...

    def resting(self, machine_id: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What this works on. `models`: those that calls of the local lane ask for, by role. `discovery_problem`: in a
    sentence, why no machines are heard; None while they are."""

    database: Database
    books: Books
    clock: Clock
    ids: Ids
    identity: Identity
    members: Members
    newcomers: Newcomers
    machines: Callable[[], Sequence[Machine]]
    models: Callable[[], Mapping[str, str]]
    load: Load
    discovery_problem: Callable[[], str | None]
    inside: Inside = PRIVATE


class Nodes:
    """Every operation on machines. Changes take `who` asks: a login name. Raises as `Service` does."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def list_all(self) -> NodeList:
        parts = self._parts
        return NodeList(
            nodes=tuple(self._shown()),
            gateway_id=parts.identity.id,
            gateway_words=node_view.words_of(parts.identity.id),
            waiting=parts.load.waiting,
            discovery=parts.discovery_problem(),
        )

    async def add(self, who: str, new: NewNode) -> Node:
        """Take in a machine by its address, or say something else of one; a node's own address makes it a candidate.

        Raises:
            InvalidInput: the address is none, or outside the building, or a value is not allowed.
            AdminError: there is one at this address already, or nobody answers there.
        """
        if new.slots is not None and not 1 <= new.slots <= MAX_SLOTS:
            raise InvalidInput(f"slots is {new.slots}.", advice=f"It must be from 1 to {MAX_SLOTS}.")
        if node_places.is_node(new.url):
            return self._node(await self._look_at(await node_places.of_node(new, self._parts.inside)))
        sealer = self._parts.books.sealer
        row, _ = await node_places.open_row(new, sealer, self._parts.inside)
        self._check_place(row)
        known = self._parts.members.get(row.id)
        if known is not None and known.in_use and known.kind == row.kind:  # what is not given is kept
            row = replace(
                row,
                name=row.name if new.name else known.name,
                sealed=row.sealed or known.sealed,
                ca=row.ca or known.ca,
                slots=row.slots or known.slots,
            )
        return await self._admit(who, row, nodes.key_of(row, sealer))

    async def admit(self, who: str, admission: Admission) -> Node:
        """Let a candidate in. A node is asked first, and pins this gateway.

        Raises:
            InvalidInput: the words are not those of its key.
            AdminError, JoinError: it is no candidate, it refuses, or another answers in its place.
        """
        shown = self._find(admission.node)
        if shown.state in ("admitted", "active", "unhealthy", "draining"):
            raise AdminError(f"{node_view.called(shown)} is in use already.", advice="synapse node list shows it.")
        typed = admission.words or ""
        if shown.words and not (matches(shown.id, typed) or last_two_match(shown.id, typed)):
            raise InvalidInput(
                "These are not the words of its key." if typed else "Its words are needed.",
                advice="Read them off that machine: `synapse node serve` shows eight.",
            )
        row = await self._parts.newcomers.ask(shown.id)
        if row is None:
            raise AdminError(
                f"{node_view.called(shown)} is not heard now.",
                advice="See that `synapse node serve` runs there, or name its address: synapse node add"
                f" {node_places.NODE_SCHEME}ADDRESS.",
            )
        return await self._admit(who, row, None)

    async def reject(self, who: str, node: str) -> Node:
        """Do not show a candidate any more."""
        shown = self._find(node)
        if shown.state not in ("candidate", "changed"):
            raise AdminError(
                f"{node_view.called(shown)} is no candidate.", advice="synapse node remove puts a machine out."
            )
        row = node_view.rejected(shown)
        await self._decide(who, lambda conn, change: node_changes.reject(conn, change, row))
        return self._node(row.id)

    async def drain(self, who: str, node: str, *, on: bool) -> Node:
        """Give a machine no more calls, or calls again; its running calls go on."""
        shown = self._find(node)
        self._check_ours(shown)
        await self._decide(who, lambda conn, change: node_changes.drain(conn, change, shown.id, on=on))
        return self._node(shown.id)

    async def remove(self, who: str, node: str) -> Node:
        """Put a machine out, at once: its connections are closed. One that was put out before stays so; of one that was
        rejected nothing is known any more. Returns it as it was."""
        shown = self._find(node)
        self._check_ours(shown)
        if shown.state in ("candidate", "changed"):
            raise AdminError(
                f"{node_view.called(shown)} is only a candidate.", advice="synapse node reject hides it for good."
            )
        parts = self._parts
        after = await self._change(who, lambda conn, change: node_changes.remove(conn, change, parts.books, shown.id))
        if after is None:
            await parts.members.forget(shown.id)
        else:
            await parts.members.take(after)
        return shown

    async def cluster_key(self) -> CurrentClusterKey:
        """The key that was made last, in force or not."""
        sealer = self._parts.books.sealer
        row = await self._parts.database.read(lambda conn: cluster_secrets.cluster_key(conn, sealer))
        identity, now = self._parts.identity, self._parts.clock()
        return CurrentClusterKey(None if row is None else node_view.cluster_key(row, identity.id, now))

    async def new_cluster_key(self, who: str, new: NewClusterKey) -> ClusterKey:
        """Make a cluster key in the place of the one before. Raises InvalidInput: a time or a number is none."""
        parts, now = self._parts, self._parts.clock()
        if new.uses is not None and not 1 <= new.uses <= MAX_USES:
            raise InvalidInput(f"uses is {new.uses}.", advice=f"It must be from 1 to {MAX_USES}.")
        expires = None
        if new.expires is not None:
            try:
                expires = parse_rfc3339(new.expires)
            except (ValueError, OverflowError) as error:
                raise InvalidInput("expires must be a time of RFC 3339, such as 2027-01-31T00:00:00Z.") from error
            if expires <= now:
                raise InvalidInput("The key would have expired already.", advice="Give a time to come.")
        elif new.uses is None:
            expires = now + timedelta(days=CLUSTER_KEY_DAYS)
        row = ClusterKeyRow(
            parts.ids.random(SECRET_BYTES), to_ms(now), None if expires is None else to_ms(expires), new.uses
        )
        await self._change(
            who, lambda conn, change: node_changes.new_cluster_key(conn, change, parts.books.sealer, row)
        )
        return node_view.cluster_key(row, parts.identity.id, now)

    async def revoke_cluster_key(self, who: str) -> RevokedClusterKey:
        sealer = self._parts.books.sealer
        return RevokedClusterKey(
            await self._change(who, lambda conn, change: node_changes.revoke_cluster_key(conn, change, sealer))
        )

    def _shown(self) -> list[Node]:
        parts = self._parts
        machines = {machine.id: machine for machine in parts.machines()}
        # The settings alone decide about what they name, whatever was decided before they did.
        rows = {row.id: row for row in parts.members.rows() if not parts.members.is_listed(row.id)}
        shown = [self._machine(machine, rows.get(machine.id)) for machine in machines.values()]
        shown += [node_view.decided(row) for row in rows.values() if row.id not in machines]
        return shown + [node_view.newcomer(one) for one in parts.newcomers.all()]

    def _machine(self, machine: Machine, row: NodeRow | None) -> Node:
        load, models = self._parts.load, self._parts.models()
        in_flight, resting = load.in_flight(machine.id), load.resting(machine.id)
        return node_view.machine(machine, row, models, in_flight=in_flight, resting=resting)

    def _find(self, named: str) -> Node:
        return node_view.find(self._shown(), named)

    def _node(self, node_id: str) -> Node:
        return node_view.find(self._shown(), node_id)

    async def _look_at(self, place: node_places.NodePlace) -> str:
        """The id of the node at the first of its addresses where one answers. Raises JoinError."""
        failure = JoinError(Failure.UNREACHABLE)
        for address in place.addresses:
            try:
                return await self._parts.newcomers.look_at(address, place.join_port, place.data_port)
            except JoinError as error:
                failure = error
        raise failure

    def _check_place(self, row: NodeRow) -> None:
        """One machine by two names would be taken for two, and get twice the calls."""
        for machine in self._parts.machines():
            if not node_places.same(machine.url, row.url):
                continue
            if self._parts.members.is_listed(machine.id):
                raise AdminError(
                    f"{row.url} is in the settings already (local.ollama).", advice="synapse node list shows how it is."
                )
            if machine.id != row.id:
                raise AdminError(
                    f"{machine.name} is at this address already, as {machine.url}.",
                    advice="synapse node list shows it, synapse node remove puts it out.",
                )

    def _check_ours(self, shown: Node) -> None:
        if shown.listed:
            raise AdminError(
                f"{node_view.called(shown)} is named in the settings, which alone decide about it.",
                advice="Take it out of local.ollama and restart the daemon.",
            )

    async def _admit(self, who: str, row: NodeRow, key: str | None) -> Node:
        books = self._parts.books
        admitted = await self._change(who, lambda conn, change: node_changes.admit(conn, change, books, row))
        await self._parts.members.take(admitted, key)
        return self._node(row.id)

    async def _decide(self, who: str, job: Callable[[sqlite3.Connection, Change], NodeRow]) -> None:
        await self._parts.members.take(await self._change(who, job))

    async def _change(self, who: str, job: Callable[[sqlite3.Connection, Change], T]) -> T:
        change = Change(who, self._parts.clock(), self._parts.ids)
        return await self._parts.database.write(lambda conn: job(conn, change))
