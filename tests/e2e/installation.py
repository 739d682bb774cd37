"""A real installation for the end-to-end tests: `synapse serve` and `synapse engine` as processes of their own."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

SYNAPSE = Path(sys.executable).with_name("synapse")
START_SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(url: str, process: "subprocess.Popen[Any]", status: int = 200) -> None:
    """Wait until `url` answers with `status`; the process must not end meanwhile."""
    deadline = time.monotonic() + START_SECONDS
    last: object = None
    while time.monotonic() < deadline:
        assert process.poll() is None, f"the process ended with {process.returncode}"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                last = answer.status
        except urllib.error.HTTPError as error:
            last = error.code
        except OSError as error:
            last = error
        if last == status:
            return
        time.sleep(0.05)
    raise AssertionError(f"{url}: {last} instead of {status} after {START_SECONDS} s")


class Engine:
    """The embedded engine with its bundled model."""

    def __init__(self, state_dir: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = subprocess.Popen(
            [SYNAPSE, "engine", "--port", str(self.port), "--state", state_dir], stderr=subprocess.DEVNULL
        )
        wait_for(f"{self.url}/api/version", self.process)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)


class Installation:
    """One state directory with its daemon, which can be killed and started again."""

    def __init__(self, state_dir: Path, *machines: str) -> None:
        self.state_dir = state_dir
        self.program = SYNAPSE
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("SYNAPSE_")},
            "SYNAPSE_STATE_DIR": str(state_dir),
            "SYNAPSE_GATEWAY__PORT": str(self.port),
            "SYNAPSE_GATEWAY__HOST": "127.0.0.1",
            "SYNAPSE_LOCAL__OLLAMA": ",".join(machines),
            "SYNAPSE_DISCOVERY__ENABLED": "false",
        }
        self.log = state_dir.parent / f"{state_dir.name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.key = ""

    def start(self, *, ready: int = 200) -> None:
        """Start the daemon and wait until `/readyz` says `ready`; the first start makes a key."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([self.program, "serve"], env=self.environ, stderr=log)
        wait_for(f"{self.base}/readyz", self.process, ready)
        if not self.key:
            self.key = self.json("key", "create", "--name", "e2e")["secret"]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the daemon; its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(40)

    def command(self, *arguments: str, code: int = 0) -> "subprocess.CompletedProcess[bytes]":
        """Run one command of the command line; it must end with `code`."""
        done = subprocess.run(
            [self.program, *arguments], env=self.environ, capture_output=True, timeout=30, check=False
        )
        assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
        return done

    def json(self, *arguments: str) -> Any:
        return json.loads(self.command(*arguments, "--json").stdout)

    def ledger(self) -> list[dict[str, Any]]:
        """All rows, oldest first."""
        conn = sqlite3.connect(f"file:{self.state_dir / 'synapse.db'}?mode=ro", uri=True)
        conn.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in conn.execute("SELECT * FROM ledger ORDER BY n")]
        finally:
            conn.close()

    def certificate(self, proof_id: str) -> bytes:
        request = urllib.request.Request(f"{self.base}/v1/proofs/{proof_id}", headers=self.headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read()

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
