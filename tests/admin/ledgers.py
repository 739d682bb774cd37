"""A ledger of a few calls, of two keys on two days, as the tests of the API and of the commands read it."""

from typing import Any

from appliance.admin import wire
from appliance.store import keys, ledger
from appliance.store.ledger import LedgerRow
from appliance.times import parse_rfc3339, to_ms
from tests.admin.played import MACHINE, Daemon

LOCAL: dict[str, Any] = {
    "task": "simple", "tier": "fast", "provider": "ollama", "model": "qwen3", "node": MACHINE.id, "prompt_tokens": 100,
    "completion_tokens": 20, "questions_milli": 250, "cost_micro": 0, "full_cost_micro": 500, "first_token_ms": 90,
}  # fmt: skip
OUTSIDE: dict[str, Any] = {
    "task": "complex", "tier": "full", "provider": "openai", "model": "gpt-4o", "prompt_tokens": 1000,
    "completion_tokens": 200, "questions_milli": 4000, "cost_micro": 4500, "full_cost_micro": 4500, "masked": 2,
    "first_token_ms": 400, "left_building": 1,
}  # fmt: skip


async def fill(daemon: Daemon) -> None:
    """Two calls of `laptop`, then three of `n8n` in the workspace `legal`; the last was refused, and the third was sent
    outside before a machine here answered it."""
    await daemon.service.create_workspace("zoe", wire.NewName("legal"))
    await daemon.service.create_key("zoe", wire.NewKey("laptop"))
    await daemon.service.create_key("zoe", wire.NewKey("n8n", workspace="legal"))
    laptop, n8n = await daemon.parts.database.read(keys.list_all)
    calls = [
        ("2026-11-28T10:00:00Z", laptop, "complete", LOCAL),
        ("2026-11-28T23:59:59.999Z", laptop, "length", OUTSIDE),
        ("2026-11-29T00:00:00Z", n8n, "complete", {**LOCAL, "left_building": 1}),
        ("2026-11-29T09:00:00Z", n8n, "failed", {**OUTSIDE, "questions_milli": 0, "cost_micro": None}),
        ("2026-11-29T09:00:01Z", n8n, "refused", {}),
    ]
    for n, (at, key, ending, more) in enumerate(calls):
        row = LedgerRow(
            at_ms=to_ms(parse_rfc3339(at)),
            proof_id=f"prf_{n}",
            workspace_n=key.workspace_n,
            key_n=key.key_n,
            user_n=key.user_n,
            dialect="openai",
            address="=pulse-auto",
            ending=ending,
            total_ms=1200,
            **more,
        )
        await daemon.parts.database.write(lambda conn, row=row: ledger.insert(conn, row))
