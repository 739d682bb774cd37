"""What a monitoring is told: counts and times of ended calls, and how the process is (gateway.md, `GET /metrics`).

Must not know storage or HTTP. No label holds what a caller chooses: a key, a user, a model's name, an address.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Histogram, Info, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

_log = logging.getLogger(__name__)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Of Prometheus' text format (prometheus.io, "Exposition formats")."""

NONE = "-"
"""A label where there is nothing to name, such as the machine of a call that left. No provider can be called so."""

CALL_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800)
"""Seconds: from what a small model needs for its first word to the longest that a call may take."""

STALL_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Seconds. A hundredth goes unnoticed; from a quarter on, streams stutter."""


class Ended(Protocol):
    """An ended call, as a row of the ledger has it: questions in thousandths, times in milliseconds.

    `provider` is who was asked last, None where nobody was; `node` is the id of the machine that was.
    """

    @property
    def dialect(self) -> str: ...
    @property
    def ending(self) -> str: ...
    @property
    def task(self) -> str | None: ...
    @property
    def tier(self) -> str | None: ...
    @property
    def provider(self) -> str | None: ...
    @property
    def node(self) -> str | None: ...
    @property
    def prompt_tokens(self) -> int: ...
    @property
    def completion_tokens(self) -> int: ...
    @property
    def questions_milli(self) -> int: ...
    @property
    def first_token_ms(self) -> int | None: ...
    @property
    def total_ms(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Now:
    """What is so at the moment of a scrape. `bodies_waiting` are those of calls that wait for room in memory,
    `longest_stall` is in seconds, and `log_entries` is None if it is unknown."""

    calls_in_flight: int
    bodies_waiting: int
    machines_waited_for: int
    writes_waiting: int
    endings_waiting: int
    longest_stall: float
    log_entries: int | None = None


class Metrics:
    """Counts from the start of the process on, with a registry of its own."""

    def __init__(self, version: str) -> None:
        self._registry = registry = CollectorRegistry()
        Info("synapse_build", "The version that runs.", registry=registry).info({"version": version})
        self._calls = Counter(
            "synapse_calls",
            "Calls that have ended and are recorded, by how they ended and who was asked last.",
            ["dialect", "task", "tier", "provider", "node", "ending"],
            registry=registry,
        )
        self._errors = Counter(
            "synapse_errors",
            "Requests that were answered with an error, or ended by one, by its code.",
            ["code"],
            registry=registry,
        )
        self._tokens = Counter(
            "synapse_tokens",
            "Tokens that models have read (prompt) and written (completion).",
            ["provider", "direction"],
            registry=registry,
        )
        self._questions = Counter(
            "synapse_questions", "Questions that calls were charged.", ["provider"], registry=registry
        )
        self._masked = Counter(
            "synapse_masked_values",
            "Distinct personal values that were masked before a call left the building.",
            ["category"],
            registry=registry,
        )
        self._first_token = Histogram(
            "synapse_first_token_seconds",
            "From the start of a call to the first piece of its answer.",
            ["provider"],
            buckets=CALL_BUCKETS,
            registry=registry,
        )
        self._duration = Histogram(
            "synapse_call_duration_seconds",
            "From the start of a call to its end, of calls for which a model was asked.",
            ["provider"],
            buckets=CALL_BUCKETS,
            registry=registry,
        )
        self._stall = Histogram(
            "synapse_event_loop_stall_seconds",
            "How late the event loop came to what was due, looked at 20 times a second.",
            buckets=STALL_BUCKETS,
            registry=registry,
        )

    def ended(self, call: Ended, masked: Iterable[tuple[str, int]]) -> None:
        """Count an ended call; `masked` has each category of its masked values with their number.

        Never raises: what cannot be counted is logged, and the call goes on.
        """
        try:
            self._count(call, masked)
        except Exception as error:
            _log.exception("a call could not be counted: %s", type(error).__name__)

    def failed(self, code: str) -> None:
        """Count an error that a client was told; `code` is one of the gateway's own."""
        self._errors.labels(code).inc()

    def stalled(self, seconds: float) -> None:
        """Count one look at how late the event loop is."""
        self._stall.observe(seconds)

    def text(self, now: Now) -> bytes:
        """Everything in Prometheus' text format; may be called in another thread."""
        return generate_latest(_Scrape(self._registry, now))

    def _count(self, call: Ended, masked: Iterable[tuple[str, int]]) -> None:
        self._calls.labels(
            dialect=call.dialect,
            task=call.task or NONE,
            tier=call.tier or NONE,
            provider=call.provider or NONE,
            node=call.node or NONE,
            ending=call.ending,
        ).inc()
        if call.provider is None:
            return
        self._tokens.labels(call.provider, "prompt").inc(call.prompt_tokens)
        self._tokens.labels(call.provider, "completion").inc(call.completion_tokens)
        self._questions.labels(call.provider).inc(call.questions_milli / 1000)
        self._duration.labels(call.provider).observe(call.total_ms / 1000)
        if call.first_token_ms is not None:
            self._first_token.labels(call.provider).observe(call.first_token_ms / 1000)
        for category, values in masked:
            self._masked.labels(category).inc(values)


class _Scrape:
    """What was counted, and what is so now."""

    def __init__(self, registry: CollectorRegistry, now: Now) -> None:
        self._registry = registry
        self._now = now

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            # When each series began is of no use here, and would be a third more of them.
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric
        yield from _gauges(self._now)


def _gauges(now: Now) -> Iterable[Metric]:
    yield GaugeMetricFamily(
        "synapse_calls_in_flight", "Calls that are being answered at this moment.", value=now.calls_in_flight
    )
    queued = GaugeMetricFamily("synapse_calls_queued", "Calls that wait, by what they wait for.", labels=["resource"])
    queued.add_metric(["memory"], now.bodies_waiting)
    queued.add_metric(["machine"], now.machines_waited_for)
    yield queued
    backlog = GaugeMetricFamily(
        "synapse_writer_backlog",
        "What waits to be written to the database: new writes, and endings of calls that it did not take at first.",
        labels=["kind"],
    )
    backlog.add_metric(["writes"], now.writes_waiting)
    backlog.add_metric(["endings"], now.endings_waiting)
    yield backlog
    yield GaugeMetricFamily(
        "synapse_event_loop_longest_stall_seconds",
        "The longest that the event loop was held up during the last minute.",
        value=now.longest_stall,
    )
    if now.log_entries is not None:
        yield GaugeMetricFamily(
            "synapse_certificate_log_entries",
            "Entries of the log of certificates: two a call, and one for each signing key.",
            value=now.log_entries,
        )
