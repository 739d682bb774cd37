"""The part of the composition root that builds what machines need: connections, health, scheduling, admission, mDNS.

As `app`, which calls it: it builds parts and hands them to each other, and nothing else.
"""

import sqlite3
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace

import aiohttp

from appliance.admin.node_book import NodeBook
from appliance.admin.node_changes import Books
from appliance.admin.nodes import Nodes
from appliance.admin.nodes import Parts as NodesParts
from appliance.admin.pulls import Parts as PullParts
from appliance.admin.pulls import Pulls
from appliance.cluster.addresses import Inside, at_url, is_loopback, port_of
from appliance.cluster.announcing import Announcer, Service
from appliance.cluster.connections import open_session
from appliance.cluster.discovery import Discovery
from appliance.cluster.dispatch import Dispatch
from appliance.cluster.health import OllamaProber
from appliance.cluster.identity import Identity
from appliance.cluster.links import Links
from appliance.cluster.machine import Machine
from appliance.cluster.members import Members
from appliance.cluster.newcomers import Newcomers
from appliance.cluster.openai_health import OpenAIProber
from appliance.cluster.places import FindingProber, Places
from appliance.cluster.registry import Registry
from appliance.cluster.scheduler import Scheduler
from appliance.ids import Clock, Ids
from appliance.lanes.limits import Timeouts
from appliance.lanes.machines import MachineLane
from appliance.lanes.pulling import Puller
from appliance.settings import Settings
from appliance.store import cluster_secrets, nodes
from appliance.store.database import Database
from appliance.store.sealing import Sealer

GATEWAY_TYPE = "_synapse._tcp.local."
"""What the gateway announces itself as, so that tools and nodes find it (cluster.md)."""


SWITCHED_OFF = "the settings switch it off (discovery.enabled)"


@dataclass(frozen=True, slots=True)
class Machines:
    """What the rest of the daemon uses of them."""

    registry: Registry
    scheduler: Scheduler
    lane: MachineLane
    nodes: Nodes
    pulls: Pulls


@asynccontextmanager
async def running_machines(
    settings: Settings,
    environ: Mapping[str, str],
    *,
    database: Database,
    books: Books,
    clock: Clock,
    ids: Ids,
    timeouts: Timeouts,
    base_url: str,
    models: Callable[[], Mapping[str, str]],
) -> AsyncGenerator[Machines]:
    """All of it started, every machine asked once, and stopped again when the block is left. `models`: those that calls
    of the local lane ask for, by role.

    Raises:
        ConfigError: a machine's address in the settings makes no sense.
        StateError: the gateway's key does not open.
    """
    inside = Inside(settings.local.networks)
    listed = [_listed(url, environ, inside) for url in settings.local.ollama]
    identity = await database.write(lambda conn: _identity(conn, books.sealer))
    rows = await database.read(nodes.list_all)
    keys = {row.id: (row, nodes.key_of(row, books.sealer)) for row in rows}

    def sessions(tls: ssl.SSLContext | None) -> aiohttp.ClientSession:
        return open_session(tls=tls, inside=inside, connect_seconds=timeouts.connect)

    async with AsyncExitStack() as stack:
        links = Links(sessions)
        stack.push_async_callback(links.close)
        places = Places()
        registry = Registry(
            FindingProber({"ollama": OllamaProber(links), "openai-compatible": OpenAIProber(links)}, places)
        )
        stack.push_async_callback(registry.stop)
        queue = settings.queue
        scheduler = Scheduler(Dispatch(registry.snapshot, size=queue.size), wait=queue.wait)
        registry.listen(scheduler.machine_changed)
        book = NodeBook(database, books, clock, ids)
        members = Members(
            identity=identity, registry=registry, links=links, places=places, reached=book.reached, inside=inside
        )
        stack.push_async_callback(members.stop)
        await members.start(listed, keys)

        discovery = Discovery(interfaces=settings.discovery.interfaces, changed=lambda: newcomers.news())
        newcomers = Newcomers(
            identity=identity,
            members=members,
            heard=discovery,
            book=book,
            # One of its own: what a stranger says of a model is not to be remembered for those that are in use.
            prober=OllamaProber(links),
            monotonic=time.monotonic,
            inside=inside,
        )
        newcomers.start()
        stack.push_async_callback(newcomers.stop)
        if settings.discovery.enabled:
            await discovery.start()
            stack.push_async_callback(discovery.stop)
        if settings.discovery.enabled and not is_loopback(settings.gateway.host):
            announcer = Announcer(_service(identity, base_url), interfaces=settings.discovery.interfaces)
            await announcer.start()
            stack.push_async_callback(announcer.stop)
        decisions = Nodes(
            NodesParts(
                database=database,
                books=books,
                clock=clock,
                ids=ids,
                identity=identity,
                members=members,
                newcomers=newcomers,
                machines=registry.snapshot,
                models=models,
                load=scheduler,
                discovery_problem=lambda: discovery.problem if settings.discovery.enabled else SWITCHED_OFF,
                inside=inside,
            )
        )
        pulls = Pulls(
            PullParts(
                database=database,
                clock=clock,
                ids=ids,
                nodes=lambda: decisions.list_all().nodes,
                machine=registry.get,
                pull=Puller(links, connect_seconds=timeouts.connect).pull,
                look_again=registry.probe_soon,
            )
        )
        stack.push_async_callback(pulls.stop)
        yield Machines(registry, scheduler, MachineLane(links, timeouts), decisions, pulls)


def _listed(url: str, environ: Mapping[str, str], inside: Inside) -> Machine:
    """A machine of the settings. How many calls Ollama runs at once on this one its environment may say."""
    machine = at_url(url, inside=inside)
    parallel = environ.get("OLLAMA_NUM_PARALLEL", "")
    if machine.trust == "loopback" and parallel.isascii() and parallel.isdigit() and int(parallel[:4]):
        return replace(machine, slots=int(parallel[:4]), slots_set=True)
    return machine


def _identity(conn: sqlite3.Connection, sealer: Sealer) -> Identity:
    """What machines know this gateway by, made at the first start."""
    kept = cluster_secrets.identity(conn, sealer)
    if kept is not None:
        return Identity.from_bytes(*kept)
    made = Identity.create()
    cluster_secrets.put_identity(conn, sealer, made.certificate, made.key)
    return made


def _service(identity: Identity, base_url: str) -> Service:
    """What the gateway says of itself: where it is, and the id of its key, which is no secret."""
    properties = {"txtvers": "1", "proto": "1", "id": identity.id, "path": "/v1"}
    return Service(GATEWAY_TYPE, identity.instance, port_of(base_url), properties)
