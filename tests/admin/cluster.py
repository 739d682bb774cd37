"""The cluster's real parts for tests of the admin API: only what is heard, and how machines are, is played."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from appliance.admin.node_book import NodeBook
from appliance.admin.node_changes import Books
from appliance.admin.nodes import Nodes, Parts
from appliance.cluster.addresses import at_url
from appliance.cluster.connections import open_session
from appliance.cluster.dispatch import Dispatch
from appliance.cluster.identity import Identity
from appliance.cluster.links import Links
from appliance.cluster.machine import Machine, Model
from appliance.cluster.members import Members
from appliance.cluster.newcomers import Newcomers
from appliance.cluster.places import FindingProber, Places
from appliance.cluster.registry import Registry
from appliance.cluster.scheduler import Scheduler
from appliance.cluster.sightings import Sighting
from appliance.ids import Clock, Ids
from appliance.store import nodes
from appliance.store.database import Database

LISTED = at_url("http://127.0.0.1:11434")
"""The one machine of the settings."""

MODEL = Model("smollm2:latest", "d", 134_520_000, frozenset({"completion"}), remote=False)


@dataclass
class Heard:
    sightings: tuple[Sighting, ...] = ()
    kept: Collection[str] = ()

    def snapshot(self) -> tuple[Sighting, ...]:
        return self.sightings

    def keep(self, keys: Collection[str]) -> None:
        self.kept = keys


@dataclass
class Health:
    """Finds every machine well but those that `ill` names, with the reason."""

    ill: dict[str, str] = field(default_factory=dict[str, str])

    async def probe(self, machine: Machine) -> Machine:
        if machine.id in self.ill:
            return machine.failed(self.ill[machine.id])
        return replace(machine, engine="ollama/0.32.15", healthy=True, why="", models=(MODEL,))


@dataclass
class Cluster:
    nodes: Nodes
    identity: Identity
    heard: Heard
    health: Health
    registry: Registry
    members: Members
    newcomers: Newcomers
    scheduler: Scheduler
    links: Links
    problem: str | None = None


@asynccontextmanager
async def cluster(database: Database, books: Books, clock: Clock, ids: Ids) -> AsyncIterator[Cluster]:
    """Started with what the database holds. Candidates are looked at on `newcomers.news()`, and every second."""
    identity, heard, health, places = Identity.create(), Heard(), Health(), Places()
    links = Links(lambda tls: open_session(tls=tls))
    registry = Registry(FindingProber({"ollama": health, "openai-compatible": health}, places), interval=3600)
    scheduler = Scheduler(Dispatch(registry.snapshot), wait=30)
    registry.listen(scheduler.machine_changed)
    book = NodeBook(database, books, clock, ids)
    members = Members(identity=identity, registry=registry, links=links, places=places, reached=book.reached)
    now = 0.0

    def monotonic() -> float:
        """Every look is long after the one before, so that candidates are asked without waiting."""
        nonlocal now
        now += 100.0
        return now

    newcomers = Newcomers(
        identity=identity, members=members, heard=heard, book=book, prober=health, monotonic=monotonic
    )
    made = Cluster(
        nodes=Nodes(
            Parts(
                database=database,
                books=books,
                clock=clock,
                ids=ids,
                identity=identity,
                members=members,
                newcomers=newcomers,
                machines=registry.snapshot,
                models=lambda: {"full": "smollm2"},
                load=scheduler,
                discovery_problem=lambda: made.problem,
            )
        ),
        identity=identity,
        heard=heard,
        health=health,
        registry=registry,
        members=members,
        newcomers=newcomers,
        scheduler=scheduler,
        links=links,
    )
    rows = await database.read(nodes.list_all)
    await members.start([LISTED], {row.id: (row, nodes.key_of(row, books.sealer)) for row in rows})
    newcomers.start()
    try:
        yield made
    finally:
        await newcomers.stop()
        await members.stop()
        await registry.stop()
        await links.close()
