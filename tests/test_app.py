from pathlib import Path

import pytest

from appliance.app import running
from appliance.errors import ConfigError, StateError
from appliance.settings import load
from appliance.store.database import Database
from tests.box import box
from tests.upstreams.ollama import OllamaDouble


def settings(state_dir: Path, **environ: str):
    return load(None, {"SYNAPSE_STATE_DIR": str(state_dir), **environ}, system_file=state_dir / "none.toml")


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
