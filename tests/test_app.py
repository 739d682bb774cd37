import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.admin.client import Client
from appliance.admin.policy_wire import NewProvider, Price
from appliance.admin.wire import NewKey
from appliance.app import running
from appliance.errors import ConfigError, StateError
from appliance.settings import load
from appliance.store import ledger, live_settings
from appliance.store.database import Database
from appliance.times import to_ms
from tests.box import box
from tests.upstreams.ollama import OllamaDouble
from tests.waiting import until


def settings(state_dir: Path, **environ: str):
    named = {"SYNAPSE_STATE_DIR": str(state_dir), "SYNAPSE_DISCOVERY__ENABLED": "false", **environ}
    return load(None, named, system_file=state_dir / "none.toml")


async def test_a_second_start_keeps_keys_identity_and_certificates(tmp_path: Path, ollama: OllamaDouble):
    async with box(tmp_path / "state", ollama.url) as first:
        proof_id = (await first.chat()).headers["x-pulse-proof"]
        file, keys, key = await first.admin.proof(proof_id), first.app.public_keys, first.key
    async with box(tmp_path / "state", ollama.url) as second:
        assert second.app.public_keys == keys
        second.http.headers["authorization"] = f"Bearer {key}"
        assert (await second.chat()).status_code == 200
        assert (await second.http.get(f"/v1/proofs/{proof_id}")).content == file


async def test_a_model_that_was_set_is_in_force_after_a_restart(tmp_path: Path, ollama: OllamaDouble):
    ollama.models = ["one", "two"]
    async with box(tmp_path / "state", ollama.url) as first:
        assert (await first.chat()).json()["model"] == "one"
        await first.admin.set_model("full", "two")
        assert (await first.chat()).json()["model"] == "two"
    async with box(tmp_path / "state", ollama.url) as second:
        assert (await second.chat()).json()["model"] == "two"


async def test_a_policy_is_in_force_from_the_next_call_on_and_after_a_restart(tmp_path: Path, ollama: OllamaDouble):
    new = NewProvider("openai", "openai", key="sk-a-key-that-nobody-may-see", full="gpt-4o")
    async with box(tmp_path / "state", ollama.url) as first:
        before = await first.certificate((await first.chat()).headers["x-pulse-proof"])
        await first.admin.put_provider(new)
        await first.admin.set_allow_list(("openai",))
        await first.admin.remove_provider("openai")
        refused = await first.chat()
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "provider_not_allowed")
        assert (await first.chat(model="pulse-sensitive")).status_code == 200
        await first.admin.set_allow_list(("ollama",))
        after = await first.certificate((await first.chat()).headers["x-pulse-proof"])
        assert after["gateway"]["policy"] != before["gateway"]["policy"]
        key = first.key
    async with box(tmp_path / "state", ollama.url) as second:
        second.http.headers["authorization"] = f"Bearer {key}"
        again = await second.certificate((await second.chat()).headers["x-pulse-proof"])
        assert again["gateway"]["policy"] == after["gateway"]["policy"]
        assert (await second.admin.policy()).allow == ("ollama",)
    for file in (tmp_path / "state").iterdir():
        assert b"nobody-may-see" not in (file.read_bytes() if file.is_file() else b"")


async def test_a_list_of_one_workspace_leaves_the_others_alone(tmp_path: Path, ollama: OllamaDouble):
    async with box(tmp_path / "state", ollama.url) as made:
        await made.admin.put_provider(NewProvider("half", "openai", key="sk-1"))
        await made.admin.create_workspace("legal")
        await made.admin.set_allow_list(("half",), "legal")
        legal = (await made.admin.create_key(NewKey("legal", workspace="legal"))).secret
        assert (await made.chat()).status_code == 200
        made.http.headers["authorization"] = f"Bearer {legal}"
        assert (await made.chat()).status_code == 403


async def test_changes_at_the_same_time_leave_the_last_one_in_force(tmp_path: Path, ollama: OllamaDouble):
    async with box(tmp_path / "state", ollama.url) as made:
        for _ in range(10):
            async with Client(made.state_dir / "admin.sock") as other:
                await asyncio.gather(
                    *(client.set_unscannable(value) for client, value in ((made.admin, "allow"), (other, "refuse")))
                )
            stored = await made.read(lambda conn: live_settings.get(conn, live_settings.UNSCANNABLE))
            assert (await made.admin.policy()).unscannable == stored


async def test_prices_of_the_settings_go_before_the_public_ones(tmp_path: Path, ollama: OllamaDouble):
    async with box(tmp_path / "state", ollama.url, SYNAPSE_PRICES__MODELS="openai/gpt-4o 1 2") as made:
        put = await made.admin.put_provider(NewProvider("openai", "openai", key="sk-1", full="gpt-4o"))
        assert put.provider.full_price == Price(1_000_000, 2_000_000)


async def test_a_local_answer_is_free_and_the_ledger_says_what_it_saved(tmp_path: Path, ollama: OllamaDouble):
    async with box(tmp_path / "state", ollama.url) as made:
        await made.admin.put_provider(NewProvider("openai", "openai", key="sk-1", full="gpt-4o"))
        await made.admin.set_active("openai")
        row = await made.ledger((await made.chat(model="pulse-sensitive")).headers["x-pulse-proof"])
        # openai.com/api/pricing: GPT-4o is $2.50 and $10 for a million tokens.
        assert row.cost_micro == 0
        assert row.full_cost_micro == int(2.5 * row.prompt_tokens + 10 * row.completion_tokens + 0.5)
        assert row.full_cost_micro > 0


async def test_the_status_names_the_model_that_stands_in(tmp_path: Path, ollama: OllamaDouble):
    async with box(tmp_path / "state", ollama.url) as made:
        roles = {role.role: role for role in (await made.admin.models()).roles}
        assert (roles["full"].configured, roles["full"].effective) == (None, "double")


async def test_what_is_wrong_at_the_start_is_told_and_nothing_is_left_running(tmp_path: Path):
    state = tmp_path / "state"
    state.mkdir()
    with pytest.raises(ConfigError, match="not inside this network"):
        async with running(settings(state, SYNAPSE_LOCAL__OLLAMA="http://8.8.8.8"), {}, base_url=""):
            pass
    database = await Database.open(state / "synapse.db")
    await database.write(lambda conn: conn.execute("PRAGMA user_version = 999"))
    await database.close()
    with pytest.raises(StateError, match="999"):
        async with running(settings(state), {}, base_url=""):
            pass


async def test_rows_older_than_they_are_to_be_kept_go_and_their_certificates_stay(tmp_path: Path, ollama: OllamaDouble):
    async with box(tmp_path / "state", ollama.url) as first:
        old, new = [(await first.chat()).headers["x-pulse-proof"] for _ in range(2)]
        key = first.key
    days_ago = to_ms(datetime.now(UTC)) - 3 * 86_400_000
    with closing(sqlite3.connect(tmp_path / "state/synapse.db")) as conn, conn:
        conn.execute("UPDATE ledger SET at_ms = ? WHERE proof_id = ?", (days_ago, old))

    async with box(tmp_path / "state", ollama.url, SYNAPSE_RETENTION__LEDGER_DAYS="4") as second:
        assert (await second.ledger(old)).at_ms == days_ago
    async with box(tmp_path / "state", ollama.url, SYNAPSE_RETENTION__LEDGER_DAYS="2") as third:
        await until(lambda: not _in_ledger(third.state_dir, old))
        assert _in_ledger(third.state_dir, new)
        third.http.headers["authorization"] = f"Bearer {key}"
        assert (await third.certificate(old))["response"]["ending"] == "complete"


def _in_ledger(state_dir: Path, proof_id: str) -> bool:
    with closing(sqlite3.connect(state_dir / "synapse.db")) as conn:
        return ledger.get(conn, proof_id) is not None
