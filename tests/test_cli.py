"""The command line as a user has it: through `main`, and as a process of its own where exit codes and pipes matter."""

import asyncio
import json
import os
import pty
import subprocess
import sys
import termios
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.cli import main
from appliance.commands.outcome import Outcome
from appliance.commands.registry import COMMANDS
from tests.admin.played import MACHINE, Daemon, daemon, database, listening
from tests.commands.conftest import Evidence, evidence

__all__ = ["daemon", "database", "evidence", "listening"]

SYNAPSE = [sys.executable, "-c", "import sys; from appliance.cli import main; sys.exit(main())"]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file, socket or variable of the machine that runs the tests is used."""
    for name in list(os.environ):
        if name.startswith("SYNAPSE_"):
            monkeypatch.delenv(name)
    (tmp_path / "none.toml").touch()
    monkeypatch.setenv("SYNAPSE_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("SYNAPSE_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def online(listening: Daemon, monkeypatch: pytest.MonkeyPatch) -> Daemon:
    monkeypatch.setenv("SYNAPSE_ADMIN_SOCKET", str(listening.socket))
    return listening


async def synapse(*argv: str) -> int:
    """`main` in a thread, since the daemon that it asks runs on the test's loop."""
    return await asyncio.to_thread(main, argv)


def on_terminal(*argv: str, columns: int) -> bytes:
    """What a process of its own writes to a terminal, which makes `\\r\\n` of every `\\n`."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (24, columns))
    # Given, since readline, which pytest loads, sets COLUMNS for children behind Python's back.
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    try:
        subprocess.run([*SYNAPSE, *argv], stdout=its, env=environ, timeout=30, check=True)
        os.write(its, b"END")
    finally:
        os.close(its)
    written = b""
    while not written.endswith(b"END"):
        written += os.read(ours, 4096)
    os.close(ours)
    return written.removesuffix(b"END")


class TestOnline:
    async def test_a_life_of_a_key(self, online: Daemon, capsys: pytest.CaptureFixture[str]):
        assert await synapse("user", "create", "zoe") == 0
        assert await synapse("workspace", "create", "legal") == 0
        capsys.readouterr()
        create = (
            "key create --name laptop --user zoe --workspace legal --scope engine --scope proofs --read-only --json"
        )
        assert await synapse(*create.split(), "--ceiling", "12.5", "--rpm", "60", "--expires", "2027-01-31") == 0
        made = json.loads(capsys.readouterr().out)
        key = made["key"]
        assert made["secret"].startswith("sk_live_")
        assert (key["user"], key["workspace"], key["scopes"]) == ("zoe", "legal", ["engine", "proofs"])
        assert (key["read_only"], key["ceiling_milli"], key["requests_per_minute"]) == (True, 12_500, 60)
        assert key["expires"] == "2027-02-01T00:00:00.000Z"

        assert await synapse("key", "list") == 0
        assert "to 2027-01-31" in capsys.readouterr().out
        assert await synapse("key", "revoke", "laptop") == 0
        assert await synapse("key", "list", "--json") == 0
        printed = capsys.readouterr()
        assert printed.out.count('"state": "revoked"') == 1
        assert made["secret"] not in printed.out
        assert printed.err == ""

    @pytest.mark.parametrize(
        "line",
        [
            "status",
            "key list",
            "key create --name a",
            "workspace list",
            "workspace create legal",
            "user list",
            "user create zoe",
            "model list",
            "model set fast qwen3:4b",
            "model unset fast",
            "proof list",
            "version",
        ],
    )
    async def test_each_prints_text_and_one_json_document(
        self, online: Daemon, line: str, capsys: pytest.CaptureFixture[str]
    ):
        assert await synapse(*line.split(), "--json") == 0
        printed = capsys.readouterr()
        assert isinstance(json.loads(printed.out), dict)
        assert printed.err == ""
        other = line.replace("legal", "finance").replace("zoe", "bob")
        assert await synapse(*other.split()) == 0
        printed = capsys.readouterr()
        assert printed.out.strip()
        assert all(len(text) <= 80 for text in printed.out.splitlines())

    @pytest.mark.parametrize("flag", [[], ["--json"]])
    async def test_a_certificate_goes_out_byte_for_byte(
        self, online: Daemon, flag: list[str], capfdbinary: pytest.CaptureFixture[bytes]
    ):
        online.proofs.files["prf_x"] = '{"payload":"é"}'.encode()
        assert await synapse("proof", "show", "prf_x", *flag) == 0
        assert capfdbinary.readouterr().out == '{"payload":"é"}'.encode()
        assert await synapse("proof", "keys", *flag) == 0
        assert capfdbinary.readouterr().out == b'{"keys":[]}'

    @pytest.mark.usefixtures("online")
    async def test_on_a_terminal_a_certificate_ends_its_line(self):
        assert await asyncio.to_thread(on_terminal, "proof", "keys", columns=80) == b'{"keys":[]}\r\n'

    async def test_a_table_is_as_wide_as_the_terminal_and_whole_in_a_file(
        self, online: Daemon, capsys: pytest.CaptureFixture[str]
    ):
        names = tuple(f"model-{number}:70b-instruct" for number in range(20))
        online.machines.machines = [replace(MACHINE, models=names)]
        for columns in (90, 140):
            lines = (await asyncio.to_thread(on_terminal, "model", "list", columns=columns)).decode().splitlines()
            assert max(len(line) for line in lines) == len(lines[-1]) == columns
            assert lines[-1].endswith("…")
        assert await synapse("model", "list") == 0
        assert capsys.readouterr().out.rstrip().endswith(", ".join(names))

    @pytest.mark.parametrize(
        ("line", "code", "message"),
        [
            ("key create --name a --user admn", 1, 'synapse: There is no user "admn". Did you mean "admin"?'),
            ("key create --name a --scope engin", 2, 'synapse: There is no scope "engin". Did you mean "engine"?'),
            ("key revoke x", 1, 'synapse: There is no key "x". synapse key list shows them all.'),
            ("user create admin", 1, 'synapse: There is a user "admin" already. Choose another name.'),
            ("proof show prf_x", 1, 'synapse: There is no certificate "prf_x". synapse proof list shows the newest'),
            ("proof list --limit 501", 2, "synapse: limit is 501. It must be from 1 to 500."),
        ],
    )
    async def test_a_refusal_is_1_or_for_wrong_usage_2_and_one_line(
        self, online: Daemon, line: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
    ):
        assert await synapse(*line.split()) == code
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith(message)
        assert printed.err.count("\n") == 1


class TestOffline:
    @pytest.mark.parametrize("line", ["status", "key list", "model list", "proof keys", "status --json"])
    def test_without_a_daemon(self, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
        assert main(line.split()) == 1
        printed = capsys.readouterr()
        socket = tmp_path / "state" / "admin.sock"
        assert printed.err == (
            f"synapse: The daemon is not running (no answer on {socket}). Start it: ./scripts/up, or synapse serve.\n"
        )
        assert printed.out == ""

    @pytest.mark.parametrize("where", ["before", "after"])
    def test_the_settings_file_is_the_one_that_is_named(
        self, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ):
        named = tmp_path / "my.toml"
        named.write_text("[gateway]\nprot = 1\n")
        option = ["--config", str(named)]
        assert main([*option, "status"] if where == "before" else ["status", *option]) == 1
        expected = f"synapse: There is no setting gateway.prot (in {named}). Did you mean gateway.port?\n"
        assert capsys.readouterr().err == expected

    def test_help_and_wrong_usage(self, capsys: pytest.CaptureFixture[str]):
        assert main(["--help"]) == 0
        assert "usage: synapse" in capsys.readouterr().out
        assert main([]) == 2
        assert main(["key", "create"]) == 2

    def test_version_needs_no_settings(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        monkeypatch.setenv("SYNAPSE_NONSENSE", "1")
        assert main(["version"]) == 0
        assert capsys.readouterr().out.startswith("synapse ")

    def test_ctrl_c_is_silent(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        def interrupted(_: object) -> Outcome:
            raise KeyboardInterrupt

        monkeypatch.setitem(COMMANDS, "version", interrupted)  # type: ignore[arg-type]  a dict behind a Mapping
        assert main(["version"]) == 130
        assert capsys.readouterr() == ("", "")


class TestVerify:
    def test_with_the_daemon_down(self, evidence: Evidence, capsys: pytest.CaptureFixture[str]):
        assert main(["proof", "verify", str(evidence.certificate), "--keys", str(evidence.keys)]) == 0
        printed = capsys.readouterr()
        assert "signature" in printed.out
        assert printed.err == f"Checked with the public keys of {evidence.keys}.\n"

    def test_with_the_state_directory_of_the_settings(
        self, evidence: Evidence, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        monkeypatch.setenv("SYNAPSE_STATE_DIR", str(evidence.keys.parent))
        assert main(["proof", "verify", str(evidence.certificate), "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert (document["exit"], document["keys"]) == (0, str(evidence.keys))

    def test_a_bad_one_is_1_and_missing_evidence_is_3(self, evidence: Evidence, tmp_path: Path):
        assert main(["proof", "verify", str(evidence.certificate)]) == 3
        assert main(["proof", "verify", str(tmp_path / "none.json"), "--keys", str(evidence.keys)]) == 3
        evidence.certificate.write_bytes(evidence.certificate.read_bytes() + b"\n")
        assert main(["proof", "verify", str(evidence.certificate), "--keys", str(evidence.keys)]) == 1

    def test_broken_settings_do_not_matter_with_keys(self, evidence: Evidence, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("SYNAPSE_NONSENSE", "1")
        line = ["proof", "verify", str(evidence.certificate)]
        assert main([*line, "--keys", str(evidence.keys)]) == 0
        assert main(line) == 1


class TestProcess:
    def run(self, *argv: str, **given: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*SYNAPSE, *argv], capture_output=True, text=True, timeout=30, check=False, **given)  # type: ignore[call-overload]  plain options of `run`

    @pytest.mark.parametrize(
        ("line", "code"), [("version", 0), ("status", 1), ("kye", 2), ("key create", 2), ("--help", 0)]
    )
    def test_exit_codes(self, line: str, code: int):
        result = self.run(*line.split())
        assert result.returncode == code
        assert "Traceback" not in result.stderr

    def test_missing_evidence_is_3(self, evidence: Evidence):
        result = self.run("proof", "verify", str(evidence.certificate))
        assert result.returncode == 3
        assert "synapse proof keys > keys.json" in result.stderr

    def test_a_pipe(self, evidence: Evidence):
        with evidence.certificate.open() as certificate:
            assert self.run("proof", "verify", "-", "--keys", str(evidence.keys), stdin=certificate).returncode == 0

    def test_a_reader_that_has_left_is_no_error_message(self):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            result = subprocess.run(
                [*SYNAPSE, "version"], stdout=writing, stderr=subprocess.PIPE, timeout=30, check=False
            )
        finally:
            os.close(writing)
        assert (result.returncode, result.stderr) == (1, b"")

    def test_without_a_standard_output(self):
        closed = ["sh", "-c", 'exec "$@" >&-', "sh", *SYNAPSE, "version"]
        result = subprocess.run(closed, stderr=subprocess.PIPE, timeout=30, check=False)
        assert result.returncode == 1
        assert result.stderr == b"synapse: There is no standard output to write to.\n"

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
    def test_a_full_disk_is_one_line(self):
        with Path("/dev/full").open("w") as full:
            result = subprocess.run([*SYNAPSE, "version"], stdout=full, stderr=subprocess.PIPE, timeout=30, check=False)
        assert result.returncode == 1
        assert result.stderr == b"synapse: The output cannot be written (No space left on device).\n"

    def test_a_terminal_in_ascii(self, tmp_path: Path):
        result = self.run("key", "create", "--help", env={**os.environ, "PYTHONIOENCODING": "ascii"})
        assert result.returncode == 0
        result = self.run("proof", "verify", str(tmp_path / "é"), env={**os.environ, "PYTHONIOENCODING": "ascii"})
        assert result.returncode == 3
        assert "\\xe9 cannot be read" in result.stderr

    def test_version_loads_nothing_heavy(self):
        """So that scripts may ask it: it takes about 70 ms, most of them Python's own start."""
        code = "import sys; from appliance.cli import main; main(['version']); print(sorted(sys.modules))"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
        loaded = result.stdout.splitlines()[1]
        for heavy in ("aiohttp", "starlette", "hypercorn", "cryptography", "sqlite3", "asyncio", "orjson"):
            assert f"'{heavy}'" not in loaded
