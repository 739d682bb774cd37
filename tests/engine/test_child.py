"""The child process by itself: what it says, and that it ends with its parent."""

import json
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance.engine import child
from appliance.engine.child import Setup
from appliance.engine.models import bundled_path
from tests.waiting import wait_until

Start = Callable[..., "subprocess.Popen[bytes]"]


def setup(directory: Path, **fields: object) -> Setup:
    given = {
        "model": str(bundled_path()),
        "template": "",
        "socket": str(directory / "llama.sock"),
        "key": "secret",
        "threads": 1,
        "slots": 1,
        "context": 256,
        "verbose": False,
    }
    return Setup(**given | fields)


@pytest.fixture
def start(needs_llama: None) -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def run(given: Setup) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-P", child.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)
        assert process.stdin is not None
        process.stdin.write(given.line())
        process.stdin.flush()
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def reply(process: "subprocess.Popen[bytes]") -> dict[str, object]:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def test_a_setup_is_one_line():
    line = Setup("m\n", "t\n", "s", "k", 1, 2, 3, verbose=True).line()
    assert line.count(b"\n") == 1
    assert Setup(**json.loads(line)).template == "t\n"
    assert not Setup(**json.loads(line)).embedding


def test_it_serves_on_a_socket_and_ends_with_its_stdin(start: Start, short_directory: Path):
    process = start(setup(short_directory))
    assert reply(process) == {"ready": True}
    assert stat.S_ISSOCK((short_directory / "llama.sock").stat().st_mode)
    assert "secret" not in Path(f"/proc/{process.pid}/cmdline").read_text()
    process.send_signal(signal.SIGINT)  # Ctrl-C in a terminal reaches it too, and is its parent's affair
    assert process.stdin is not None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.1)
    process.stdin.close()
    assert process.wait(5) == 0
    assert not short_directory.exists()


def test_an_embedding_model(start: Start, short_directory: Path, embedding_file: Path):
    given = setup(short_directory, model=str(embedding_file), slots=2, embedding=True, pooling=1)
    assert reply(start(given)) == {"ready": True}


def test_it_opens_no_tcp_port(start: Start, short_directory: Path):
    process = start(setup(short_directory))
    reply(process)
    mine = {Path(entry).readlink().name for entry in Path(f"/proc/{process.pid}/fd").iterdir() if entry.is_symlink()}
    tables = [Path(f"/proc/{process.pid}/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
    assert not [line for table in tables for line in table if f"socket:[{line.split()[9]}]" in mine]


def test_a_model_that_cannot_be_loaded(start: Start, short_directory: Path):
    broken = short_directory / "broken.gguf"
    broken.write_bytes(bundled_path().read_bytes()[:3_000_000])
    process = start(setup(short_directory, model=str(broken)))
    assert "error" in reply(process)
    assert process.wait(5) == 1


def test_a_parent_that_dies_before_it_spoke(start: Start, short_directory: Path):
    process = start(setup(short_directory))
    assert process.stdin is not None
    process.stdin.close()
    wait_until(lambda: process.poll() is not None)
    wait_until(lambda: not short_directory.exists())
