"""The console as an administrator reaches it: through Debian's sshd, on loopback, on a server of the test's own."""

import getpass
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.installation import Installation, free_port
from tests.e2e.needs import need
from tests.e2e.terminal import Terminal
from tests.waiting import wait_until

SSHD = "/usr/sbin/sshd"


class Server:
    """An sshd that lets in one key, as the user of the test."""

    def __init__(self, directory: Path) -> None:
        self.port = free_port()
        self._directory = directory
        for name in ("host", "person"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)], check=True, timeout=20
            )
        (directory / "authorized").write_bytes((directory / "person.pub").read_bytes())
        (directory / "config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {directory / 'host'}\nPidFile none\n"
            f"AuthorizedKeysFile {directory / 'authorized'}\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
        )
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where sshd separates its privileges
        self.log = directory / "log"
        self.process = subprocess.Popen([SSHD, "-D", "-f", str(directory / "config"), "-E", str(self.log)])

    def console(self, installation: Installation) -> Terminal:
        told = [f"{name}={value}" for name, value in installation.environ.items() if name.startswith("SYNAPSE_")]
        path = [f"PYTHONPATH={installation.environ['PYTHONPATH']}"] if "PYTHONPATH" in installation.environ else []
        return Terminal(
            [
                *("ssh", "-tt", "-F", "none", "-i", str(self._directory / "person"), "-p", str(self.port)),
                *("-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={self._directory / 'known'}"),
                *("-o", "LogLevel=ERROR", f"{getpass.getuser()}@127.0.0.1"),
                *("env", *told, *path, str(installation.program), "admin"),
            ],
            {**os.environ, "LC_ALL": "C.UTF-8"},
        )

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    need("ssh", "ssh-keygen", SSHD)
    made = Server(tmp_path_factory.mktemp("ssh"))
    yield made
    made.close()


def consoles(installation: Installation) -> list[int]:
    """The consoles that run on this installation."""
    mark = f"SYNAPSE_STATE_DIR={installation.state_dir}".encode()
    found: list[int] = []
    for process in Path("/proc").iterdir():
        try:
            asked = (process / "cmdline").read_bytes().split(b"\0")
            if b"admin" in asked and mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except (OSError, ValueError):
            continue
    return found


def test_it_opens_takes_another_size_and_leaves_the_terminal_whole(server: Server, installation: Installation):
    terminal = server.console(installation)
    terminal.until("live")
    terminal.drag("7 Certificates")
    terminal.type("5")
    terminal.until("e2e")
    terminal.type("q")
    terminal.until("\x1b[?25h")
    assert terminal.process.wait(20) == 0
    assert b"\x1b[?1049l" in terminal.wrote
    assert terminal.settings() == terminal.before
    terminal.close()


def test_a_dropped_connection_leaves_nothing_behind_and_the_next_one_works(server: Server, installation: Installation):
    terminal = server.console(installation)
    terminal.until("live")
    assert len(consoles(installation)) == 1
    terminal.process.send_signal(signal.SIGKILL)
    wait_until(lambda: consoles(installation) == [], 20)
    terminal.close()
    assert installation.json("status")["pid"] > 0

    again = server.console(installation)
    again.until("live")
    again.type("q")
    assert again.process.wait(20) == 0
    again.close()
