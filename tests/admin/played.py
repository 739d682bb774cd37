"""A real admin socket on a real database; only what a running daemon adds is played: certificates, machines, calls.

The fixtures are for the tests of the API and of the commands.
"""

import asyncio
import itertools
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from appliance.admin import wire
from appliance.admin.api import create_app
from appliance.admin.backups import Backups
from appliance.admin.backups import Parts as BackupParts
from appliance.admin.client import Client
from appliance.admin.events import Events, Pace
from appliance.admin.node_changes import Books
from appliance.admin.peers import AdminListener
from appliance.admin.policy_wire import ProviderCheck
from appliance.admin.pulls import Parts as PullParts
from appliance.admin.pulls import Pulls
from appliance.admin.service import Facts, Parts, Service
from appliance.calls.live_policy import LivePolicy, rules
from appliance.cluster.machine import Machine, Model
from appliance.errors import StorageUnavailable
from appliance.ids import Ids
from appliance.lanes.pulling import Progress
from appliance.metering.prices import Prices, Rate
from appliance.proofs import identity
from appliance.proofs.notary import Notary
from appliance.store.database import Database
from appliance.store.defaults import ensure_defaults
from appliance.store.providers import OpenProvider
from appliance.store.sealing import Sealer
from appliance.store.wiping import Wiper
from tests.admin.cluster import Cluster, cluster

NOW = datetime(2026, 11, 29, 18, 57, 3, 120_000, tzinfo=UTC)


@dataclass
class PlayedProofs:
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    rows: list[wire.Proof] = field(default_factory=list[wire.Proof])
    key_set: bytes = b'{"keys":[]}'

    def add(self, count: int) -> None:
        for index in range(len(self.rows), len(self.rows) + count):
            proof_id = f"prf_{index:026d}"
            self.files[proof_id] = b'{"payload":{"id":"' + proof_id.encode() + b'"}}'
            self.rows.append(
                wire.Proof(
                    id=proof_id,
                    index=index,
                    received="2026-11-29T18:57:03.120Z",
                    workspace="default",
                    model="pulse-auto",
                    provider="ollama",
                    answered_by="smollm2",
                    ending="complete",
                )
            )

    async def newest(self, *, limit: int, before: int | None) -> Sequence[wire.Proof]:
        below = [row for row in reversed(self.rows) if before is None or row.index < before]
        return below[:limit]

    async def show(self, proof_id: str) -> bytes | None:
        return self.files.get(proof_id)

    async def keys(self) -> bytes:
        return self.key_set


@dataclass
class PlayedMachines:
    machines: list[wire.Machine] = field(default_factory=list[wire.Machine])
    found: list[wire.ModelContext] = field(default_factory=list[wire.ModelContext])

    def snapshot(self) -> Sequence[wire.Machine]:
        return self.machines

    def contexts(self) -> Sequence[wire.ModelContext]:
        return self.found


@dataclass
class PlayedShield:
    """Finds the word "secret" and nothing else, once what it `waits` for has come."""

    mode: wire.ShieldMode = "standard"
    tested: list[str] = field(default_factory=list[str])
    waits: asyncio.Event | None = None

    def describe(self, *, chosen: bool) -> wire.Shield:
        return wire.Shield(self.mode, chosen, "standard", ("EMAIL", "PHONE"), "FR", names=2, ignored=1)

    async def test(self, text: str) -> wire.ShieldAnswer:
        self.tested.append(text)
        if self.waits is not None:
            await self.waits.wait()
        start = text.find("secret")
        if start < 0:
            return wire.ShieldAnswer(self.mode, text, ())
        found = wire.ShieldFinding(start, start + 6, "EMAIL", "[EMAIL_aaaaaaaa]", "a word", "my")
        return wire.ShieldAnswer(self.mode, text.replace("secret", "[EMAIL_aaaaaaaa]"), (found,))


@dataclass
class PlayedActivity:
    running: int = 0
    calls: list[wire.Call] = field(default_factory=list[wire.Call])

    def in_flight(self) -> int:
        return self.running

    async def last_calls(self, limit: int) -> Sequence[wire.Call]:
        return self.calls[:limit]


@dataclass
class PlayedChecker:
    """Answers what it is told to, and keeps what it was asked to try."""

    answer: ProviderCheck = field(default_factory=lambda: ProviderCheck(True))
    asked: list[OpenProvider] = field(default_factory=list[OpenProvider])

    async def check(self, provider: OpenProvider) -> ProviderCheck:
        self.asked.append(provider)
        return self.answer


@dataclass
class PlayedPuller:
    """Pulls as it is told by the model's name: progress is passed on, an error raised, and None is the end."""

    told: defaultdict[str, asyncio.Queue[Progress | Exception | None]] = field(
        default_factory=lambda: defaultdict[str, asyncio.Queue[Progress | Exception | None]](asyncio.Queue)
    )
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Machine and model of every pull that began."""
    left: int = 0
    """Pulls that were broken off."""
    over_the_end: Progress | Exception | None = None
    """What a pull that is broken off does before it ends, if anything."""
    looked_at: list[str] = field(default_factory=list[str])

    def say(self, model: str, *told: Progress | Exception | None) -> None:
        for one in told:
            self.told[model].put_nowait(one)

    async def pull(self, machine: Machine, name: str) -> AsyncGenerator[Progress, None]:
        self.asked.append((machine.name, name))
        try:
            while (one := await self.told[name].get()) is not None:
                if isinstance(one, Exception):
                    raise one
                yield one
        except (asyncio.CancelledError, GeneratorExit):
            self.left += 1
            if isinstance(self.over_the_end, Exception):
                raise self.over_the_end from None
            if self.over_the_end is None:
                raise
            yield self.over_the_end


@dataclass
class Daemon:
    """The parts of the test's daemon, and its socket once it listens."""

    parts: Parts
    proofs: PlayedProofs
    machines: PlayedMachines
    activity: PlayedActivity
    shield: PlayedShield
    checker: PlayedChecker
    puller: PlayedPuller
    cluster: Cluster
    books: Books
    socket: Path
    now: datetime = NOW
    default_model: str | None = "smollm2:latest"
    lane_problem: str | None = None
    changes: int = 0
    told: int = 0
    broken: bool = False

    events: Events = field(init=False)

    def __post_init__(self) -> None:
        self.events = Events(self.service.look, Pace(look=0.05, rest=0.01, alive=0.2))

    def facts(self) -> Facts:
        if self.broken:
            raise StorageUnavailable("The database cannot be read.", advice="Free disk space.")
        return Facts(
            version="0.1.0",
            started=NOW - timedelta(hours=3, minutes=12),
            app_mode="local",
            base_url="http://192.168.1.5:8787/v1",
            shield_mode="standard",
            active_provider="ollama",
            default_model=self.default_model,
            lane_problem=self.lane_problem,
        )

    def tell(self) -> None:
        self.told += 1
        self.events.changed()

    @property
    def service(self) -> Service:
        return Service(self.parts)


MACHINE = wire.Machine(
    id="url-abc",
    name="127.0.0.1:11434",
    url="http://127.0.0.1:11434",
    engine="ollama 0.32",
    trust="loopback",
    healthy=True,
    models=("smollm2:latest",),
)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await Database.open(tmp_path / "synapse.db")
    yield database
    await database.close()


@pytest.fixture
async def daemon(database: Database, tmp_path: Path) -> AsyncIterator[Daemon]:
    """Everything but the listener: the service's parts on a real database, after a first start."""
    numbers = itertools.count(1)
    ids = Ids(lambda size: next(numbers).to_bytes(size, "big"))
    await database.write(lambda conn: ensure_defaults(conn, NOW, ids))
    proofs, machines, activity = PlayedProofs(), PlayedMachines([MACHINE]), PlayedActivity()
    shield, checker, puller = PlayedShield(), PlayedChecker(), PlayedPuller()
    own_model = Model("smollm2:latest", "d", 1, frozenset({"completion"}), remote=False)
    machine = Machine("m", "m", "http://127.0.0.1:11434", "loopback", healthy=True, models=(own_model,))
    policy = LivePolicy(app_mode="local", shield_mode="standard", machines=lambda: (machine,))

    async def changed() -> None:
        daemon.changes += 1
        policy.set_rules(await database.read(rules))

    sealer = Sealer(bytes(32))
    who = await database.write(lambda conn: identity.load(conn, sealer, random=ids.random, now=NOW))
    books = Books(Notary(who), sealer)
    async with cluster(database, books, lambda: daemon.now, ids) as machinery:
        pulls = Pulls(
            PullParts(
                database=database,
                clock=lambda: daemon.now,
                ids=ids,
                nodes=lambda: machinery.nodes.list_all().nodes,
                machine=machinery.registry.get,
                pull=puller.pull,
                look_again=puller.looked_at.append,
            )
        )
        parts = Parts(
            database=database,
            wiper=Wiper(database),
            clock=lambda: daemon.now,
            ids=ids,
            proofs=proofs,
            machines=machines,
            activity=activity,
            shield=shield,
            facts=lambda: daemon.facts(),
            changed=changed,
            told=lambda: daemon.tell(),
            sealer=sealer,
            checker=checker,
            policy=policy,
            prices=Prices({("rack", "qwen3"): Rate(100_000, 200_000)}, lambda: daemon.now),
            nodes=machinery.nodes,
            backups=Backups(BackupParts(tmp_path, database, sealer, lambda: daemon.now, ids, "0.1.0")),
            pulls=pulls,
        )
        socket = tmp_path / "run" / "admin.sock"
        daemon = Daemon(parts, proofs, machines, activity, shield, checker, puller, machinery, books, socket)
        yield daemon
        await pulls.stop()


@pytest.fixture
async def listening(daemon: Daemon) -> AsyncIterator[Daemon]:
    """The daemon with its socket open."""
    listener = await AdminListener.open(daemon.socket, create_app(daemon.service, daemon.events))
    yield daemon
    daemon.events.close()
    await listener.close()


@pytest.fixture
async def client(listening: Daemon) -> AsyncIterator[Client]:
    async with Client(listening.socket) as client:
        yield client
