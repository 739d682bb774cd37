"""The composition root: the only place that builds the daemon's parts and hands them to each other."""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version as installed_version

from starlette.types import ASGIApp

from appliance import DISTRIBUTION
from appliance.admin import api
from appliance.admin.backups import Backups
from appliance.admin.backups import Parts as BackupParts
from appliance.admin.events import Events
from appliance.admin.node_changes import Books
from appliance.admin.provider_checker import ProviderChecker
from appliance.admin.service import Facts, Service
from appliance.admin.service import Parts as AdminParts
from appliance.admin.shield_view import ShieldView
from appliance.admin.views import ActivityView, MachineView, ProofView
from appliance.app_machines import running_machines
from appliance.calls.backlog import Backlog
from appliance.calls.external import Endpoints, ExternalLanes, opened_endpoints
from appliance.calls.extracting import Extractor
from appliance.calls.live_policy import LivePolicy, rules
from appliance.calls.live_shield import LiveShield
from appliance.calls.local import LocalLane
from appliance.calls.pipeline import Parts, Pipeline
from appliance.calls.policy import LOCAL_PROVIDER, Policy, active_provider, full_model
from appliance.calls.recovery import close_open_calls
from appliance.calls.signed_thoughts import SignedThoughts
from appliance.cluster.contexts import Contexts
from appliance.cluster.machine import Machine
from appliance.cluster.registry import Registry
from appliance.gateway import routes
from appliance.gateway.auth import Authenticator
from appliance.gateway.calling import Calling, Desk
from appliance.gateway.chat_completions import OpenAIDoor
from appliance.gateway.complete import NativeDoor
from appliance.gateway.drain import Drain
from appliance.gateway.extracted_data import ExtractedData
from appliance.gateway.health import Health
from appliance.gateway.messages import AnthropicDoor, CountTokens
from appliance.gateway.metrics import MetricsPage
from appliance.gateway.models import Models
from appliance.gateway.proofs import Proofs
from appliance.gateway.room import ROOM_BYTES, Room
from appliance.ids import Clock, Ids
from appliance.lanes import external_connections
from appliance.lanes.external import ExternalLane
from appliance.lanes.limits import Timeouts
from appliance.metering.budgets import Account, Budgets
from appliance.metering.metrics import Metrics, Now
from appliance.metering.months import Month
from appliance.metering.prices import Prices, Rate
from appliance.metering.questions import Rates
from appliance.metering.rate_limits import RateLimits
from appliance.metering.stalls import Stalls
from appliance.proofs import identity
from appliance.proofs.notary import Notary
from appliance.settings import Settings
from appliance.store import installation, live_settings, rollups, workspaces
from appliance.store.database import Database
from appliance.store.defaults import ensure_defaults
from appliance.store.retention import Retention
from appliance.store.sealing import Sealer
from appliance.store.wiping import Wiper
from appliance.tasks import Tasks
from appliance.times import utc_now
from appliance.tls.running import Tls, running_tls

_log = logging.getLogger(__name__)

SLACK_SECONDS = 5.0
"""Beyond the total limit of a call, which the lane watches itself and names when it is passed."""


@dataclass(frozen=True, slots=True)
class App:
    """The running daemon without its sockets. `public_keys` are the bytes of the JWK set; `tls` is what the gateway
    has to listen with, None for plain HTTP; `alive` reads the database, and raises where it cannot."""

    gateway: ASGIApp
    admin: ASGIApp
    pipeline: Pipeline
    drain: Drain
    registry: Registry
    public_keys: bytes
    tls: Tls | None
    events: Events
    alive: Callable[[], Awaitable[object]]


@asynccontextmanager
async def running(
    settings: Settings, environ: Mapping[str, str], *, base_url: str, clock: Clock = utc_now
) -> AsyncGenerator[App]:
    """Everything built and started, and stopped again in the reverse order when the block is left.

    Raises:
        StateError: the state directory, the key file or the database cannot be used.
        ConfigError: a machine's address makes no sense.
    """
    ids = Ids(secrets.token_bytes)
    sealer = Sealer.load(settings.state_dir, environ)
    async with AsyncExitStack() as stack:
        database = await Database.open(settings.state_dir / "synapse.db", fsync=settings.store.fsync)
        stack.push_async_callback(database.close)
        notary, public_keys = await _prepare(database, sealer, ids, clock())
        tls = await stack.enter_async_context(running_tls(settings, database=database, sealer=sealer, clock=clock))
        retention = Retention(database, clock, days=settings.retention.ledger_days)
        retention.start()
        stack.push_async_callback(retention.stop)
        wiper = Wiper(database)
        await wiper.start()
        stack.push_async_callback(wiper.stop)

        limits = settings.timeouts
        timeouts = Timeouts(limits.connect, limits.first_byte, limits.idle, limits.total)
        machines = await stack.enter_async_context(
            running_machines(
                settings,
                environ,
                database=database,
                books=Books(notary, sealer),
                clock=clock,
                ids=ids,
                timeouts=timeouts,
                base_url=base_url,
                models=lambda: policy().local.by_role(),
            )
        )
        registry, scheduler = machines.registry, machines.scheduler
        outside = await stack.enter_async_context(external_connections.open_session())

        policy = LivePolicy(app_mode=settings.app_mode, shield_mode=settings.shield.mode, machines=registry.snapshot)

        shield = LiveShield(
            sealer.derived("shield tokens"),
            country=settings.shield.country,
            names=settings.shield.names,
            ignored=settings.shield.ignore,
            random=secrets.token_bytes,
        )

        endpoints = Endpoints()
        reloading = asyncio.Lock()

        async def reload_live_settings() -> None:
            async with reloading:  # so that what was read earlier never comes after what was read later
                policy.set_local_models(await database.read(live_settings.local_models))
                policy.set_rules(await database.read(rules))
                endpoints.by_name = await database.read(lambda conn: opened_endpoints(conn, sealer))
                mode = await database.read(live_settings.shield_mode) or settings.shield.mode
                await shield.use(mode)
                policy.set_shield_mode(mode)

        await reload_live_settings()
        await _close_open_calls(database, notary, clock(), policy)
        prices = Prices({(one.provider, one.model): Rate(*one.rate) for one in settings.prices.models}, clock)
        version = installed_version(DISTRIBUTION)
        backlog = Backlog(database)
        stack.push_async_callback(backlog.stop)
        metrics, tasks = Metrics(version), Tasks()
        stalls = Stalls(metrics.stalled)
        tasks.spawn("stalls", stalls.watch())
        stack.push_async_callback(tasks.cancel)
        rate_limits = RateLimits(time.monotonic, clock)
        contexts = Contexts(settings.local.context)

        async def used(account: Account, month: Month) -> int:
            first, last = month.days
            whose = {f"{account.kind}_n": account.n}
            return await database.read(lambda conn: rollups.month_milli(conn, first_day=first, last_day=last, **whose))

        pipeline = Pipeline(
            Parts(
                rates=Rates(settings.questions.local, settings.questions.fast, settings.questions.full),
                rate_limits=rate_limits,
                budgets=Budgets(used),
                backlog=backlog,
                metrics=metrics,
                database=database,
                notary=notary,
                policy=policy,
                prices=prices,
                local=LocalLane(
                    scheduler=scheduler,
                    machines=registry,
                    contexts=contexts,
                    ask=machines.lane.ask,
                    monotonic=time.monotonic,
                    new_call_id=lambda: ids.new("call"),
                    draw_seed=lambda: secrets.randbelow(2**31),
                ),
                external=ExternalLanes(
                    lane=ExternalLane(outside, timeouts),
                    endpoints=endpoints,
                    end_user_key=sealer.derived("end users"),
                    thoughts=SignedThoughts(secrets.token_bytes(32)),
                    monotonic=time.monotonic,
                    new_call_id=lambda: ids.new("call"),
                ),
                shield=shield,
                clock=clock,
                ids=ids,
                version=version,
            )
        )
        drain, auth, started = Drain(), Authenticator(database, clock, rate_limits), clock()
        max_body_bytes = settings.gateway.max_body_mb * 1024 * 1024
        room = Room(max(ROOM_BYTES, max_body_bytes))
        desk = Desk(
            auth,
            pipeline,
            drain,
            clock,
            room,
            max_body_bytes,
            limit_seconds=limits.total + SLACK_SECONDS,
            failed=metrics.failed,
        )

        def now() -> Now:
            return Now(
                calls_in_flight=drain.in_flight,
                bodies_waiting=room.waiting,
                machines_waited_for=scheduler.waiting,
                writes_waiting=database.waiting,
                endings_waiting=len(backlog),
                longest_stall=stalls.longest(),
            )

        families = routes.Families(
            chat_completions=Calling(desk, OpenAIDoor()),
            messages=Calling(desk, AnthropicDoor()),
            count_tokens=CountTokens(auth, room, max_body_bytes),
            complete=Calling(desk, NativeDoor(Extractor(pipeline, wiper, clock, ids, limits.total))),
            models=Models(
                auth, full_model=lambda workspace_n: full_model(policy(workspace_n)), created=int(started.timestamp())
            ),
            proofs=Proofs(auth, database),
            extracted_data=ExtractedData(auth, database, wiper),
            health=Health(database, drain, lambda: _problem(policy(), registry.snapshot())),
            metrics=MetricsPage(auth, database, metrics, now),
        )

        def facts() -> Facts:
            now = policy()
            return Facts(
                version=version,
                started=started,
                app_mode=now.app_mode,
                base_url=base_url,
                shield_mode=now.shield_mode,
                active_provider=active_provider(now),
                default_model=now.local.found,
                lane_problem=_lane_problem(now, registry.snapshot()),
            )

        service = Service(
            AdminParts(
                database=database,
                wiper=wiper,
                clock=clock,
                ids=ids,
                proofs=ProofView(database),
                machines=MachineView(registry.snapshot, lambda: policy().local.by_role(), contexts.expected),
                activity=ActivityView(database, lambda: drain.in_flight, registry.snapshot),
                shield=ShieldView(shield, settings.shield),
                facts=facts,
                changed=reload_live_settings,
                told=lambda: events.changed(),
                sealer=sealer,
                checker=ProviderChecker(outside),
                policy=policy,
                prices=prices,
                nodes=machines.nodes,
                pulls=machines.pulls,
                backups=Backups(BackupParts(settings.state_dir, database, sealer, clock, ids, version)),
            )
        )
        events = Events(service.look)
        stack.callback(events.close)
        yield App(
            gateway=routes.build(families, ids, metrics.failed),
            admin=api.create_app(service, events),
            events=events,
            pipeline=pipeline,
            drain=drain,
            registry=registry,
            public_keys=public_keys,
            tls=tls,
            alive=lambda: database.read(installation.get),
        )


async def _prepare(database: Database, sealer: Sealer, ids: Ids, now: datetime) -> tuple[Notary, bytes]:
    """What every start does to the database before the first call."""
    await database.write(lambda conn: ensure_defaults(conn, now, ids))
    who = await database.write(lambda conn: identity.load(conn, sealer, random=ids.random, now=now))
    return Notary(who), (await database.read(identity.public_keys)).to_json()


async def _close_open_calls(database: Database, notary: Notary, now: datetime, policy: LivePolicy) -> None:
    """What a crash has left open is closed before the first call, under the policy that calls will have."""
    policies = {one.n: policy(one.n) for one in await database.read(workspaces.list_all)}
    recovered = await database.write(lambda conn: close_open_calls(conn, notary, now, policies))
    if recovered:
        _log.warning("%d calls that an earlier process left open are closed as failed", recovered)


def _problem(policy: Policy, machines: tuple[Machine, ...]) -> str | None:
    """Why calls cannot be answered where they go; an external provider is not asked, and counts as well."""
    if policy.active == LOCAL_PROVIDER:
        return _lane_problem(policy, machines)
    if full_model(policy) is None:
        return f"the active provider {policy.active} is not configured"
    return None


def _lane_problem(policy: Policy, machines: tuple[Machine, ...]) -> str | None:
    """Why no machine can answer with the full model, which every tier can fall back to; None when one can."""
    well = [machine for machine in machines if machine.healthy]
    if not well:
        return "no machine that runs models is reachable"
    model = policy.local.for_tier("full")
    if model is None:
        return "no machine has a model that answers chats"
    if not any(machine.has(model) for machine in well):
        return f"no machine that is reachable has the full model {model!r}"
    return None
