"""Real faults, planted in a real installation: each is found, named, and told with what to do."""

import argparse
import os
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from appliance.admin.policy_wire import NewProvider
from appliance.backup import last
from appliance.backup.last import LastBackup
from appliance.commands import doctor
from appliance.commands.invocation import Invocation
from appliance.commands.outcome import Outcome
from appliance.store.ownership import sole_owner
from appliance.store.sealing import Sealer
from tests.box import Box, box
from tests.upstreams.ollama import OllamaDouble, ollama_double
from tests.upstreams.openai import openai_double

KEY = "sk-a-key-that-nobody-may-see"
DEAD = "http://127.0.0.1:1"


async def run(state_dir: Path, *, online: bool = False, now: datetime | None = None, **environ: str) -> Outcome:
    """With a port that the system chooses, unless `environ` says another."""
    named = {
        "SYNAPSE_STATE_DIR": str(state_dir),
        "SYNAPSE_GATEWAY__PORT": "0",
        "SYNAPSE_GATEWAY__HOST": "127.0.0.1",
        "SYNAPSE_DISCOVERY__ENABLED": "false",
        "SYNAPSE_CONFIG": str(state_dir.parent / "none.toml"),
        **environ,
    }
    (state_dir.parent / "none.toml").touch()
    call = Invocation(argparse.Namespace(config=None), named, lambda: now or datetime.now(UTC))
    return await doctor.run(call, online=online)


def found(outcome: Outcome, check: str, state: str) -> str:
    """What is said and advised of a check that has this state."""
    said = [
        f"{one['said']} {one['advice']}"
        for one in outcome.document["findings"]
        if (one["check"], one["state"]) == (check, state)
    ]
    assert said, outcome.document["findings"]
    assert outcome.code == (1 if outcome.document["failed"] else 0)
    return " ".join(said)


@pytest.fixture
def state_dir(gateway: Box) -> Path:
    """Of a gateway that runs, with one machine."""
    gateway.state_dir.chmod(0o700)
    for path in gateway.state_dir.glob("synapse.db*"):
        path.chmod(0o600)
    return gateway.state_dir


@pytest.fixture
async def stopped(tmp_path: Path, ollama: OllamaDouble) -> Path:
    """The state that a gateway left, after a call."""
    state_dir = tmp_path / "state"
    async with box(state_dir, ollama.url) as gateway:
        assert (await gateway.chat()).status_code == 200
    state_dir.chmod(0o700)
    (state_dir / "synapse.db").chmod(0o600)
    return state_dir


class TestWhileItRuns:
    async def test_where_nothing_is_wrong_nothing_fails(self, gateway: Box, state_dir: Path):
        port = gateway.url.rpartition(":")[2]
        outcome = await run(state_dir, SYNAPSE_GATEWAY__PORT=port)
        failures = [one for one in outcome.document["findings"] if one["state"] == "failed"]
        assert [one for one in failures if one["check"] != "service"] == []
        assert "opens the database's secrets" in found(outcome, "key file", "ok")
        assert gateway.url in found(outcome, "gateway port", "ok")
        assert "double" in found(outcome, "models", "ok")
        assert "8192 tokens" in found(outcome, "context", "ok")

    async def test_no_ollama(self, tmp_path: Path):
        async with box(tmp_path / "state", DEAD):
            outcome = await run(tmp_path / "state")
        assert "ollama serve" in found(outcome, "machines", "failed")
        assert "connection refused" in found(outcome, "machine 127.0.0.1:1", "warning")
        assert outcome.code == 1

    async def test_a_model_that_nobody_has(self, gateway: Box, state_dir: Path):
        await gateway.admin.set_model("full", "qwen3:70b")
        assert "ollama pull qwen3:70b" in found(await run(state_dir), "models", "failed")

    async def test_no_model_at_all(self, tmp_path: Path):
        async with ollama_double(models=[]) as empty, box(tmp_path / "state", empty.url):
            assert "ollama pull" in found(await run(tmp_path / "state"), "models", "failed")

    async def test_a_machine_whose_models_nobody_asks_for(self, tmp_path: Path, ollama: OllamaDouble):
        async with (
            ollama_double(models=["other:1b"]) as other,
            box(tmp_path / "state", ollama.url, other.url) as gateway,
        ):
            await gateway.admin.set_model("full", "double")
            outcome = await run(tmp_path / "state")
        name = other.url.removeprefix("http://")
        assert "none of the models in use" in found(outcome, f"machine {name}", "warning")

    @pytest.mark.parametrize("fields", [{"loaded_context": 1024}, {"context_length": 512}])
    async def test_a_tiny_context(self, tmp_path: Path, fields: dict[str, Any]):
        async with ollama_double(**fields) as tiny, box(tmp_path / "state", tiny.url):
            told = found(await run(tmp_path / "state"), "context", "warning")
        assert f"{next(iter(fields.values()))} tokens" in told

    async def test_a_key_that_the_provider_refuses(self, gateway: Box, state_dir: Path):
        async with openai_double(key="sk-another") as theirs:
            new = NewProvider("rack", "openai-compatible", theirs.url, KEY, "gpt-double")
            await gateway.admin.put_provider(new)
            untried = await run(state_dir)
            assert theirs.received == theirs.asked == []
            outcome = await run(state_dir, online=True)
        assert "it was not tried" in found(untried, "provider rack", "ok")
        assert "key" in found(outcome, "provider rack", "failed")
        assert KEY not in str(outcome)

    async def test_a_key_that_does_not_open(self, gateway: Box, state_dir: Path):
        await gateway.admin.put_provider(NewProvider("openai", "openai", key=KEY, full="gpt-4o"))
        with closing(sqlite3.connect(state_dir / "synapse.db", isolation_level=None)) as conn:
            conn.execute("UPDATE providers SET sealed = ?", (Sealer(bytes(32)).seal("provider:openai", b"x"),))
        assert "--key-stdin" in found(await run(state_dir), "provider openai", "failed")

    @pytest.mark.parametrize(("mode", "state"), [(0o755, "warning"), (0o777, "failed")])
    async def test_a_state_directory_that_is_open(self, state_dir: Path, mode: int, state: str):
        os.chmod(state_dir, mode)  # noqa: PTH101  nothing waits for a temporary directory
        assert f"chmod 700 {state_dir}" in found(await run(state_dir), "state directory", state)

    async def test_a_socket_that_is_open_to_all(self, state_dir: Path):
        (state_dir / "admin.sock").chmod(0o666)
        assert "chmod 660" in found(await run(state_dir), "admin socket", "failed")

    async def test_a_database_that_others_can_read(self, state_dir: Path):
        (state_dir / "synapse.db").chmod(0o644)
        assert "chmod 600" in found(await run(state_dir), "state directory", "failed")

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    async def test_a_file_that_root_made(self, state_dir: Path):
        os.chown(state_dir / "synapse.db", 12345, 12345)
        assert f"chown root {state_dir / 'synapse.db'}" in found(await run(state_dir), "state directory", "failed")

    async def test_settings_that_have_changed_since(self, state_dir: Path):
        told = found(await run(state_dir, SYNAPSE_GATEWAY__PORT="9"), "gateway port", "warning")
        assert "the settings say port 9" in told

    async def test_a_clock_that_went_back(self, gateway: Box, state_dir: Path):
        assert (await gateway.chat()).status_code == 200
        told = found(await run(state_dir, now=datetime.now(UTC) - timedelta(hours=2)), "clock", "failed")
        assert "newest call of the ledger" in told

    async def test_a_clock_that_was_never_set(self, state_dir: Path):
        told = found(await run(state_dir, now=datetime(2000, 1, 1, tzinfo=UTC)), "clock", "failed")
        assert "2000-01-01" in told


class TestWhileItIsStopped:
    async def test_it_says_so_and_checks_the_rest(self, stopped: Path, ollama: OllamaDouble):
        outcome = await run(stopped, SYNAPSE_LOCAL__OLLAMA=ollama.url)
        assert "synapse serve" in found(outcome, "daemon", "warning")
        assert "It is whole" in found(outcome, "database", "ok")
        assert "ollama 0.32.15; double" in found(outcome, f"machine {ollama.url}", "ok")
        assert outcome.document["failed"] == sum(one["check"] == "service" for one in failures(outcome))

    async def test_no_ollama(self, stopped: Path):
        outcome = await run(stopped, SYNAPSE_LOCAL__OLLAMA=DEAD)
        assert "connection refused" in found(outcome, f"machine {DEAD}", "warning")

    async def test_the_port_is_taken(self, stopped: Path):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            told = found(await run(stopped, SYNAPSE_GATEWAY__PORT=port), "gateway port", "failed")
        assert f"(process {os.getpid()})" in told

    async def test_a_key_file_that_others_can_read(self, stopped: Path):
        (stopped / "secret.key").chmod(0o644)
        assert "chmod 600" in found(await run(stopped), "key file", "failed")

    async def test_the_key_file_of_another_installation(self, stopped: Path):
        (stopped / "secret.key").write_bytes(bytes(32))
        assert "does not open with this key file" in found(await run(stopped), "key file", "failed")

    async def test_no_key_file(self, stopped: Path):
        (stopped / "secret.key").unlink()
        assert "synapse restore" in found(await run(stopped), "key file", "failed")
        assert not (stopped / "secret.key").exists()

    async def test_a_key_file_that_is_cut(self, stopped: Path):
        (stopped / "secret.key").write_bytes(b"short")
        assert "5 bytes instead of 32" in found(await run(stopped), "key file", "failed")

    async def test_a_damaged_database(self, stopped: Path):
        file = stopped / "synapse.db"
        content = bytearray(file.read_bytes())
        content[4096 * 3 : 4096 * 9] = b"\xff" * 4096 * 6
        file.write_bytes(content)
        assert "synapse restore FILE" in found(await run(stopped), "database", "failed")

    async def test_an_index_that_lost_an_entry(self, stopped: Path):
        with closing(sqlite3.connect(stopped / "synapse.db", isolation_level=None)) as conn:
            conn.execute("PRAGMA writable_schema = ON")
            conn.execute(
                "UPDATE sqlite_schema SET sql = replace(sql, '(model', '(dialect') WHERE name = 'ledger_by_model'"
            )
        assert "It is damaged" in found(await run(stopped), "database", "failed")

    async def test_what_is_no_database(self, stopped: Path):
        (stopped / "synapse.db").write_bytes(b"hello " * 1000)
        assert "not a database" in found(await run(stopped), "database", "failed")

    async def test_another_programs_database(self, stopped: Path):
        with closing(sqlite3.connect(stopped / "synapse.db", isolation_level=None)) as conn:
            conn.execute("PRAGMA application_id = 5")
        assert "another program" in found(await run(stopped), "database", "failed")

    async def test_a_newer_schema(self, stopped: Path):
        with closing(sqlite3.connect(stopped / "synapse.db", isolation_level=None)) as conn:
            conn.execute("PRAGMA user_version = 999")
        assert "has schema 999" in found(await run(stopped), "database", "failed")

    async def test_no_backup_and_an_old_one(self, stopped: Path):
        assert "synapse backup FILE" in found(await run(stopped), "backup", "warning")
        with closing(sqlite3.connect(stopped / "synapse.db")) as conn:
            (name,) = conn.execute("SELECT id FROM installation").fetchone()
        eight_days_ago = datetime.now(UTC) - timedelta(days=8, minutes=1)
        last.write(stopped, LastBackup(eight_days_ago, "/mnt/office.backup", 5, True, name))
        assert "8 days old" in found(await run(stopped), "backup", "warning")
        last.write(stopped, LastBackup(datetime.now(UTC), "/mnt/office.backup", 5, True, "another"))
        assert "another's" in found(await run(stopped), "backup", "warning")
        last.write(stopped, LastBackup(datetime.now(UTC), "/mnt/office.backup", 5, True, name))
        assert "/mnt/office.backup" in found(await run(stopped), "backup", "ok")

    async def test_a_restore_that_was_interrupted(self, stopped: Path):
        (stopped / "restore-T.ready").mkdir()
        assert "interrupted" in found(await run(stopped), "state directory", "warning")
        assert (stopped / "restore-T.ready").is_dir()

    async def test_what_a_restore_has_kept(self, stopped: Path):
        (stopped / "replaced-T").mkdir()
        assert "replaced-T" in found(await run(stopped), "state directory", "warning")

    async def test_a_socket_that_a_daemon_left(self, stopped: Path):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(stopped / "admin.sock"))
        (stopped / "admin.sock").chmod(0o660)
        assert "the next start removes it" in found(await run(stopped), "admin socket", "ok")

    async def test_a_file_where_the_socket_should_be(self, stopped: Path):
        (stopped / "admin.sock").touch()
        assert "is no socket" in found(await run(stopped), "admin socket", "failed")

    async def test_a_daemon_on_another_socket(self, stopped: Path):
        with sole_owner(stopped):
            told = found(await run(stopped), "daemon", "failed")
        assert f"Process {os.getpid()} owns the state directory" in told

    async def test_wrong_settings_are_the_last_that_can_be_checked(self, tmp_path: Path):
        (tmp_path / "wrong.toml").write_text("[gateway]\nprot = 1\n")
        outcome = await run(tmp_path / "state", SYNAPSE_CONFIG=str(tmp_path / "wrong.toml"))
        assert "Did you mean gateway.port?" in found(outcome, "configuration", "failed")
        assert len(outcome.document["findings"]) == 1

    async def test_an_interface_that_is_not_there(self, stopped: Path):
        outcome = await run(stopped, SYNAPSE_DISCOVERY__ENABLED="true", SYNAPSE_DISCOVERY__INTERFACES="nosuch0")
        assert "nosuch0" in found(outcome, "discovery", "warning")

    async def test_nothing_is_changed_by_looking(self, stopped: Path):
        def files() -> dict[str, bytes]:
            kept = [path for path in stopped.iterdir() if path.name[-4:] not in ("-wal", "-shm")]
            return {path.name: path.read_bytes() for path in kept}

        before = files()
        await run(stopped)
        assert files() == before


def failures(outcome: Outcome) -> list[dict[str, str]]:
    return [one for one in outcome.document["findings"] if one["state"] == "failed"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MB of its own."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs root and mount")
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"mount: {made.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


async def test_a_disk_that_is_nearly_full(small_disk: Path, stopped: Path):
    shutil.copytree(stopped, small_disk / "state")
    (small_disk / "state").chmod(0o700)
    told = found(await run(small_disk / "state"), "disk space", "failed")
    assert "67.1 MB are free" in told
