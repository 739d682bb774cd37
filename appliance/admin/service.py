"""What the admin API does, without HTTP: every operation as a method, on parts that are handed in.

The parts that only a running daemon has (machines, certificates, calls) are named here as protocols, so that
this package needs none of the packages that provide them.
"""

import os
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol, TypeVar

from appliance.admin import (
    changes,
    erasure,
    event_wire,
    ledger_view,
    ledger_wire,
    policy_changes,
    policy_view,
    policy_wire,
    provider_changes,
    seen,
    shapes,
    wire,
)
from appliance.admin.backups import Backups
from appliance.admin.changes import Change
from appliance.admin.nodes import Nodes
from appliance.admin.pulls import Pulls
from appliance.calls.policy import Policy
from appliance.calls.routing import Prices
from appliance.ids import Clock, Ids
from appliance.store import audit, keys, live_settings, providers, users
from appliance.store.database import Database
from appliance.store.providers import OpenProvider
from appliance.store.sealing import Sealer
from appliance.store.wiping import Wiper
from appliance.store.workspaces import WorkspaceRow
from appliance.times import rfc3339

T = TypeVar("T")

LAST_CALLS = 5
"""How many finished calls a status shows: what fits on one screen with the rest."""

PAGE = 50
"""Certificates in a page that did not say how many."""

MAX_PAGE = 500
"""The largest page: bounds the memory and the time of one answer."""


class Proofs(Protocol):
    """The certificates of all workspaces."""

    async def newest(self, *, limit: int, before: int | None) -> Sequence[wire.Proof]:
        """At most `limit`, newest first, whose log index is below `before`."""
        ...

    async def show(self, proof_id: str) -> bytes | None:
        """The exact bytes of the canonical file, or None where there is no such certificate."""
        ...

    async def keys(self) -> bytes:
        """The public keys as the bytes of a JWK set, retired ones included."""
        ...


class Machines(Protocol):
    def snapshot(self) -> Sequence[wire.Machine]:
        """Every machine that the daemon knows, as it last saw it. Never waits for the network."""
        ...

    def contexts(self) -> Sequence[wire.ModelContext]:
        """How long the prompts are that the models in use take, on every healthy machine that has them."""
        ...


class Shield(Protocol):
    """The shield in force."""

    def describe(self, *, chosen: bool) -> wire.Shield:
        """What it is now; `chosen` is whether an administrator has set its mode."""
        ...

    async def test(self, text: str) -> wire.ShieldAnswer:
        """What would leave instead of `text`, and why. Nothing of it is kept."""
        ...


class Activity(Protocol):
    def in_flight(self) -> int:
        """Calls that have begun and not ended."""
        ...

    async def last_calls(self, limit: int) -> Sequence[wire.Call]:
        """At most `limit` finished calls, newest first."""
        ...


class Checker(Protocol):
    async def check(self, provider: OpenProvider) -> policy_wire.ProviderCheck:
        """Try the provider with the smallest call for each model. Ends in good time, and quotes no key."""
        ...


class PriceList(Prices, Protocol):
    def rate(self, provider: str, model: str) -> tuple[int, int] | None:
        """Micro-dollars for a million tokens of prompt and of answer, None where not known."""
        ...


@dataclass(frozen=True, slots=True)
class Facts:
    """What the daemon is at this moment. `default_model` is what serves while no full model is set, by what the
    machines have; None where they have none. `lane_problem`: why the local lane is not ready, None when it is."""

    version: str
    started: datetime
    app_mode: Literal["local", "cloud"]
    base_url: str
    shield_mode: wire.ShieldMode
    active_provider: str
    default_model: str | None = None
    lane_problem: str | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """What the service works on. `changed` is awaited after every change was committed, before it is answered, so that
    whoever keeps a copy of keys or live settings reads them again; then `told` is called. `policy` gives the one in
    force for a workspace's row number."""

    database: Database
    wiper: Wiper
    clock: Clock
    ids: Ids
    proofs: Proofs
    machines: Machines
    shield: Shield
    activity: Activity
    facts: Callable[[], Facts]
    changed: Callable[[], Awaitable[None]]
    told: Callable[[], None]
    sealer: Sealer
    checker: Checker
    policy: Callable[[int], Policy]
    prices: PriceList
    nodes: Nodes
    backups: Backups
    pulls: Pulls


class Service:
    """Every operation of the API. Changes take `who` asks: a login name.

    All raise `StorageUnavailable` where the database cannot be read or written; `InvalidInput`,
    `UnknownSubject` and `AdminError` say what is wrong with what was asked.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @property
    def nodes(self) -> Nodes:
        """The operations on machines."""
        return self._parts.nodes

    @property
    def backups(self) -> Backups:
        """The operations on backups."""
        return self._parts.backups

    @property
    def pulls(self) -> Pulls:
        """The operations on models that machines fetch."""
        return self._parts.pulls

    async def status(self) -> wire.Status:
        parts, facts = self._parts, self._parts.facts()
        machines = tuple(parts.machines.snapshot())
        rows = await parts.database.read(keys.list_all)
        configured = await parts.database.read(live_settings.local_models)
        outside = await parts.database.read(providers.list_all)
        model = configured.get("full") or facts.default_model
        return wire.Status(
            version=facts.version,
            pid=os.getpid(),
            started=rfc3339(facts.started),
            app_mode=facts.app_mode,
            base_url=facts.base_url,
            shield_mode=facts.shield_mode,
            active_provider=facts.active_provider,
            lanes=(
                shapes.local_lane(machines, model, facts.lane_problem),
                *(shapes.external_lane(row) for row in outside),
            ),
            machines=machines,
            keys=shapes.key_count(rows, parts.clock()),
            calls_in_flight=parts.activity.in_flight(),
            last_calls=tuple(await parts.activity.last_calls(LAST_CALLS)),
            backup=await parts.backups.newest(),
        )

    async def keys(self) -> wire.KeyList:
        now = self._parts.clock()
        return wire.KeyList(await self._parts.database.read(lambda conn: changes.list_keys(conn, now)))

    async def create_key(self, who: str, new: wire.NewKey) -> wire.CreatedKey:
        return await self._change(who, lambda conn, change: changes.create_key(conn, change, new))

    async def revoke_key(self, who: str, id_or_name: str) -> wire.Key:
        return await self._change(who, lambda conn, change: changes.revoke_key(conn, change, id_or_name))

    async def workspaces(self) -> wire.WorkspaceList:
        now = self._parts.clock()
        return wire.WorkspaceList(await self._parts.database.read(lambda conn: changes.list_workspaces(conn, now)))

    async def create_workspace(self, who: str, new: wire.NewName) -> wire.Workspace:
        return await self._change(who, lambda conn, change: changes.create_workspace(conn, change, new))

    async def set_allowance(self, who: str, new: wire.NewAllowance) -> wire.Workspace:
        return await self._change(who, lambda conn, change: changes.set_allowance(conn, change, new))

    async def users(self) -> wire.UserList:
        rows = await self._parts.database.read(users.list_all)
        return wire.UserList(tuple(shapes.named(row) for row in rows))

    async def create_user(self, who: str, new: wire.NewName) -> wire.Named:
        return await self._change(who, lambda conn, change: changes.create_user(conn, change, new))

    async def erase_user(self, who: str, name: str) -> wire.ErasedUser:
        erased = await self._change(who, lambda conn, change: erasure.erase_user(conn, change, name))
        await self._parts.wiper.now()
        return erased

    async def models(self) -> wire.ModelList:
        # The revision first, here and below: it may be older than what is shown, and never newer.
        revision = await self._parts.database.read(lambda conn: seen.revision(conn, changes.MODELS))
        configured = await self._parts.database.read(live_settings.local_models)
        return shapes.models(configured, self._parts.machines.snapshot(), self._parts.facts().default_model, revision)

    async def contexts(self) -> wire.ContextList:
        return wire.ContextList(tuple(self._parts.machines.contexts()))

    async def set_model(self, who: str, role: wire.Role, new: wire.NewModel) -> wire.ModelList:
        await self._change(who, lambda conn, change: changes.set_model(conn, change, role, new))
        return await self.models()

    async def unset_model(self, who: str, role: wire.Role, revision_seen: int | None = None) -> wire.ModelList:
        await self._change(who, lambda conn, change: changes.unset_model(conn, change, role, revision_seen))
        return await self.models()

    async def shield(self) -> wire.Shield:
        revision = await self._parts.database.read(lambda conn: seen.revision(conn, changes.SHIELD_MODE))
        chosen = await self._parts.database.read(live_settings.shield_mode)
        await self._parts.changed()  # the shield in force may be that of before
        return replace(self._parts.shield.describe(chosen=chosen is not None), revision=revision)

    async def set_shield_mode(self, who: str, new: wire.NewShieldMode) -> wire.Shield:
        configured = (await self.shield()).configured
        await self._change(who, lambda conn, change: changes.set_shield_mode(conn, change, new, configured))
        return await self.shield()

    async def test_shield(self, asked: wire.ShieldQuestion) -> wire.ShieldAnswer:
        return await self._parts.shield.test(asked.text)

    async def providers(self) -> policy_wire.ProviderList:
        revision = await self._parts.database.read(provider_changes.revision)
        rows = await self._parts.database.read(providers.list_all)
        return policy_wire.ProviderList(tuple(self._priced(provider_changes.shape(row)) for row in rows), revision)

    async def put_provider(self, who: str, new: policy_wire.NewProvider) -> policy_wire.PutProvider:
        sealer = self._parts.sealer
        put = await self._change(who, lambda conn, change: provider_changes.put_provider(conn, change, sealer, new))
        return replace(put, provider=self._priced(put.provider))

    async def remove_provider(self, who: str, old: policy_wire.OldProvider) -> policy_wire.RemovedProvider:
        return await self._change(who, lambda conn, change: provider_changes.remove_provider(conn, change, old))

    async def test_provider(self, name: str) -> policy_wire.ProviderCheck:
        row = await self._parts.database.read(lambda conn: provider_changes.find(conn, name))
        return await self._parts.checker.check(providers.opened(row, self._parts.sealer))

    async def policy(self, workspace: str | None) -> policy_wire.Policy:
        return await self._policy(
            await self._parts.database.read(lambda conn: policy_changes.workspace(conn, workspace))
        )

    async def set_allow_list(self, who: str, new: policy_wire.NewAllowList) -> policy_wire.Policy:
        of = await self._change(who, lambda conn, change: policy_changes.set_allow_list(conn, change, new))
        return await self._policy(of)

    async def clear_allow_list(
        self, who: str, workspace: str | None, revision_seen: int | None = None
    ) -> policy_wire.Policy:
        of = await self._change(
            who, lambda conn, change: policy_changes.clear_allow_list(conn, change, workspace, revision_seen)
        )
        return await self._policy(of)

    async def set_active(self, who: str, new: policy_wire.NewActive) -> policy_wire.Policy:
        await self._change(who, lambda conn, change: policy_changes.set_active(conn, change, new))
        return await self.policy(None)

    async def set_unscannable(self, who: str, new: policy_wire.NewChoice) -> policy_wire.Policy:
        await self._change(who, lambda conn, change: policy_changes.set_unscannable(conn, change, new))
        return await self.policy(None)

    async def set_sensitive_on_open(self, who: str, new: policy_wire.NewChoice) -> policy_wire.Policy:
        await self._change(who, lambda conn, change: policy_changes.set_sensitive_on_open(conn, change, new))
        return await self.policy(None)

    async def calls(self, question: ledger_wire.CallsQuestion) -> ledger_wire.CallsPage:
        machines = self._parts.machines.snapshot()
        return await self._parts.database.read(lambda conn: ledger_view.calls(conn, question, machines))

    async def sums(self, question: ledger_wire.SumsQuestion) -> ledger_wire.Sums:
        machines = self._parts.machines.snapshot()
        return await self._parts.database.read(lambda conn: ledger_view.sums(conn, question, machines))

    async def proofs(self, limit: int, before: int | None) -> wire.ProofList:
        if not 1 <= limit <= MAX_PAGE:
            raise wire.InvalidInput(f"limit is {limit}.", advice=f"It must be from 1 to {MAX_PAGE}.")
        page = tuple(await self._parts.proofs.newest(limit=limit + 1, before=before))
        shown = page[:limit]
        return wire.ProofList(shown, next_before=shown[-1].index if len(page) > limit else None)

    async def proof(self, proof_id: str) -> bytes:
        found = await self._parts.proofs.show(proof_id)
        if found is None:
            raise wire.UnknownSubject(
                f'There is no certificate "{proof_id}".', advice="synapse proof list shows the newest ones."
            )
        return found

    async def changes(self, limit: int, before: int | None) -> event_wire.ChangeList:
        """Who has changed what, newest first."""
        if not 1 <= limit <= MAX_PAGE:
            raise wire.InvalidInput(f"limit is {limit}.", advice=f"It must be from 1 to {MAX_PAGE}.")
        rows = await self._parts.database.read(lambda conn: audit.newest(conn, limit=limit + 1, before_n=before))
        shown = tuple(shapes.change(row) for row in rows[:limit])
        return event_wire.ChangeList(shown, next_before=shown[-1].n if len(rows) > limit else None)

    async def look(self) -> event_wire.Event:
        """How everything is that the stream of events tells of."""
        last = await self._parts.database.read(audit.last)
        return event_wire.Event(await self.status(), self.nodes.list_all(), self.pulls.list_all(), last, "")

    async def proof_keys(self) -> bytes:
        return await self._parts.proofs.keys()

    async def _change(self, who: str, job: Callable[[sqlite3.Connection, Change], T]) -> T:
        change = Change(who, self._parts.clock(), self._parts.ids)
        result = await self._parts.database.write(lambda conn: job(conn, change))
        await self._parts.changed()
        self._parts.told()
        return result

    async def _policy(self, of: WorkspaceRow) -> policy_wire.Policy:
        """Of its revision or a newer one: what is changed in between is told as a conflict, and never overwritten."""
        revision = await self._parts.database.read(lambda conn: policy_changes.revision(conn, of))
        await self._parts.changed()
        return replace(policy_view.describe(self._parts.policy(of.n), of.name, self._parts.prices), revision=revision)

    def _priced(self, provider: policy_wire.Provider) -> policy_wire.Provider:
        called = provider.name if provider.kind == "openai-compatible" else provider.kind

        def price(model: str | None) -> policy_wire.Price | None:
            rate = self._parts.prices.rate(called, model) if model else None
            return policy_wire.Price(*rate) if rate else None

        return replace(provider, full_price=price(provider.full), fast_price=price(provider.fast))
