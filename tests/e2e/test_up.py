"""`scripts/up` as a newcomer runs it: a first answer with its proof, Ctrl-C, a second start."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.installation import free_port
from tests.waiting import wait_until

UP = Path(__file__).parents[2] / "scripts/up"
MARK = "Ctrl-C stops it"


class Started:
    """One run of scripts/up; `text` is what it has printed until it said how to stop it."""

    def __init__(self, state_dir: Path, port: int, *arguments: str) -> None:
        self.state_dir = state_dir
        environ = {name: value for name, value in os.environ.items() if not name.startswith("SYNAPSE_")}
        environ |= {"SYNAPSE_STATE_DIR": str(state_dir), "SYNAPSE_GATEWAY__PORT": str(port)}
        environ["SYNAPSE_DISCOVERY__ENABLED"] = "false"
        environ |= {"SYNAPSE_LOCAL__OLLAMA": f"http://127.0.0.1:{free_port()}"}  # where no Ollama is
        began = time.monotonic()
        self.process = subprocess.Popen(
            [UP, *arguments], env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        assert self.process.stdout is not None
        self.text = ""
        for line in self.process.stdout:
            self.text += line.decode()
            if MARK in self.text:
                break
        self.seconds = time.monotonic() - began
        if MARK not in self.text:  # it has ended by itself
            self.process.stdout.close()

    def processes(self) -> set[int]:
        """Everything that runs for this state directory."""
        mark = f"SYNAPSE_STATE_DIR={self.state_dir}".encode()
        found: set[int] = set()
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in environ.read_bytes().split(b"\0"):
                    found.add(int(environ.parent.name))
            except OSError:
                continue
        return found

    def ends_with(self, number: int) -> int:
        """Send the signal as a terminal does, to the whole foreground group; the exit code."""
        os.killpg(self.process.pid, number)
        code = self.process.wait(40)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("up") / "state"


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def first(folder: Path, port: int) -> Iterator[Started]:
    run = Started(folder, port)
    yield run
    if run.process.poll() is None:
        run.ends_with(signal.SIGINT)


def test_the_first_start_prints_what_to_paste_and_a_verified_answer(first: Started, port: int):
    assert f"Base URL   http://127.0.0.1:{port}/v1" in first.text
    assert re.search(r"Certificate prf_[a-z2-7]{26} verified: signature", first.text)
    assert "The embedded engine" in first.text or "embedded engine answers" in first.text
    key = re.search(r"API key    (sk_live_\w+)", first.text)
    assert key is not None
    answer = httpx.get(
        f"http://127.0.0.1:{port}/v1/models", headers={"authorization": f"Bearer {key[1]}"}, trust_env=False
    )
    assert answer.status_code == 200


@pytest.mark.parametrize("programs", [("curl",)], indirect=True)
@pytest.mark.usefixtures("programs")
def test_its_curl_line_works_as_it_is(first: Started):
    command = first.text[first.text.index("  curl ") : first.text.index("Started in")]
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=True)
    assert b'"chat.completion"' in done.stdout


def test_a_second_one_beside_it_is_told_and_harms_nothing(first: Started, folder: Path, port: int):
    beside = Started(folder, port)
    assert beside.process.wait(40) == 1
    assert f"Synapse is running here already, at http://127.0.0.1:{port}/v1" in beside.text
    assert httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code == 200


def test_ctrl_c_leaves_no_process_behind(first: Started):
    assert len(first.processes()) >= 3
    assert first.ends_with(signal.SIGINT) == 0
    assert first.processes() == set()


def test_the_second_start_is_fast_and_keeps_what_was_there(first: Started, folder: Path, port: int):
    assert first.process.poll() is not None
    key = re.search(r"sk_live_\w+", first.text)
    assert key is not None
    second = Started(folder, port)
    try:
        assert second.seconds < 10
        assert "the one from the first start" in second.text
        assert not re.search(r"sk_live_\w{10}", second.text)
        with httpx.Client(headers={"authorization": f"Bearer {key[0]}"}, trust_env=False) as http:
            listed = http.get(f"http://127.0.0.1:{port}/v1/proofs").json()["data"]
        assert len(listed) == 3  # two starts and the curl line
    finally:
        assert second.ends_with(signal.SIGTERM) == 0
    assert second.processes() == set()


def test_even_kill_9_leaves_no_process_behind(folder: Path, port: int):
    run = Started(folder, port)
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait(10)
    assert run.process.stdout is not None
    run.process.stdout.close()
    wait_until(lambda: not run.processes(), 35)


def test_a_taken_port_ends_it_with_the_reason(folder: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = Started(folder, taken.getsockname()[1])
        assert run.process.wait(40) == 1
    assert "The daemon ended with code 1" in run.text
    assert run.processes() == set()
