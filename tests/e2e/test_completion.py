"""The completion scripts in the real shells, before a real daemon whose keys have the worst of names."""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.admin.client import Client
from appliance.admin.wire import NewKey
from appliance.upkeep_arguments import SHELLS
from tests.e2e.installation import Installation
from tests.e2e.needs import need
from tests.e2e.shells import Shell

NAMES = (
    "1 $(touch x) `touch x`",
    '2it\'s "q" a\\nb\\',
    "3;touch x;|touch x&>x",
    "4é!! *{d,e}?[f]#~",
    "5tw:one=two",
)
"""Each with a first character of its own: a TAB behind that completes the rest."""

MAX_SECONDS = 1.0


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("synapse") / "state")
    made.start(ready=503)
    asyncio.run(_make_keys(made))
    yield made
    assert made.stop() == 0


async def _make_keys(running: Installation) -> None:
    async with Client(running.state_dir / "admin.sock") as client:
        for name in NAMES:
            await client.create_key(NewKey(name))


@pytest.fixture
def shell(running: Installation, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shell]:
    need(request.param)
    made = Shell(request.param, running.command("completion", request.param).stdout.decode(), tmp_path, running.environ)
    yield made
    made.close()


@pytest.mark.parametrize("shell", SHELLS, indirect=True)
def test_each_shell_completes_words_options_files_and_names_and_runs_none(shell: Shell, tmp_path: Path):
    (tmp_path / "a certificate.json").touch()
    (tmp_path / "certificates").mkdir()
    for name in NAMES:
        assert shell.run(f"synapse key revoke {name[0]}\t") == f"<key><revoke><{name}>"
    assert shell.run("synapse stat\t --js\t") == "<status><--json>"
    assert shell.run("synapse shield scan --mode=m\t") == "<shield><scan><--mode=medical>"
    assert shell.run("synapse proof verify a\t") == "<proof><verify><a certificate.json>"
    assert shell.run("synapse engine --state cert\t").replace("/>", ">") == "<engine><--state><certificates>"
    assert shell.run("synapse ledger --key '3\t") == "<ledger><--key><3;touch x;|touch x&>x>"
    assert not (tmp_path / "x").exists()


class Bash:
    """The function alone, as bash would call it."""

    def __init__(self, script: str, environ: dict[str, str], folder: Path) -> None:
        self._script = script
        self._environ = environ
        self._folder = folder

    def replies(self, *words: str, line: str | None = None, behind: str = "") -> list[str]:
        """COMPREPLY for these words, as bash has split them; `behind` the cursor more is typed."""
        line = " ".join(words) if line is None else line
        program = (
            f'{self._script}\nCOMP_LINE=$1 COMP_POINT=$2; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))\n'
            "_synapse synapse '' ''; for reply in \"${COMPREPLY[@]}\"; do printf '%s\\0' \"$reply\"; done"
        )
        last = [*words[:-1], words[-1] + behind]
        run = subprocess.run(
            ["bash", "--norc", "-c", program, "bash", line + behind, str(len(line)), *last],
            env={**self._environ, "LC_ALL": "C.UTF-8"},
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stderr == ""
        return run.stdout.split("\0")[:-1]


@pytest.fixture
def bash(running: Installation, tmp_path: Path) -> Bash:
    return Bash(running.command("completion", "bash").stdout.decode(), running.environ, tmp_path)


class TestBash:
    def test_words_that_bash_has_split(self, bash: Bash):
        assert bash.replies("synapse", "shield", "scan", "--mode", "=", "m", line="synapse shield scan --mode=m") == [
            "medical"
        ]
        assert bash.replies("synapse", "key", "revoke", "5tw", ":", line="synapse key revoke 5tw:") == ["one=two"]
        assert bash.replies(
            "synapse", "key", "revoke", "5tw", ":", "one", "=", "t", line="synapse   key revoke 5tw:one=t"
        ) == ["two"]

    def test_what_is_behind_the_cursor_does_not_count(self, bash: Bash):
        assert bash.replies("synapse", "ke", behind="zzz") == ["key"]
        assert bash.replies("synapse", "key", "re", behind="zzz") == ["revoke"]

    def test_an_assignment_or_a_path_in_front(self, bash: Bash):
        assert bash.replies("./my synapse", "sta", line="'./my synapse' sta") == ["status"]

    def test_no_name_where_the_daemon_is_down(self, bash: Bash, running: Installation):
        down = {**running.environ, "SYNAPSE_ADMIN_SOCKET": "/nonexistent/admin.sock"}
        script = running.command("completion", "bash").stdout.decode()
        assert Bash(script, down, Path("/")).replies("synapse", "key", "revoke", "") == []

    def test_a_program_that_is_gone_says_nothing(self, running: Installation):
        script = running.command("completion", "bash", "--program", "/nonexistent/synapse").stdout.decode()
        assert Bash(script, running.environ, Path("/")).replies("synapse", "ke") == []

    def test_nobody_waits_for_it(self, bash: Bash):
        # The design asks for 300 ms; a machine that runs other tests too is given more.
        began = time.monotonic()
        assert len(bash.replies("synapse", "key", "revoke", "")) == len(NAMES) + 1
        assert time.monotonic() - began < MAX_SECONDS
