from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from appliance.admin import wire
from appliance.admin.client import Client
from appliance.backup import last
from appliance.backup.last import LastBackup
from appliance.store import installation, ledger
from appliance.store.ledger import LedgerRow
from appliance.times import to_ms
from tests.admin.played import MACHINE, NOW, Daemon
from tests.tui.seats import Seat

CALL = wire.Call("2026-11-29T18:56:00.000Z", "prf_1", "default", "simple", "smollm2", "desk", "complete", 1234, 10, 5)
ROW = LedgerRow(
    to_ms(NOW), "prf_1", 1, 1, 1, "openai", "pulse-auto", "complete", 1234, provider="ollama", first_token_ms=250,
    cost_micro=0, full_cost_micro=20_000,
)  # fmt: skip


async def test_a_fresh_installation_is_told_what_to_do_next(seat: Seat, daemon: Daemon):
    await seat.sees("What to do next", "No tool has a key yet: press 5, then n", "No backup yet")
    daemon.machines.machines = []
    daemon.lane_problem = "no machine that runs models is reachable"
    await seat.sees(
        "✗ not ready", "no machine that runs models is reachable", "1. No model answers yet: press 8, then p"
    )


async def test_what_is_done_is_not_asked_for_again(seat: Seat, client: Client, daemon: Daemon, tmp_path: Path):
    await seat.sees("What to do next")
    await client.create_key(wire.NewKey("n8n"))
    name = await daemon.parts.database.read(installation.get)
    last.write(tmp_path, LastBackup(NOW, "/x", 1, True, name or ""))
    await seat.sees("1 key · 0 running now")
    for _ in range(100):
        if "What to do next" not in seat.text():
            break
        await seat.pilot.pause(0.05)
    assert "What to do next" not in seat.text()


@pytest.fixture
async def two_calls(client: Client, daemon: Daemon) -> None:
    await client.create_key(wire.NewKey("n8n"))
    left = ROW._replace(proof_id="prf_2", provider="openai", left_building=1, masked=3, cost_micro=12_000)
    yesterday = ROW._replace(proof_id="prf_0", at_ms=to_ms(NOW - timedelta(days=1)), left_building=1)
    for row in (ROW, left, yesterday):
        await daemon.parts.database.write(lambda conn, row=row: ledger.insert(conn, row))


async def test_what_today_came_to_and_what_of_it_left(two_calls: None, seat: Seat, daemon: Daemon):
    await seat.sees("⌂ stayed       1 calls", "↗ left         1 calls   3 values masked")
    await seat.sees("First token", "(median)", "Cost         $0.012   saved $0.028")


async def test_last_calls_and_lanes(seat: Seat, daemon: Daemon):
    daemon.activity.calls = [CALL, replace(CALL, proof_id="prf_2", ending="failed", model=None, node=None)]
    daemon.activity.running = 2
    daemon.machines.machines = [MACHINE, replace(MACHINE, id="b", name="b")]
    await seat.sees("2 running now", "stays here · 2 machines", "11-29 18:56", "✓ complete", "✗ failed", "1.23 s")
