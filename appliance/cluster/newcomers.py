"""Machines that are heard and were not decided about: asked who they are, and let in where a cluster key is in force.

A candidate is a hint until its own key has proven it. Decides nothing but what the cluster key decides; an
administrator's decision begins with `ask` and is written down elsewhere.
"""

import asyncio
import logging
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Literal, Protocol

from appliance.cluster.addresses import PRIVATE, Inside, at_url, id_at
from appliance.cluster.health import Prober
from appliance.cluster.identity import Identity
from appliance.cluster.join import DEADLINE_SECONDS
from appliance.cluster.join_errors import Failure, JoinError
from appliance.cluster.join_gateway import Joined, join, peek
from appliance.cluster.join_messages import Way
from appliance.cluster.members import Members
from appliance.cluster.places import url_at
from appliance.cluster.sightings import Candidate, Candidates, Sighting
from appliance.errors import SynapseError
from appliance.store.nodes import NodeRow
from appliance.tasks import Tasks

_log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How often it is looked whose turn it is to be asked again."""

PEEK_SECONDS = 4.0
"""For a handshake on the network of one building."""

REFUSED_SECONDS = 60.0
"""Until a node that has refused is asked to join again: it takes ten attempts a minute, of whom ever they are."""

ASK_SECONDS = 25.0
"""For a join at all of its addresses, while an administrator waits."""

MAX_TYPED = 64
"""Nodes whose address was typed, and which are remembered as long as nothing was decided about them."""

JOIN_SECONDS = DEADLINE_SECONDS
"""For a whole join at one address."""

_NOT_SHOWN = (Failure.OTHER_MACHINE, Failure.UNREACHABLE, Failure.TIMEOUT, Failure.BUSY, Failure.BAD_MESSAGE)
"""Failures that can come before a machine has shown the key of its id: they are of the address, and prove nothing."""


class Heard(Protocol):
    """What is announced on the network."""

    def snapshot(self) -> tuple[Sighting, ...]: ...

    def keep(self, keys: Collection[str]) -> None:
        """These are not to be pushed out by a flood of others."""
        ...


class Book(Protocol):
    """What is kept of decisions."""

    async def secret(self) -> bytes | None:
        """Of the cluster key in force; None without one."""
        ...

    async def key_problem(self) -> str:
        """In a sentence, why no key is in force although there is one; "" without one."""
        ...

    async def joined(self, row: NodeRow) -> NodeRow:
        """Write down that a machine was let in by the cluster key. Raises SynapseError where it may not be."""
        ...


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A candidate. `place` is where it is heard; `why`: what to know about it, "" for nothing. A node that was proven
    has shown the key of its id, a plain Ollama, which has none, has answered."""

    id: str
    kind: Literal["node", "ollama"]
    state: Literal["candidate", "changed"]
    place: str
    proven: bool
    why: str


class Newcomers:
    """`prober` asks a plain Ollama whether it is one."""

    def __init__(
        self,
        *,
        identity: Identity,
        members: Members,
        heard: Heard,
        book: Book,
        prober: Prober,
        monotonic: Callable[[], float],
        inside: Inside = PRIVATE,
    ) -> None:
        self._identity = identity
        self._members = members
        self._heard = heard
        self._book = book
        self._prober = prober
        self._monotonic = monotonic
        self._inside = inside
        self._candidates = Candidates()
        self._typed: dict[str, Sighting] = {}
        self._why: dict[str, str] = {}
        self._changed: set[str] = set()
        self._refused: dict[str, float] = {}
        self._joining: set[str] = set()
        self._wake = asyncio.Event()
        self._tasks = Tasks()

    def start(self) -> None:
        self._tasks.spawn("newcomers", self._watch())

    async def stop(self) -> None:
        await self._tasks.cancel()

    def news(self) -> None:
        """What is heard has changed."""
        self._wake.set()

    def all(self) -> tuple[Newcomer, ...]:
        """Those that may be decided about, the longest heard first."""
        heard = self._candidates.all()
        known = {one.key for one in heard}
        # Typing an address is always possible, however many others are heard.
        typed = [Candidate(key, (sighting,), proven=True) for key, sighting in self._typed.items() if key not in known]
        return tuple(self._newcomer(one) for one in (*heard, *typed) if not self._decided(one.sightings[0]))

    async def look_at(self, address: str, join_port: int, data_port: int) -> str:
        """Ask the node at a typed address who it is, which makes it a candidate; its id. Raises JoinError."""
        node_id = await peek(address, join_port, PEEK_SECONDS)
        sighting = Sighting("node", f"syn-{node_id[:16]}", node_id, (address,), data_port, join_port, False, "")
        while len(self._typed) >= MAX_TYPED:
            del self._typed[next(iter(self._typed))]
        self._typed[node_id] = sighting
        self._look()
        self._candidates.prove(node_id)
        if all(one.key != node_id for one in self._candidates.all()) and not self._decided(sighting):
            self._tasks.spawn("candidate", self._meet(Candidate(node_id, (sighting,), proven=True)))
        return node_id

    async def ask(self, machine_id: str) -> NodeRow | None:
        """What is to be kept of a candidate that an administrator lets in; a node has pinned this gateway then. None
        where nothing of that id is heard.

        Raises:
            JoinError: the node refuses, or another machine answers in its place.
        """
        sightings = [one for one in self._sightings() if _machine_id(one) == machine_id]
        if not sightings:
            return None
        if sightings[0].kind == "ollama":
            return self._open_row(sightings[0])
        try:
            async with asyncio.timeout(ASK_SECONDS):
                joined, address = await self._join(sightings, "words", None)
        except TimeoutError:
            raise JoinError(Failure.TIMEOUT) from None
        return _pinned_row(joined, address)

    async def _watch(self) -> None:
        while True:
            self._look()
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                continue
            self._wake.clear()

    def _look(self) -> None:
        """Take note of what is heard, and begin to ask those whose turn it is."""
        nodes: dict[str, list[str]] = {}
        unknown: list[Sighting] = []
        for one in self._sightings():
            if one.id:
                nodes.setdefault(one.id, []).extend(url_at(address, one.port) for address in one.addresses)
            if not self._decided(one):
                unknown.append(one)
        used = [row.id for row in self._members.rows() if row.in_use and row.trust == "pinned"]
        for node_id in used:
            self._members.heard_at(node_id, nodes.get(node_id, ()))
        self._heard.keep(used)
        self._candidates.hear(unknown)
        for gone in self._why.keys() - self._typed.keys() - {one.key for one in self._candidates.all()}:
            del self._why[gone]
            self._changed.discard(gone)
            self._refused.pop(gone, None)
        for candidate in self._candidates.due(self._monotonic()):
            if candidate.key not in self._joining:
                self._tasks.spawn("candidate", self._meet(candidate))

    def _sightings(self) -> tuple[Sighting, ...]:
        """With the addresses that are inside the building; without those that have none."""
        heard = (*self._heard.snapshot(), *self._typed.values())
        local = (
            replace(one, addresses=tuple(each for each in one.addresses if self._inside.holds(ip_address(each))))
            for one in heard
        )
        return tuple(one for one in local if one.addresses)

    def _decided(self, sighting: Sighting) -> bool:
        machine_id = _machine_id(sighting)
        return self._members.get(machine_id) is not None or self._members.is_listed(machine_id)

    async def _meet(self, candidate: Candidate) -> None:
        self._joining.add(candidate.key)
        try:
            if candidate.sightings[0].kind == "ollama":
                await self._greet(candidate)
            else:
                await self._recognise(candidate)
        finally:
            self._joining.discard(candidate.key)

    async def _greet(self, candidate: Candidate) -> None:
        found = await self._prober.probe(at_url(_url(candidate.sightings[0]), inside=self._inside))
        if found.healthy:
            self._candidates.prove(candidate.key)
        self._note(candidate.key, found.why)

    async def _recognise(self, candidate: Candidate) -> None:
        """Find out whether a node is who it says, and let it in if the cluster key does."""
        secret = await self._book.secret()
        refused = self._refused.get(candidate.key)
        resting = refused is not None and self._monotonic() - refused < REFUSED_SECONDS
        try:
            if secret is None or candidate.key in self._changed or resting:
                why = self._why.get(candidate.key, "") if resting else await self._book.key_problem()
                await self._peek(candidate, why)
                return
            joined, address = await self._join(candidate.sightings, "key", secret)
        except JoinError as error:
            if error.failure not in _NOT_SHOWN:
                self._candidates.prove(candidate.key)  # it has shown its key, and then refused
                self._refused[candidate.key] = self._monotonic()
            if candidate.key not in self._changed:  # what was told of that counts for more
                self._note(candidate.key, str(error))
            return
        self._candidates.prove(candidate.key)
        await self._let_in(joined, address)

    async def _peek(self, candidate: Candidate, why: str) -> None:
        """`why` is to be known of it if it is who it says. Raises JoinError where it answers nowhere, or is another."""
        failures: list[Failure] = []
        for sighting in candidate.sightings:
            for address in sighting.addresses:
                try:
                    found = await peek(address, sighting.join_port, PEEK_SECONDS)
                except JoinError as error:
                    failures.append(error.failure)
                    continue
                if found == candidate.key:
                    self._candidates.prove(candidate.key)
                    if candidate.key not in self._changed:
                        self._note(candidate.key, why)
                    return
                failures.append(Failure.OTHER_MACHINE)
        raise JoinError(_worst(failures))

    async def _join(self, sightings: Iterable[Sighting], way: Way, secret: bytes | None) -> tuple[Joined, str]:
        """Join a node at the first of its addresses where it answers as itself."""
        failures: list[Failure] = []
        for sighting in sightings:
            for address in sighting.addresses:
                try:
                    joined = await join(
                        address,
                        sighting.join_port,
                        gateway=self._identity,
                        expected_id=sighting.id,
                        way=way,
                        secret=secret,
                        timeout=JOIN_SECONDS,
                    )
                except JoinError as error:
                    if error.failure not in _NOT_SHOWN:
                        raise
                    failures.append(error.failure)
                    continue
                return joined, address
        raise JoinError(_worst(failures))

    async def _let_in(self, joined: Joined, address: str) -> None:
        """A node has proven that it knows the cluster key."""
        namesake = await self._missing_namesake(joined)
        if namesake is not None:
            self._changed.add(joined.id)
            self._note(
                joined.id,
                f"It has the name of {namesake.name} ({namesake.id[:8]}…), which does not answer, and another key. If"
                " that machine was set up anew, remove it and admit this one; if not, somebody poses as it.",
            )
            return
        try:
            row = await self._book.joined(_pinned_row(joined, address))
        except SynapseError as error:
            self._note(joined.id, str(error))
            return
        _log.info("machine %s joined by the cluster key", row.name)
        await self._members.take(row)

    async def _missing_namesake(self, joined: Joined) -> NodeRow | None:
        """A machine of the same name that does not show its own key now: then this one may be that, set up anew, or
        somebody who waited for it to be gone. Two that both answer are two machines."""
        name = unicodedata.normalize("NFC", joined.name)  # as names are kept, so that what looks the same is the same
        for row in self._members.rows():
            same = row.in_use and row.trust == "pinned" and row.name == name and row.id != joined.id
            if same and not await self._members.is_alive(row):
                return row
        return None

    def _open_row(self, sighting: Sighting) -> NodeRow:
        machine = at_url(_url(sighting), inside=self._inside)
        return NodeRow(machine.id, machine.name, "open", "ollama", machine.url, "administrator", "admitted", 0)

    def _note(self, key: str, why: str) -> None:
        if self._why.get(key, "") != why:
            _log.info("candidate %s: %s", key[:20], why or "it is who it says")
        self._why[key] = why

    def _newcomer(self, candidate: Candidate) -> Newcomer:
        first = candidate.sightings[0]
        return Newcomer(
            id=_machine_id(first),
            kind=first.kind,
            state="changed" if candidate.key in self._changed else "candidate",
            place=_url(first),
            proven=candidate.proven,
            why=self._why.get(candidate.key, ""),
        )


def _worst(failures: Sequence[Failure]) -> Failure:
    """Of those at several addresses, what is to be told: that another answers in its place, before that nobody does."""
    answered = [one for one in failures if one is not Failure.UNREACHABLE]
    return Failure.OTHER_MACHINE if Failure.OTHER_MACHINE in failures else (*answered, Failure.UNREACHABLE)[0]


def _machine_id(sighting: Sighting) -> str:
    """What it is called once it is a machine."""
    return sighting.id or id_at(_url(sighting))


def _url(sighting: Sighting) -> str:
    url = url_at(sighting.addresses[0], sighting.port)
    return url if sighting.kind == "node" else url.replace("https:", "http:", 1)


def _pinned_row(joined: Joined, address: str) -> NodeRow:
    return NodeRow(
        id=joined.id,
        name=joined.name,
        trust="pinned",
        kind="ollama",
        url=url_at(address, joined.port),
        way=joined.way,
        state="admitted",
        changed_ms=0,
        certificate=joined.certificate,
        slots=joined.slots,
    )
