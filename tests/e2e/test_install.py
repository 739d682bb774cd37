"""`scripts/install` below a directory of the test's own, and the units that it installs."""

import json
import os
import re
import shutil
import signal
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.needs import need
from tests.e2e.service import Service

ROOT = Path(__file__).parents[2]
INSTALL = ROOT / "scripts/install"
SERVICES = sorted((ROOT / "systemd").glob("*.service"))
UNITS = sorted([*SERVICES, *(ROOT / "systemd").glob("*.timer")])
MACHINE = [Path(path) for path in ("/etc/systemd/system", "/etc/synapse", "/opt", "/usr/local/bin", "/etc/passwd")]
"""Where an installation without `--root` would leave something."""

MAX_EXPOSURE = 15
"""Tenths; operations.md, "Service"."""


class Below:
    """One installation below a directory, with programs in the path that must not be called."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.called = folder / "called"
        decoys = folder / "bin"
        decoys.mkdir()
        for name in ("systemctl", "systemd-sysusers", "systemd-tmpfiles", "userdel", "journalctl"):
            (decoys / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{self.called}\n')
            (decoys / name).chmod(0o755)
        self.environ = {**os.environ, "PATH": f"{decoys}:{os.environ['PATH']}"}

    def run(self, *arguments: str, code: int = 0, text: str | None = None) -> str:
        """What it says, on both outputs."""
        done = subprocess.run(
            [INSTALL, *arguments, "--root", self.root],
            env=self.environ,
            input=text,
            stdin=subprocess.DEVNULL if text is None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    @property
    def synapse(self) -> Path:
        return self.root / "usr/local/bin/synapse"


def traces() -> dict[str, int]:
    """When each of the machine's own places was changed last."""
    return {str(path): path.stat().st_mtime_ns for path in MACHINE if path.exists()}


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Below]:
    made = Below(tmp_path_factory.mktemp("install"))
    (made.root / "usr/share/fish").mkdir(parents=True)
    before = traces()
    said = made.run()
    assert "installed" in said
    assert "synapse key create --name first" in said
    yield made
    assert traces() == before
    assert not made.called.exists(), made.called.read_text()


def test_everything_is_below_the_directory_and_others_may_read_it(below: Below):
    for name in ("synapse.service", "synapse-backup.service", "synapse-backup.timer"):
        assert (below.root / "etc/systemd/system" / name).read_text() == (ROOT / "systemd" / name).read_text()
    for name in ("sysusers.d/synapse.conf", "tmpfiles.d/synapse.conf"):
        assert (below.root / "etc" / name).stat().st_mode & 0o777 == 0o644
    assert 'tls = "auto"' in (below.root / "etc/synapse/synapse.toml").read_text()
    shown = subprocess.run([below.synapse, "version"], capture_output=True, text=True, check=True, cwd="/", env={})
    assert "0.1.0" in shown.stdout
    for path in (below.root / "opt/synapse/venv/").rglob("*.py"):
        assert path.stat().st_mode & 0o044 == 0o044, path


def test_every_file_of_the_program_is_there(below: Below):
    """An editable installation, as all others are, would not show that one is missing."""
    (packages,) = (below.root / "opt/synapse/venv/lib").glob("python3*/site-packages")
    folders = (ROOT / "appliance", ROOT / "tui")
    files = [path.relative_to(ROOT) for folder in folders for path in folder.rglob("*") if path.is_file()]
    wanted = [path for path in files if path.suffix != ".pyc"]
    assert len(wanted) > 100
    assert [path for path in wanted if (packages / path).read_bytes() != (ROOT / path).read_bytes()] == []


def test_a_shell_that_is_there_is_given_its_completion(below: Below):
    share = below.root / "usr/local/share"
    for path in (share / "bash-completion/completions/synapse", below.root / "etc/fish/completions/synapse.fish"):
        assert path.stat().st_mode & 0o777 == 0o644
        assert "/opt/synapse/venv/bin/synapse" in path.read_text()
        assert str(below.root) not in path.read_text()
    assert not (share / "zsh").exists()


def test_a_second_run_changes_nothing(below: Below):
    (below.root / "etc/synapse/synapse.toml").write_text("# mine\n")
    files = {path: path.stat().st_mtime_ns for path in below.root.rglob("*") if path.is_file()}
    said = below.run()
    assert "unchanged" in said
    assert "kept" in said
    assert {path: path.stat().st_mtime_ns for path in below.root.rglob("*") if path.is_file()} == files


def test_it_leaves_nothing_in_the_clone(below: Below):
    assert below.root.exists()
    assert not (ROOT / "build").exists()


@pytest.fixture
def units(below: Below, tmp_path: Path) -> list[Path]:
    """With the paths of the installation."""
    need("systemd-analyze")
    copies: list[Path] = []
    for unit in UNITS:
        copies.append(tmp_path / unit.name)
        copies[-1].write_text(unit.read_text().replace("/opt/synapse", f"{below.root}/opt/synapse"))
    return copies


def test_systemd_finds_nothing_wrong_with_the_units(units: list[Path]):
    done = subprocess.run(
        ["systemd-analyze", "verify", *units], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("unit", SERVICES, ids=lambda path: path.name)
def test_a_service_is_exposed_to_little(unit: Path):
    need("systemd-analyze")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", f"--threshold={MAX_EXPOSURE}", "--no-pager", unit],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert judged.returncode == 0, judged.stdout[-300:]
    assert float(re.findall(r"exposure level for \S+: ([0-9.]+)", judged.stdout)[0]) <= MAX_EXPOSURE / 10


def service(below: Below) -> Service:
    """The installed program, and nothing of the clone."""
    made = Service(below.root / "var/lib/synapse")
    made.program = below.synapse
    made.environ["PYTHONPATH"] = ""
    return made


def test_an_upgrade_keeps_keys_and_certificates(below: Below):
    """From a release of another name, as an older clone has left it."""
    releases = below.root / "opt/synapse/releases"
    (release,) = releases.iterdir()
    shutil.copytree(release, releases / "0.0.9-older", symlinks=True)
    link = below.root / "opt/synapse/venv"
    link.unlink()
    link.symlink_to("releases/0.0.9-older")
    (below.root / "var/lib").mkdir(parents=True)
    made = service(below)
    try:
        made.start()
        ca = made.ca.read_bytes()
        keys = made.command("proof", "keys").stdout
        assert made.stop() == 0
        assert f"installed   {link}" in below.run("--upgrade")
        assert [path.name for path in releases.iterdir()] == [release.name]
        made.start()
        assert made.ca.read_bytes() == ca
        assert made.command("proof", "keys").stdout == keys
        listed = json.loads(made.command("key", "list", "--json").stdout)["keys"]
        assert [(key["name"], key["state"]) for key in listed] == [("e2e", "active")]
        assert made.stop(signal.SIGTERM) == 0
    finally:
        made.close()


def test_what_a_person_needs_next_is_said_and_the_first_key_once(below: Below):
    made = service(below)
    made.key = "none is made"
    made.start()
    try:
        for key in made.json("key", "list")["keys"]:
            made.command("key", "revoke", key["id"])
        etc = below.root / "etc/synapse"
        words = (ROOT / "scripts/lib/welcome.sh", below.synapse, etc)
        first, second = (
            subprocess.run(
                ["bash", "-euo", "pipefail", "-c", 'source "$0"; welcome "$1" "$2"', *words],
                env=made.environ,
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            ).stdout
            for _ in range(2)
        )
        assert f"Base URL   {made.base}/v1" in first
        (secret,) = re.findall(r"API key    (sk_live_\w+)", first)
        assert "shown this once" in first
        assert secret not in second
        assert "synapse key create" in second
        for said in (first, second):
            assert "NODE_EXTRA_CA_CERTS" in said
        trust = ssl.create_default_context(cafile=str(etc / "ca.pem"))
        answer = httpx.get(
            f"{made.base}/v1/models", headers={"authorization": f"Bearer {secret}"}, verify=trust, trust_env=False
        )
        assert answer.status_code == 200
    finally:
        made.close()
    assert sorted(path.name for path in etc.iterdir()) == ["ca.pem", "synapse.toml"]


def test_a_node_is_given_its_key_and_keeps_it(below: Below):
    assert "this is no cluster key" in below.run("--node", code=1, text="a password\n")
    below.run("--node", text="synk_example\n")
    key = below.root / "etc/synapse/cluster.key"
    assert (key.read_text(), key.stat().st_mode & 0o777) == ("synk_example\n", 0o600)
    assert "kept" in below.run("--node", text="synk_other\n")
    assert key.read_text() == "synk_example\n"
    assert (below.root / "etc/systemd/system/synapse-node.service").exists()


def test_uninstalling_keeps_state_and_settings_and_purging_backups(below: Below):
    state, backups = below.root / "var/lib/synapse", below.root / "var/lib/synapse-backup"
    backups.mkdir()
    (backups / "synapse-1.backup").touch()
    assert "kept" in below.run("--uninstall")
    assert (state / "synapse.db").exists()
    left = {str(path.relative_to(below.root)) for path in below.root.rglob("*") if not path.is_dir()}
    kept = {f"etc/synapse/{name}" for name in ("synapse.toml", "cluster.key", "ca.pem")}
    assert {name for name in left if not name.startswith("var/")} == kept
    assert "nothing to upgrade" in below.run("--upgrade", code=1)
    below.run("--uninstall", "--purge")
    assert not any((below.root / name).exists() for name in ("var/lib/synapse", "etc/synapse", "opt/synapse"))
    assert (backups / "synapse-1.backup").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--purge"], "--purge goes with --uninstall"),
        (["--uninstall", "--node"], "goes with"),
        (["--rot"], "no option"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_done(tmp_path: Path, arguments: list[str], said: str):
    done = subprocess.run([INSTALL, *arguments], capture_output=True, text=True, timeout=10, check=False, cwd=tmp_path)
    assert done.returncode != 0
    assert said in done.stderr
