"""What systemd is told of a node, by the process itself."""

import os
import select
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

CODE = """
import sys
from pathlib import Path
from appliance.cluster.agent.main import NodeOptions, run
run(NodeOptions(Path(sys.argv[1]), name="desk", host="127.0.0.1", port=0, join_port=0, announce=False))
"""


def test_it_says_when_it_is_ready_that_it_lives_and_that_it_stops(tmp_path: Path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        environ = {"PYTHONPATH": str(ROOT), "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "150000"}
        command = [sys.executable, "-c", CODE, tmp_path / "state"]
        with subprocess.Popen(command, env=os.environ | environ, stderr=subprocess.DEVNULL) as process:
            try:
                assert heard(systemd, "READY=1").startswith("READY=1\nSTATUS=joins on port ")
                for _ in range(2):
                    heard(systemd, "WATCHDOG=1")
                process.terminate()
                heard(systemd, "STOPPING=1")
                assert process.wait(10) == 0
            finally:
                process.kill()


def heard(systemd: socket.socket, first: str) -> str:
    """The next message that begins so."""
    while select.select([systemd], [], [], 20)[0]:
        message = systemd.recv(4096).decode()
        if message.startswith(first):
            return message
    raise TimeoutError(first)
