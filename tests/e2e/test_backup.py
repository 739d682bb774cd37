"""Backup and restore of a real daemon, with what goes wrong in life: kill -9 of each of the processes."""

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance.store.ownership import sole_owner
from tests.e2e.installation import SYNAPSE, Installation
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parent.parent.parent
PASSPHRASE = "correct horse battery"
DEAD = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A daemon without machines, which is not ready and can be administered. Each test leaves it running."""
    directory = tmp_path_factory.mktemp("backup")
    (directory / "pass").write_text(PASSPHRASE + "\n")
    made = Installation(directory / "state", DEAD)
    made.start(ready=503)
    yield made
    assert made.stop() == 0


def passphrase(made: Installation) -> tuple[str, str]:
    return "--passphrase-file", str(made.state_dir.parent / "pass")


def users(made: Installation) -> set[str]:
    return {user["name"] for user in made.json("user", "list")["users"]}


def grow(state_dir: Path, megabytes: int) -> None:
    """Make the database so large that its copying takes a moment."""
    with closing(sqlite3.connect(state_dir / "synapse.db", isolation_level=None)) as conn:
        conn.execute("INSERT OR REPLACE INTO storage_probe VALUES (1, randomblob(?))", (megabytes * 1_000_000,))


def test_there_and_back_with_a_daemon_that_dies_in_between(made: Installation, tmp_path: Path):
    made.command("user", "create", "zoe")
    backup = made.json("backup", str(tmp_path / "office.backup"), *passphrase(made))
    keys = made.command("proof", "keys").stdout
    made.command("user", "create", "bob")
    assert made.command("restore", backup["file"], *passphrase(made), code=1).stderr.startswith(
        b"synapse: Another daemon"
    )
    assert made.stop(signal.SIGKILL) == -signal.SIGKILL

    restored = made.json("restore", backup["file"], *passphrase(made))
    assert restored["installation"] == backup["installation"]
    assert (made.state_dir / "keys.json").read_bytes() == keys
    made.start(ready=503)
    assert users(made) == {"admin", "zoe"}
    assert made.command("proof", "keys").stdout == keys
    found = {one["check"]: one for one in json.loads(made.command("doctor", "--json", code=1).stdout)["findings"]}
    assert found["backup"]["state"] == "ok"
    assert found["database"]["state"] == "ok"
    assert found["machines"]["state"] == "failed"  # there are none

    with closing(sqlite3.connect(Path(restored["replaced"]) / "synapse.db")) as old:
        assert old.execute("SELECT count(*) FROM users WHERE name = 'bob'").fetchone() == (1,)


def test_the_pages_own_program_opens_it(made: Installation, tmp_path: Path):
    made.command("backup", str(tmp_path / "office.backup"), *passphrase(made))
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "backup.md").read_text(), re.DOTALL)
    opened = subprocess.run(
        [sys.executable, "-W", "ignore::ResourceWarning", "-c", program, str(tmp_path / "office.backup")],
        input=PASSPHRASE.encode() + b"\n",
        capture_output=True,
        check=True,
        timeout=60,
    )
    (tmp_path / "backup.tar").write_bytes(opened.stdout)
    with tarfile.open(tmp_path / "backup.tar") as tar:
        tar.extractall(tmp_path / "out", filter="data")
    assert (tmp_path / "out" / "secret.key").read_bytes() == (made.state_dir / "secret.key").read_bytes()
    with closing(sqlite3.connect(tmp_path / "out" / "synapse.db")) as conn:
        assert ("admin",) in conn.execute("SELECT name FROM users").fetchall()


def test_a_client_that_dies_in_the_middle_leaves_no_backup_and_the_daemon_serves_on(made: Installation, tmp_path: Path):
    grow(made.state_dir, 60)
    target = tmp_path / "out"
    target.mkdir()
    command = [SYNAPSE, "backup", str(target / "office.backup"), *passphrase(made)]
    client = subprocess.Popen(command, env=made.environ, stderr=subprocess.DEVNULL)
    wait_until(lambda: any(file.stat().st_size > 1_000_000 for file in target.iterdir()))
    client.kill()
    client.wait(10)
    assert not (target / "office.backup").exists()

    wait_until(lambda: is_made(made, tmp_path / "next.backup"))
    assert sorted(path.name for path in made.state_dir.iterdir() if path.name.endswith(".part")) == []


def is_made(made: Installation, file: Path) -> bool:
    command = [SYNAPSE, "backup", str(file), *passphrase(made)]
    return subprocess.run(command, env=made.environ, capture_output=True, timeout=60, check=False).returncode == 0


def test_a_daemon_that_dies_in_the_middle_leaves_no_backup_and_no_copy(made: Installation, tmp_path: Path):
    grow(made.state_dir, 60)
    command = [SYNAPSE, "backup", str(tmp_path / "office.backup"), *passphrase(made)]
    client = subprocess.Popen(command, env=made.environ, stderr=subprocess.PIPE)
    wait_until(lambda: (made.state_dir / "backup.part").exists())
    assert made.stop(signal.SIGKILL) == -signal.SIGKILL
    _, told = client.communicate(timeout=30)
    assert client.returncode == 1
    assert told.count(b"\n") == 1
    assert not (tmp_path / "office.backup").exists()
    made.start(ready=503)
    assert not (made.state_dir / "backup.part").exists()


def test_a_restore_that_is_killed_leaves_the_old_state_or_the_new(made: Installation, tmp_path: Path):
    for before in made.state_dir.glob("replaced-*"):
        shutil.rmtree(before)
    grow(made.state_dir, 30)
    made.command("backup", str(tmp_path / "office.backup"), *passphrase(made))
    assert made.stop() == 0
    command = [SYNAPSE, "restore", str(tmp_path / "office.backup"), *passphrase(made)]
    seen: list[bool] = []
    for place in ("restore.part", "restore.part/synapse.db", "restore-*.ready", "replaced-*"):
        with closing(sqlite3.connect(made.state_dir / "synapse.db")) as conn:
            conn.execute("INSERT OR REPLACE INTO live_settings (name, value) VALUES ('later', '1')")
            conn.commit()
        killed = subprocess.Popen(command, env=made.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while killed.poll() is None and not any(made.state_dir.glob(place)):
            assert time.monotonic() < until, place
            time.sleep(0.0005)
        killed.kill()
        killed.wait(10)
        with sole_owner(made.state_dir), closing(sqlite3.connect(made.state_dir / "synapse.db")) as conn:
            assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            old = conn.execute("SELECT 1 FROM live_settings WHERE name = 'later'").fetchone() is not None
            restored = "SELECT count(*) FROM audit WHERE action = 'backup.restore' AND after LIKE ?"
            restores = conn.execute(restored, (f"%{tmp_path}%",)).fetchone()
        seen.append(old)
        if not old:
            assert restores == (1,)
            (kept,) = made.state_dir.glob("replaced-*")
            shutil.rmtree(kept)
        assert [path.name for path in made.state_dir.iterdir() if path.name.startswith("re")] == []
    assert seen[-1] is False  # it was decided, and so it is done
    made.start(ready=503)
