"""An office between network namespaces: one gateway, machines with their engine and agent, and somebody who means harm.

Every process is a real one. Admin sockets are files, so that they are reached from where the test runs.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from appliance.admin.client import Client
from appliance.admin.node_wire import Node
from tests.e2e.installation import SYNAPSE
from tests.netns import Lan
from tests.waiting import wait_until

T = TypeVar("T")

ENGINE_PORT, DATA_PORT, JOIN_PORT, GATEWAY_PORT = 11_480, 11_435, 11_436, 8_787


def environment(**given: str) -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if not name.startswith("SYNAPSE_")}, **given}


class Process:
    """A process in a host's namespace, with what it logs."""

    def __init__(self, net: Lan, host: str, log: Path, *arguments: str, **environ: str) -> None:
        self.log = log
        with log.open("ab") as out:
            self.process = net.popen(host, [str(SYNAPSE), *arguments], env=environment(**environ), stderr=out)

    def says(self, text: str, seconds: float = 20.0) -> None:
        """Wait until it has logged this."""

        def said() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            return text in self.log.read_text()

        wait_until(said, seconds)

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait(20)


class Machine:
    """A host with an engine and an agent, whose key is in `state`."""

    def __init__(self, net: Lan, host: str, directory: Path) -> None:
        self.net, self.host = net, host
        self.state = directory / f"{host}-node"
        self.directory = directory
        self.engine: Process | None = None
        self.agent: Process | None = None
        self._runs = 0

    def start_engine(self) -> None:
        log = self.directory / f"{self.host}-engine.log"
        state = str(self.directory / "engine")
        self.engine = Process(self.net, self.host, log, "engine", "--port", str(ENGINE_PORT), "--state", state)

    def engine_answers(self) -> bool:
        done = subprocess.run(
            self.net.inside(self.host, ["curl", "-sf", f"http://127.0.0.1:{ENGINE_PORT}/api/version"]),
            capture_output=True,
            check=False,
            timeout=10,
        )
        return done.returncode == 0

    def serve(self, *arguments: str, name: str | None = None, state: Path | None = None) -> float:
        """Start the agent; the moment at which it was ready."""
        self._runs += 1
        self.agent = Process(
            self.net,
            self.host,
            self.directory / f"{self.host}-agent-{self._runs}.log",
            "node",
            "serve",
            *("--state", str(state or self.state)),
            *("--name", name or self.host),
            *("--ollama", f"http://127.0.0.1:{ENGINE_PORT}"),
            *arguments,
        )
        self.agent.says("ready:")
        return time.monotonic()

    @property
    def words(self) -> list[str]:
        """As the agent shows them to who sits at the machine."""
        assert self.agent is not None
        shown = re.search(r"its words are: ([a-z ]+)", self.agent.log.read_text())
        assert shown is not None
        return shown[1].split()

    def kill(self) -> None:
        assert self.agent is not None
        self.agent.stop(signal.SIGKILL)

    def stop(self) -> None:
        assert self.agent is not None
        self.agent.stop()


class Gateway:
    """The daemon on the host `gw`, and its administrator."""

    def __init__(self, net: Lan, directory: Path) -> None:
        self.net = net
        self.state = directory / "gateway"
        self._directory = directory
        self._runs = 0
        self.key = ""
        self._environ = {
            "SYNAPSE_STATE_DIR": str(self.state),
            "SYNAPSE_LOCAL__OLLAMA": "",
            "SYNAPSE_GATEWAY__PORT": str(GATEWAY_PORT),
        }
        self.daemon: Process | None = None

    def start(self) -> None:
        self._runs += 1
        log = self._directory / f"gateway-{self._runs}.log"
        self.daemon = Process(self.net, "gw", log, "serve", **self._environ)
        self.daemon.says("ready:")
        if not self.key:
            self.key = self.json("key", "create", "--name", "e2e", "--scope", "engine", "--scope", "proofs")["secret"]

    def stop(self) -> None:
        assert self.daemon is not None
        self.daemon.stop()

    def json(self, *arguments: str) -> Any:
        """What a command answers. Its failing is the test's failure."""
        done = self.command(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def command(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        environ = environment(**self._environ)
        command = [str(SYNAPSE), *arguments]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=30, check=False)

    def admin(self, do: Callable[[Client], Awaitable[T]]) -> T:
        """What the admin API answers, without the start of a command."""

        async def ask() -> T:
            async with Client(self.state / "admin.sock") as client:
                return await do(client)

        return asyncio.run(ask())

    def nodes(self) -> dict[str, Node]:
        """Every machine and candidate by its id."""
        return {one.id: one for one in self.admin(lambda client: client.nodes()).nodes}

    def named(self, name: str) -> Node:
        """The machine of that name."""
        return next(one for one in self.nodes().values() if one.name == name)

    def why(self, node_id: str) -> str:
        """What is said about that machine, "" for nothing or while it is not there."""
        found = self.nodes().get(node_id)
        return (found.why or "") if found else ""

    def wait_for(self, state: str, *, name: str | None = None, node_id: str | None = None) -> Node:
        """The machine of that name or id, once it is in that state."""
        found: list[Node] = []

        def there() -> bool:
            found[:] = [
                one
                for one in self.nodes().values()
                if one.state == state and name in (None, one.name) and node_id in (None, one.id)
            ]
            return bool(found)

        try:
            wait_until(there, 30.0)
        except TimeoutError:
            raise AssertionError((state, name, node_id, self.nodes())) from None
        return found[0]

    def ask(self, text: str = "Say hi.", seconds: float = 30.0, tokens: int = 4) -> tuple[int, dict[str, Any], str]:
        """A sensitive call from the gateway's own host: status, body and proof."""
        body = {
            "model": "pulse-sensitive",
            "max_tokens": tokens,
            "temperature": 0,
            "messages": [{"role": "user", "content": text}],
        }
        command = [
            *("curl", "-s", "-m", str(seconds), "-D", "/dev/stderr", "-w", "\n%{http_code}"),
            *("-H", f"Authorization: Bearer {self.key}", "-H", "Content-Type: application/json"),
            *("-d", json.dumps(body), f"http://127.0.0.1:{GATEWAY_PORT}/v1/chat/completions"),
        ]
        done = subprocess.run(
            self.net.inside("gw", command), capture_output=True, text=True, timeout=seconds + 5, check=True
        )
        answer, _, status = done.stdout.rpartition("\n")
        proof = re.search(r"x-pulse-proof: (\S+)", done.stderr, re.IGNORECASE)
        return int(status), json.loads(answer), proof[1] if proof else ""

    def answered_by(self) -> dict[str, Any]:
        """The machine in the certificate of a call that is made now."""
        status, body, proof = self.ask()
        assert status == 200, body
        certificate = json.loads(self.admin(lambda client: client.proof(proof)))
        return certificate["payload"]["egress"]["node"]

    def answers(self, node_id: str) -> dict[str, Any]:
        """That machine in the certificate of a call that is made while the others take none."""
        others = [one.id for one in self.nodes().values() if one.state == "active" and one.id != node_id]
        for other in others:
            self.admin(lambda client, other=other: client.drain_node(other))
        try:
            return self.answered_by()
        finally:
            for other in others:
                self.admin(lambda client, other=other: client.resume_node(other))


class Trap:
    """A TLS server of somebody else on a host; `heard` are the bytes that it was sent inside of TLS."""

    def __init__(self, net: Lan, host: str, directory: Path, *ports: int) -> None:
        self._file = directory / f"trap-{host}.bin"
        self._file.write_bytes(b"")
        command = [sys.executable, "-m", "tests.e2e.trap", str(self._file), *(str(port) for port in ports)]
        self.process = net.popen(host, command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    @property
    def calls(self) -> int:
        """Connections that were made to it."""
        return Path(f"{self._file}.calls").read_bytes().count(b".")

    @property
    def heard(self) -> bytes:
        return self._file.read_bytes()
