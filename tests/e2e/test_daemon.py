"""The process: what it refuses to start on, what a signal does, and bad input on the real wire."""

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.e2e.installation import SYNAPSE, Engine, Installation
from tests.waiting import wait_until

CHAT = "/v1/chat/completions"


def start_fails(made: Installation) -> str:
    done = subprocess.run([SYNAPSE, "serve"], env=made.environ, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_second_daemon_on_one_state_directory_is_refused(installation: Installation):
    other = Installation(installation.state_dir)
    assert "Another daemon uses the state directory" in start_fails(other)
    assert installation.json("status")["calls_in_flight"] == 0


def test_a_taken_port_is_told_with_the_next_step(installation: Installation, tmp_path: Path):
    other = Installation(tmp_path / "state")
    other.environ["SYNAPSE_GATEWAY__PORT"] = str(installation.port)
    assert f"SYNAPSE_GATEWAY__PORT={installation.port + 1}" in start_fails(other)


def test_a_wrong_setting_names_the_near_one(tmp_path: Path):
    other = Installation(tmp_path / "state")
    other.environ["SYNAPSE_GATEWAY__PROT"] = "1"
    assert "SYNAPSE_GATEWAY__PORT" in start_fails(other)


def test_a_machine_outside_the_network_is_refused(tmp_path: Path):
    assert "not inside this network" in start_fails(Installation(tmp_path / "state", "http://8.8.8.8:11434"))


def test_the_state_is_the_owners_alone(installation: Installation):
    installation.json("proof", "list")
    for path in installation.state_dir.rglob("*"):
        if not path.is_socket():
            assert path.stat().st_mode & 0o077 == 0, path


def test_no_secret_in_the_log(installation: Installation):
    httpx.get(f"{installation.base}/v1/models", headers=installation.headers, trust_env=False)
    httpx.get(f"{installation.base}/v1/models", headers={"authorization": "Bearer sk_live_wrong"}, trust_env=False)
    log = installation.log.read_text()
    assert installation.key not in log
    assert "sk_live_" not in log


def test_sigterm_lets_a_stream_end(engine: Engine, tmp_path: Path):
    made = Installation(tmp_path / "state", engine.url)
    made.start()
    body = {"messages": [{"role": "user", "content": "Count."}], "max_tokens": 60, "stream": True}
    assert made.process is not None
    with httpx.Client(base_url=made.base, headers=made.headers, timeout=60, trust_env=False) as http:
        with http.stream("POST", CHAT, json=body) as answer:
            lines = answer.iter_lines()
            next(lines)
            made.process.send_signal(signal.SIGTERM)
            *_, last = [line for line in lines if line]
        assert last == "data: [DONE]"
        assert made.process.wait(10) == 0
    assert not (made.state_dir / "admin.sock").exists()


def test_sigusr1_shows_what_it_is_waiting_for(installation: Installation):
    assert installation.process is not None
    os.kill(installation.process.pid, signal.SIGUSR1)
    wait_until(lambda: "Stack for <Task" in installation.log.read_text())
    assert httpx.get(f"{installation.base}/healthz", trust_env=False).status_code == 200


@pytest.mark.parametrize("programs", [("curl",)], indirect=True)
@pytest.mark.usefixtures("programs")
def test_a_body_of_100_mb(installation: Installation, tmp_path: Path):
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    done = subprocess.run(
        ["curl", "-sS", "--noproxy", "*", "-w", "%{http_code}", "--data-binary", f"@{large}",
         "-H", f"Authorization: Bearer {installation.key}", installation.base + CHAT],
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.endswith(b"413")
    assert json.loads(done.stdout[:-3])["error"]["code"] == "request_too_large"
    assert memory_mb(installation) < 400


def test_a_body_of_100_mb_without_a_length(installation: Installation):
    def chunks():
        for _ in range(1600):
            yield b"x" * 65_536

    answer = httpx.post(
        installation.base + CHAT, content=chunks(), headers=installation.headers, timeout=60, trust_env=False
    )
    assert answer.status_code == 413
    assert memory_mb(installation) < 400


def memory_mb(installation: Installation) -> float:
    assert installation.process is not None
    status = Path(f"/proc/{installation.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@pytest.mark.parametrize(
    "raw",
    [
        b"GARBAGE\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET /%ff%fe HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_is_hardly_http_harms_nothing(installation: Installation, raw: bytes):
    with socket.create_connection(("127.0.0.1", installation.port), timeout=5) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
    assert b"Traceback" not in answer
    assert not answer or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5"))
    assert httpx.get(f"{installation.base}/healthz", trust_env=False).status_code == 200
