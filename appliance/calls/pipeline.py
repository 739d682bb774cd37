"""The path of one call, told once: address → limits → intent → budgets → route → machine → answer → certificate and
ledger row.

The edge drives it: `open` accepts a call, `Exchange.events` runs it, `Exchange.close` ends it.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from appliance.calls import address as addresses
from appliance.calls.address import Address
from appliance.calls.asking_again import asking_again
from appliance.calls.backlog import Backlog
from appliance.calls.call import Call, Ending
from appliance.calls.costs import Costing, Costs, costs, model_class
from appliance.calls.entries import ENTRIES
from appliance.calls.estimate import measure
from appliance.calls.external import ExternalLanes, ExternalRun
from appliance.calls.live_shield import LiveShield, Shielding
from appliance.calls.local import LocalLane, LocalRun
from appliance.calls.offload import offloaded
from appliance.calls.outbound import Outbound
from appliance.calls.policy import Policy, fingerprint
from appliance.calls.record import FREE, Course, certificate, ledger_row, tokens_used
from appliance.calls.routing import Candidate, Prices, after_failure, after_scan, decide
from appliance.cluster.scheduler import Scheduler
from appliance.dialects.chat import Event
from appliance.errors import (
    BudgetExceeded,
    LocalLaneUnavailable,
    StorageUnavailable,
    UnknownAgent,
)
from appliance.ids import Clock, Ids
from appliance.lanes.attempt import AttemptFailed
from appliance.metering.budgets import Account, Budget, Budgets, Tab
from appliance.metering.metrics import Metrics
from appliance.metering.months import month_of
from appliance.metering.questions import Rates
from appliance.metering.rate_limits import RateLimits, Standing, Window
from appliance.proofs.certificate import Gateway, Intent, Pii, Request
from appliance.proofs.notary import Notary
from appliance.shield.categories import RULES
from appliance.store import ledger
from appliance.store.database import Database, is_storages
from appliance.store.ledger import LedgerRow

_log = logging.getLogger(__name__)

Record = Callable[[sqlite3.Connection], None]
"""Writes how a call has ended."""


class PriceList(Prices, Costing, Protocol):
    """What models cost: to choose among them, and to account for a call."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the pipeline is built from (see app.py). `policy` gives the one in force for a workspace's row number."""

    database: Database
    notary: Notary
    policy: Callable[[int], Policy]
    prices: PriceList
    rates: Rates
    rate_limits: RateLimits
    budgets: Budgets
    local: LocalLane
    external: ExternalLanes
    shield: LiveShield
    backlog: Backlog
    metrics: Metrics
    clock: Clock
    ids: Ids
    version: str
    monotonic: Callable[[], float] = field(default=time.monotonic)


class Pipeline:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @property
    def scheduler(self) -> Scheduler:
        """Which machine has how many calls in flight."""
        return self._parts.local.scheduler

    async def open(self, call: Call) -> "Exchange":
        """Accept a call: its address is served and its intent is durable when this returns.

        Raises:
            BadRequest, UnknownAgent, AddressNotSupported: the address; such a call gets no certificate.
            RateLimited: its key has sent too many, here or altogether; it gets none either.
            StorageUnavailable: the intent could not be written, or what was used cannot be read.
        """
        addresses.check_model(call.model)
        address = addresses.parse(call.model)
        addresses.check_served(address)
        if address.kind == "agent":
            raise UnknownAgent(
                f"This workspace has no agent {address.slug!r}.",
                advice="GET /v1/models lists what there is.",
                param="model",
            )
        windows = _windows(call)
        standing = self._parts.rate_limits.admit_all(windows) if windows else None
        shielding = self._parts.shield.now
        policy = replace(self._parts.policy(call.caller.workspace_n), shield_mode=shielding.mode)
        intent = self._intent(call, address, policy)
        tab = await self._parts.budgets.open(_budgets(call, policy), month_of(call.received))
        try:
            index = await self._parts.database.write(lambda conn: self._parts.notary.open(conn, intent))
        except BaseException:
            tab.settle(0)
            raise
        return Exchange(self._parts, call, address, policy, shielding, intent, index, tab, standing)

    def _intent(self, call: Call, address: Address, policy: Policy) -> Intent:
        return Intent(
            id=self._parts.ids.new("prf"),
            workspace=call.caller.workspace_id,
            key=call.caller.key_id,
            gateway=Gateway(self._parts.version, RULES, fingerprint(policy)),
            received=call.received,
            request=Request(call.endpoint, call.model, call.body_sha256, call.received_bytes, call.stream),
            address=ENTRIES[call.endpoint].address(address),
            pii=Pii(policy.shield_mode),
        )


def _windows(call: Call) -> list[Window]:
    """The limits of requests in a minute that the call counts for: its key's own, and that of its endpoint. One that
    nobody asked for counts for none."""
    if not ENTRIES[call.endpoint].charged:
        return []
    caller = call.caller
    windows: list[Window] = []
    if caller.requests_per_minute is not None:
        windows.append(Window(caller.key_n, caller.requests_per_minute))
    own = ENTRIES[call.endpoint].requests_per_minute
    if own is not None:
        windows.append(Window((caller.key_n, call.endpoint), own))
    return windows


def _budgets(call: Call, policy: Policy) -> list[Budget]:
    """What the call has to fit in: its key's ceiling before its workspace's allowance, which is for the cloud alone."""
    if not ENTRIES[call.endpoint].charged:
        return []
    caller = call.caller
    found = [Budget(Account("key", caller.key_n), caller.ceiling_milli)]
    if policy.app_mode == "cloud":
        found.append(Budget(Account("workspace", caller.workspace_n), caller.allowance_milli))
    return found


class Exchange:
    """One accepted call, from its intent to its certificate. `standing` is of the tightest limit that it counted for,
    None without one."""

    def __init__(
        self,
        parts: Parts,
        call: Call,
        address: Address,
        policy: Policy,
        shielding: Shielding,
        intent: Intent,
        intent_index: int,
        tab: Tab,
        standing: Standing | None,
    ) -> None:
        self._parts = parts
        self._call = call
        self._address = address
        self._policy = policy
        self._shielding = shielding
        self._intent = intent
        self._intent_index = intent_index
        self._tab = tab
        self.standing = standing
        self._course = Course(started=parts.monotonic(), shield_mode=policy.shield_mode)
        self._closed = False
        self._begun = False
        self._answered_at: float | None = None

    @property
    def proof_id(self) -> str:
        return self._intent.id

    @property
    def received(self) -> datetime:
        """When the request came."""
        return self._call.received

    @property
    def elapsed(self) -> float:
        """Seconds since it was accepted, until its answer was there."""
        return (self._answered_at or self._parts.monotonic()) - self._course.started

    @property
    def answered(self) -> bool:
        """Whether all of its answer is there."""
        return self._answered_at is not None

    @property
    def course(self) -> Course:
        """What has happened so far: who answers, for which task, what was masked."""
        return self._course

    async def events(self) -> AsyncGenerator[Event, None]:
        """Run the call; each answer that it asks for ends with its `Finish`. To be used once.

        Raises:
            CallError: why there is no answer, or no more of it.
        """
        parts = self._parts
        self._tab.check()
        prompt = await offloaded(self._call, lambda: measure(self._call.chat))
        self._course.estimate = prompt.tokens
        if self._call.drives is not None:
            prompt = measure(self._call.drives)
        task = ENTRIES[self._call.endpoint].task
        decision = decide(self._policy, self._address, prompt, prices=parts.prices, explicit_task=task)
        outside = parts.external
        outbound = Outbound(self._call, self._shielding, outside.end_user)
        while True:
            self._course.decision = decision
            if decision.must_scan:
                decision = self._course.decision = after_scan(decision, found=await outbound.scan())
            self._reserve(decision.choice)
            try:
                async with aclosing(self._run(decision.choice, outbound)) as events:
                    async for event in events:
                        self._begun = True
                        self._course.passed_on(event)
                        yield event
                self._answered_at = parts.monotonic()
                return
            except AttemptFailed as failed:
                following = after_failure(decision) if failed.elsewhere and not self._begun else None
                if following is None or not self._can_afford(following.choice):
                    raise failed.error from failed
                self._course.goes_elsewhere()
                decision = following

    def _reserve(self, choice: Candidate) -> None:
        """Raises KeyCeilingReached or AllowanceExhausted where the questions of its answers are not left."""
        kind = model_class(choice.provider, choice.model)
        self._tab.reserve(self._rates.milli(kind, self._call.chat.choices))

    @property
    def _rates(self) -> Rates:
        return self._parts.rates if ENTRIES[self._call.endpoint].charged else Rates(0, 0, 0)

    def _can_afford(self, choice: Candidate) -> bool:
        try:
            self._reserve(choice)
        except BudgetExceeded:
            return False
        return True

    def _run(self, choice: Candidate, outbound: Outbound) -> AsyncGenerator[Event, None]:
        """One choice of the decision, on its lane. Raises AttemptFailed where nobody can be asked."""
        if not choice.provider.local:
            return self._outside(choice, outbound)
        if choice.model is None:
            nobody = LocalLaneUnavailable(
                "No machine of this installation has a model that can answer.",
                advice="Run `ollama pull` on one, or start the embedded engine; see `synapse node list`.",
            )
            raise AttemptFailed(nobody, elsewhere=True, reached=False)
        decision = self._course.decision
        sensitive = decision is not None and decision.task == "sensitive"
        known_only = sensitive and self._policy.sensitive_on_open == "refuse"
        return LocalRun(self._parts.local, self._call, choice.model, self._course, known_only=known_only).events()

    def _outside(self, choice: Candidate, outbound: Outbound) -> AsyncGenerator[Event, None]:
        run = ExternalRun(self._parts.external, self._call, choice, self._course, self._policy, outbound).events
        chat = self._call.chat
        if chat.format is None or not ENTRIES[self._call.endpoint].asks_again:
            return run()
        return asking_again(run, chat.format, chat.sampling, self._course)

    async def close(self, ending: Ending, *, status: int | None, response_sha256: str) -> None:
        """End the call: its certificate and ledger row are durable when this returns. Only one ending counts.

        Raises:
            StorageUnavailable: neither was written, and the call may be ended otherwise.
        """
        if self._closed:
            return
        self._closed = True
        record, row = self._ended(ending, status, response_sha256)
        written = asyncio.ensure_future(self._parts.database.write(record))
        try:
            await asyncio.shield(written)
        except StorageUnavailable:
            self._closed = False
            raise
        except asyncio.CancelledError:  # who waits is cancelled, not the write
            written.add_done_callback(lambda done: self._written_alone(done, record, row))
            raise
        except Exception:  # a fault of ours: what the call holds must not be held for ever
            self._closed = False
            self._tab.settle(row.questions_milli)
            raise
        self._settle(row)

    def close_later(self, ending: Ending, *, status: int | None, response_sha256: str) -> None:
        """End a call whose ending the storage does not take now: it is written as soon as it does."""
        if not self._closed:
            self._closed = True
            self._write_later(*self._ended(ending, status, response_sha256))

    def _written_alone(self, done: "asyncio.Future[None]", record: Record, row: LedgerRow) -> None:
        """What nobody waited for has been written, or has to be written yet."""
        if done.cancelled() or done.exception() is not None:
            self._write_later(record, row)
        else:
            self._settle(row)

    def _write_later(self, record: Record, row: LedgerRow) -> None:
        self._tab.settle(row.questions_milli)
        self._parts.backlog.add(record, lambda: self._settle(row))

    def _settle(self, row: LedgerRow) -> None:
        """The row is in the ledger: its questions and figures count."""
        self._tab.settle(row.questions_milli)
        self._parts.metrics.ended(row, self._course.masked.items())

    def _ended(self, ending: Ending, status: int | None, response_sha256: str) -> tuple[Record, LedgerRow]:
        """What writes this ending, from what is known now, and the row of the ledger that it writes."""
        course, proof_id = self._course, self._intent.id
        course.broke_off()
        evidence = certificate(
            course,
            self._intent,
            self._intent_index,
            completed=self._parts.clock(),
            ending=ending,
            status=status,
            response_sha256=response_sha256,
        )
        row = ledger_row(
            course,
            self._call,
            proof_id,
            ending,
            total_seconds=self.elapsed,
            rates=self._rates,
            costs=self._costs(),
        )

        def record(conn: sqlite3.Connection) -> None:
            self._parts.notary.close(
                conn,
                evidence,
                workspace_n=self._call.caller.workspace_n,
                internal=ENTRIES[self._call.endpoint].internal,
            )
            _account(conn, row)

        return record, row

    def _costs(self) -> Costs:
        course = self._course
        if course.decision is None or not course.attempts:
            return FREE
        choice, used = course.decision.choice, tokens_used(course)
        try:
            return costs(self._policy, self._parts.prices, choice.provider, course.model, used)
        except Exception as error:
            _log.exception("the price of %s was not found: %s", self.proof_id, type(error).__name__)
            return Costs(None, None)


def _account(conn: sqlite3.Connection, row: LedgerRow) -> None:
    """Write the ledger's row. A figure that cannot be written is no reason to fail a call that was answered; a storage
    that takes nothing is."""
    conn.execute("SAVEPOINT accounting")
    try:
        ledger.insert(conn, row)
    except Exception as error:
        if is_storages(error):
            raise
        _log.exception("the call %s is not in the ledger: %s", row.proof_id, type(error).__name__)
        conn.execute("ROLLBACK TO accounting")
    conn.execute("RELEASE accounting")
