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

from appliance.admin.policy_wire import ProviderCheck
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
            "workspace allowance default --questions 5",
            "ledger",
            "ledger --by day",
            "user list",
            "user create zoe",
            "model list",
            "model set fast qwen3:4b",
            "model unset fast",
            "provider list",
            "policy show",
            "policy allow ollama",
            "policy clear",
            "policy active ollama",
            "policy unscannable refuse",
            "proof list",
            "node add http://10.0.0.1:11434",
            "cluster words",
            "cluster key show",
            "cluster key revoke",
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
            ("provider remove x", 1, 'synapse: There is no provider "x". synapse provider list shows them'),
            ("provider add a --kind openai", 2, "synapse: A new provider needs its key. Add --key-stdin"),
            ("policy allow olama", 1, 'synapse: There is no provider "olama". Did you mean "ollama"?'),
            ("policy show --workspace x", 1, 'synapse: There is no workspace "x".'),
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


class TestProvider:
    """As a process, since a key comes on its standard input."""

    KEY = "sk-a-key-that-nobody-may-see"
    ADD = "provider add openai --kind openai --full gpt-4o --key-stdin"

    async def run(self, line: str, given: str | None = None) -> "subprocess.CompletedProcess[str]":
        return await asyncio.to_thread(
            subprocess.run,
            [*SYNAPSE, *line.split()],
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    async def test_from_its_key_to_its_removal(self, online: Daemon):
        made = await self.run(self.ADD, self.KEY + "\n")
        assert (made.returncode, made.stderr.splitlines()[0]) == (0, "Try it: synapse provider test openai")
        assert made.stdout.startswith("Provider openai is added: openai at https://api.openai.com/v1.\n")
        tested = await self.run("provider test openai")
        assert (tested.returncode, [asked.key for asked in online.checker.asked]) == (0, [self.KEY])
        online.checker.answer = ProviderCheck(False, "The key is refused.", "Give another.")
        tested = await self.run("provider test openai --json")
        assert (tested.returncode, json.loads(tested.stdout)["problem"]) == (1, "The key is refused.")
        listed = await self.run("provider list --json")
        removed = await self.run("provider remove openai --json")
        assert (removed.returncode, json.loads(removed.stdout)["provider"]["name"]) == (0, "openai")
        for result in (made, tested, listed, removed):
            assert self.KEY not in result.stdout + result.stderr

    @pytest.mark.parametrize(
        ("line", "given", "message"),
        [
            (ADD, "", "synapse: No key came on standard input. Pipe it in: synapse provider add"),
            (ADD, "\n", "synapse: No key came on standard input."),
            (ADD, None, "synapse: No key came on standard input."),
            (ADD, f" {KEY}\n", "synapse: The key holds a space, a control character"),
            (ADD, f"{KEY}\nmore\n", "synapse: The key holds a space, a control character"),
            (f"{ADD} --base-url http://llm.example.com", KEY, "synapse: The base URL is not encrypted"),
            (ADD.replace("add openai", "add ollama"), KEY, "synapse: ollama is this installation's own machines"),
            (
                ADD.replace("openai ", "openia ", 1).replace("kind openai", "kind openia"),
                KEY,
                "synapse provider add: argument",
            ),
            (f"{ADD} --key {KEY}", None, "synapse provider add: a key does not go on the command line"),
            (f"{ADD} --key={KEY}", None, "synapse provider add: a key does not go on the command line"),
            (f"{ADD} --api-key {KEY}", None, "synapse provider add: a key does not go on the command line"),
            (f"{ADD} --key", None, "synapse provider add: a key does not go on the command line"),
        ],
    )
    async def test_what_is_refused_is_2_and_one_line_without_the_key(
        self, online: Daemon, line: str, given: str | None, message: str
    ):
        result = await self.run(line, given)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith(message)
        assert result.stderr.count("\n") == 1
        assert self.KEY not in result.stderr
        assert (await online.service.providers()).providers == ()

    async def test_a_closed_standard_input_is_told(self, online: Daemon):
        closed = ["sh", "-c", 'exec "$@" <&-', "sh", *SYNAPSE, *self.ADD.split()]
        result = await asyncio.to_thread(
            subprocess.run, closed, capture_output=True, text=True, timeout=30, check=False
        )
        assert result.returncode == 2
        assert result.stderr.startswith("synapse: There is no standard input to read the key from. Pipe it in:")

    async def at_terminal(self, typed: bytes) -> tuple[int | None, str, bytes]:
        """Exit code, all that was printed, and what the terminal showed of `typed`."""
        ours, its = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            *SYNAPSE,
            *self.ADD.split(),
            stdin=its,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # no other terminal than this one
        )
        try:
            assert process.stderr is not None
            asked = await process.stderr.readuntil(b": ")
            assert asked == b"Key of the provider (it is not shown): "
            os.write(ours, typed)
            out, err = await asyncio.wait_for(process.communicate(), 30)
            os.write(its, b"END")
            return process.returncode, (out + err).decode(), os.read(ours, 4096)
        finally:
            os.close(ours)
            os.close(its)

    async def test_at_a_terminal_the_key_is_asked_for_and_not_shown(self, online: Daemon):
        code, printed, shown = await self.at_terminal(f"{self.KEY}\n".encode())
        assert code == 0, printed
        assert self.KEY not in printed
        assert self.KEY.encode() not in shown
        await online.service.test_provider("openai")
        assert online.checker.asked[-1].key == self.KEY

    @pytest.mark.usefixtures("online")
    async def test_at_a_terminal_ctrl_d_is_no_key(self):
        code, printed, _ = await self.at_terminal(b"\x04")
        assert code == 2
        assert "synapse: No key came on standard input." in printed
        assert "Traceback" not in printed

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("policy active openai --workspace legal", "synapse policy active: there is one active provider for the"),
            ("policy unscannable allow --workspace legal", "synapse policy unscannable: it holds for every workspace."),
            (
                "policy unscannable yes",
                'synapse policy unscannable: argument refuse|allow: there is no "yes"; there are:',
            ),
            ("policy allow", "synapse policy allow: the following arguments are required: NAME."),
            ("policy", "synapse policy: the following arguments are required: COMMAND."),
            ("policy alow", 'synapse policy: argument COMMAND: there is no "alow"; did you mean "allow"?'),
        ],
    )
    async def test_wrong_usage_of_policy(self, line: str, message: str):
        result = await self.run(line)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith(message)
        assert result.stderr.count("\n") == 1


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
