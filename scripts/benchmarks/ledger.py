"""The ledger after years: pages, sums, retention and the writer on a file of millions of rows (`--rows N`).

The rows are made by `tests/store/many_calls.py`, through the same tables, indexes and sums as call by call. Calls are
written as the gateway does, with the real Notary: an intent, then certificate and ledger row, each a write of its own.
"""

import argparse
import asyncio
import os
import secrets
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations, product
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from appliance.ids import Ids
from appliance.proofs import certificate as proof
from appliance.proofs.certificate import Certificate, Egress, Gateway, Intent, Node, Pii, Request, Response, Routing
from appliance.proofs.envelope import Signer
from appliance.proofs.identity import Identity
from appliance.proofs.notary import Notary
from appliance.store import ledger, retention
from appliance.store.database import Database
from appliance.store.ledger import DAY_MS, LedgerRow
from appliance.store.ledger_pages import Cursor, Filters, page, page_forward
from appliance.store.migrate import migrate
from appliance.store.retention import delete_old
from appliance.store.rollups import month_milli, sums
from appliance.times import to_ms
from scripts.benchmarks.results import percentile, report
from tests.store.many_calls import (
    ENDINGS,
    EXTERNAL_MODELS,
    FIRST_DAY,
    KEYS,
    LOCAL_MODELS,
    NODES,
    TASKS,
    WORKSPACES,
    fill,
)

DAYS = 400
PAGE_ROWS = 100
DELETED = 1_000_000
STREAM_PER_SECOND = 100
STREAM_SECONDS = 30
WARM_UP_SECONDS = 5
CALLS_PER_SECOND = 1_000
LOAD_SECONDS = 30
HASH = "0" * 64

VALUES: dict[str, tuple[Any, Any]] = {
    "workspace_n": (WORKSPACES[0], WORKSPACES[-1]),
    "key_n": (KEYS[0], KEYS[-1]),
    "model": (LOCAL_MODELS[0], EXTERNAL_MODELS[-1]),
    "node": (NODES[0], NODES[-1]),
    "task": (TASKS[0], TASKS[-1]),
    "ending": (ENDINGS[0], ENDINGS[2]),
    "left_building": (0, 1),
}
"""Of each dimension its commonest value and its rarest."""

MIDDLE = FIRST_DAY + DAYS // 2
MONTH = {"since_ms": (MIDDLE - 15) * DAY_MS, "until_ms": (MIDDLE + 16) * DAY_MS}


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--save", action="store_true")
    rows = parser.parse_args().rows
    figures: dict[str, float] = {"rows": rows}
    units = {"rows": "", "file": "GB", "fill": "s"}
    folder = Path(tempfile.mkdtemp(prefix="synapse-bench-"))
    try:
        path = folder / "synapse.db"
        began = time.perf_counter()
        _fill(path, rows)
        figures["fill"] = time.perf_counter() - began
        figures["file"] = path.stat().st_size / 1e9
        with closing(sqlite3.connect(path, isolation_level=None)) as conn:
            _pages(conn, figures)
            _sums(conn, figures)
        await _writing(path, rows, figures, units)
    finally:
        shutil.rmtree(folder)
    report("ledger", figures, unit=units)


def _fill(path: Path, rows: int) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("PRAGMA synchronous = OFF")
        conn.execute("PRAGMA cache_size = -400000")
        migrate(conn)
        fill(conn, rows, DAYS)
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.sync()  # what the filling left to be written is no part of what follows


def _pages(conn: sqlite3.Connection, figures: dict[str, float]) -> None:
    """Each kind of filter with its commonest and its rarest values: from the newest on, and from the middle on."""
    middle = Cursor(MIDDLE * DAY_MS, 0)
    for size, words in enumerate(("unfiltered", "one filter", "two filters", "three filters")):
        took: list[float] = []
        for names in combinations(VALUES, size):
            for choice in range(2**size):
                chosen = {name: VALUES[name][choice >> at & 1] for at, name in enumerate(names)}
                asked = product((Filters(**chosen), Filters(**chosen, **MONTH)), (None, middle))
                took += [_timed(lambda f=filters, b=before: page(conn, f, PAGE_ROWS, b)) for filters, before in asked]
        figures[f"page, {words}, median"] = percentile(took, 0.5)
        figures[f"page, {words}, longest of {len(took)}"] = max(took)
    began = time.perf_counter()
    page_forward(conn, Filters(since_ms=MIDDLE * DAY_MS, until_ms=(MIDDLE + 1) * DAY_MS), 1000)
    figures["export, 1,000 rows of one day"] = (time.perf_counter() - began) * 1000


def _sums(conn: sqlite3.Connection, figures: dict[str, float]) -> None:
    month = {"first_day": MIDDLE - 15, "last_day": MIDDLE + 15}
    took = [_timed(lambda n=n: month_milli(conn, key_n=n, **month)) for n in KEYS]
    took += [_timed(lambda n=n: month_milli(conn, workspace_n=n, **month)) for n in WORKSPACES]
    figures["questions of a month, longest"] = max(took)
    for words, span in (("a month", MONTH), ("all days", {})):
        for by in (None, "day", "workspace", "key", "model", "node", "task", "left"):
            name = f"sums of {words}{f' by {by}' if by else ''}"
            figures[name] = _timed(lambda by=by, span=span: sums(conn, Filters(**span), by))
        crossed = [
            (filters, by)
            for filters in (Filters(key_n=KEYS[0], **span), Filters(model=LOCAL_MODELS[0], **span))
            for by in ("day", "key", "model", "node", "task", "left")
        ]
        crossed += [(Filters(ending="failed", **span), by) for by in (None, "day", "key")]
        longest = max(_timed(lambda f=filters, by=by: sums(conn, f, by)) for filters, by in crossed)
        figures[f"sums of {words} by one dimension, filtered by another, longest"] = longest


async def _writing(path: Path, rows: int, figures: dict[str, float], units: dict[str, str]) -> None:
    database = await Database.open(path)
    try:
        calls = Calls(database)
        await calls.stream(STREAM_PER_SECOND, WARM_UP_SECONDS)
        calls.took = []
        await calls.stream(STREAM_PER_SECOND, STREAM_SECONDS)
        quiet, calls.took = calls.took, []
        await _retention(calls, min(DELETED, rows // 2), figures, units)
        for share, word in ((0.5, "median"), (0.99, "99th percentile"), (1, "longest")):
            before, beside = percentile(quiet, share), percentile(calls.took, share)
            figures[f"a call's write, {STREAM_PER_SECOND} calls/s, {word}"] = before
            figures[f"the same beside retention, {word}"] = beside
        calls.took = []
        backlog = await calls.stream(CALLS_PER_SECOND, LOAD_SECONDS)
        load = f"{CALLS_PER_SECOND} calls/s"
        figures[f"{load}, a call's write, median"] = percentile(calls.took, 0.5)
        figures[f"{load}, a call's write, 99th percentile"] = percentile(calls.took, 0.99)
        figures[f"{load}, a call's write, longest"] = max(calls.took)
        figures[f"{load}, written of those begun"] = calls.written / calls.begun * 100
        units[f"{load}, written of those begun"] = "%"
        for name, part in (
            ("first third", backlog[: len(backlog) // 3]),
            ("last third", backlog[-len(backlog) // 3 :]),
        ):
            for word, value in (("mean", sum(part) / len(part)), ("most", max(part))):
                figures[f"{load}, writes waiting, {name}, {word}"] = value
                units[f"{load}, writes waiting, {name}, {word}"] = ""
    finally:
        await database.close()


async def _retention(calls: "Calls", most: int, figures: dict[str, float], units: dict[str, str]) -> None:
    """Deletes so many rows in the steps and pauses of the daemon, beside the stream of calls."""
    steps: list[float] = []
    deleted = 0

    def step(conn: sqlite3.Connection) -> int:
        began = time.perf_counter()
        gone = delete_old(conn, (FIRST_DAY + DAYS) * DAY_MS, retention.STEP_ROWS)
        steps.append((time.perf_counter() - began) * 1000)
        return gone

    began = time.perf_counter()
    streaming = asyncio.create_task(calls.stream(STREAM_PER_SECOND, None))
    while deleted < most:
        deleted += await calls.database.write(step)
        await calls.database.copy_log()
        await asyncio.sleep(retention.PAUSE_SECONDS)
    figures[f"retention of {deleted:,} rows"] = time.perf_counter() - began
    units[f"retention of {deleted:,} rows"] = "s"
    calls.stopped = True
    await streaming
    figures["one step of retention, median"] = percentile(steps, 0.5)
    figures["one step of retention, 99th percentile"] = percentile(steps, 0.99)
    figures["one step of retention, longest"] = max(steps)


@dataclass
class Calls:
    """Writes what calls write. `took` holds the time of each write in milliseconds, waiting and commit included."""

    database: Database
    took: list[float] = field(default_factory=list)
    begun: int = 0
    written: int = 0
    stopped: bool = False
    notary: Notary = field(
        default_factory=lambda: Notary(Identity("bench/synapse", Signer(Ed25519PrivateKey.generate())))
    )
    ids: Ids = field(default_factory=lambda: Ids(secrets.token_bytes))

    async def stream(self, per_second: int, seconds: float | None) -> list[int]:
        """Begin that many calls a second, each on time whatever the others do; the backlog at ten times a second."""
        running: set[asyncio.Task[None]] = set()
        backlog: list[int] = []
        began, begun, self.begun, self.written = time.perf_counter(), 0, 0, 0
        while not self.stopped and (seconds is None or time.perf_counter() - began < seconds):
            elapsed = time.perf_counter() - began
            while begun < elapsed * per_second:
                task = asyncio.create_task(self._call())
                running.add(task)
                task.add_done_callback(running.discard)
                begun += 1
            if len(backlog) < elapsed * 10:
                backlog.append(self.database.waiting)
            await asyncio.sleep(0.001)
        self.begun = begun
        at_the_end = self.written
        await asyncio.gather(*running)
        self.written = at_the_end
        self.stopped = False
        return backlog

    async def _call(self) -> None:
        now = datetime.now(UTC)
        intent = Intent(
            self.ids.new("prf"),
            "ws_bench",
            "key_bench",
            Gateway("1", "rules", HASH),
            now,
            Request("/v1/chat/completions", "pulse-auto", HASH, 500, False),
            {"kind": "auto"},
            Pii("standard"),
        )
        began = time.perf_counter()
        index = await self.database.write(lambda conn: self.notary.open(conn, intent))
        self.took.append((time.perf_counter() - began) * 1000)
        evidence = Certificate(
            intent,
            index,
            datetime.now(UTC),
            Egress(
                Pii("standard"), proof.Sent("ollama", "qwen3:8b", HASH, 1, Node("node", "desk", "ollama", "loopback"))
            ),
            Response("complete", HASH, 200, HASH),
            Routing("simple", "fast", "task=simple -> fast model (ollama/qwen3:8b)"),
            usage=proof.Usage(100, 200),
        )
        row = _row(intent.id, to_ms(now), secrets.choice(KEYS))

        def ended(conn: sqlite3.Connection) -> None:
            self.notary.close(conn, evidence, workspace_n=1)
            ledger.insert(conn, row)

        began = time.perf_counter()
        await self.database.write(ended)
        self.took.append((time.perf_counter() - began) * 1000)
        self.written += 1


def _row(proof_id: str, at_ms: int, key_n: int) -> LedgerRow:
    return LedgerRow(
        at_ms=at_ms,
        proof_id=proof_id,
        workspace_n=1,
        key_n=key_n,
        user_n=key_n,
        dialect="openai",
        address="pulse-auto",
        ending="complete",
        total_ms=secrets.randbelow(20_000),
        task="simple",
        tier="fast",
        provider="ollama",
        model=secrets.choice(LOCAL_MODELS),
        node=secrets.choice(NODES),
        prompt_tokens=100,
        completion_tokens=200,
        questions_milli=250,
        cost_micro=0,
        full_cost_micro=900,
        queue_ms=0,
        first_token_ms=secrets.randbelow(2_000),
    )


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    asyncio.run(main())
