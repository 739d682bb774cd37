"""A daemon that is run as systemd runs it: told where to say how it is, and stopped by a signal."""

import ctypes
import select
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.installation import START_SECONDS, Installation

PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
"""prctl(2): what MemoryDenyWriteExecute= of systemd asks for, since Linux 6.3."""


class Service(Installation):
    """`heard` are the messages of sd_notify, in the order that they came. It speaks HTTPS unless told otherwise."""

    def __init__(self, state_dir: Path, *machines: str, **environ: str) -> None:
        super().__init__(state_dir, *machines)
        self.environ |= {"SYNAPSE_GATEWAY__TLS": "auto", **environ}
        if self.environ["SYNAPSE_GATEWAY__TLS"] != "off":
            self.base = self.base.replace("http:", "https:")
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = state_dir.parent / f"{state_dir.name}.notify"
        path.unlink(missing_ok=True)
        self.notified.bind(str(path))
        self.environ["NOTIFY_SOCKET"] = str(path)
        self.heard: list[str] = []

    def start(self, *, ready: int = 200, before: Callable[[], None] | None = None) -> None:
        """Start the daemon and wait until it says that it is ready; the first start makes a key."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([self.program, "serve"], env=self.environ, stderr=log, preexec_fn=before)
        self.hear("READY=1")
        if not self.key:
            self.key = self.json("key", "create", "--name", "e2e")["secret"]

    def hear(self, first: str, seconds: float = START_SECONDS) -> str:
        """Wait for a message that begins so."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.process is not None
            if select.select([self.notified], [], [], 0.1)[0]:
                self.heard.append(self.notified.recv(4096).decode())
                if self.heard[-1].startswith(first):
                    return self.heard[-1]
            assert self.process.poll() is None or first == "STOPPING=1", self.log.read_text()
        raise TimeoutError(f"no {first} within {seconds} s: {self.heard}")

    def silent(self) -> bool:
        """Whether nothing has been said that was not heard yet."""
        return not select.select([self.notified], [], [], 0)[0]

    def close(self) -> None:
        """End it, however it is."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        self.notified.close()

    @property
    def ca(self) -> Path:
        """What tools are told to trust, as the command prints it."""
        path = self.state_dir.parent / f"{self.state_dir.name}-ca.pem"
        path.write_bytes(self.command("tls", "ca").stdout)
        return path


def deny_write_execute() -> None:
    """Runs in the child before it becomes the daemon."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
