"""A real engine in a process of its own, and a plain HTTP client that shows the framing."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
START_PATIENCE = 60.0
"""Seconds for a start; it takes about one, but the machine may be busy with other tests."""

RAMBLING = {"temperature": 100, "top_k": 0, "top_p": 1, "num_predict": -1}
"""Options of an answer that goes on to the end of the context: any token is as likely as the one that ends it."""

_PROGRAM = """
import json, sys
from pathlib import Path
from appliance.engine.main import EngineOptions, run
from appliance.errors import EngineError
given = json.loads(sys.argv[1])
given |= {name: Path(given[name]) for name in ("model", "embedding_model", "state") if name in given}
try:
    sys.exit(run(EngineOptions(**given)))
except EngineError as error:
    sys.exit(f"EngineError: {error}")
"""


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def chunked(self) -> bool:
        return self.headers.get("transfer-encoding") == "chunked"


@dataclass
class Engine:
    """A running engine process, and requests to it."""

    process: subprocess.Popen[str]
    ready_line: str
    port: int
    _closed: bool = field(default=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(
        self, method: str, path: str, body: bytes | object | None = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, data, dict(headers or {}))
            response = connection.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def chat(self, text: str = "Hi", **fields: object) -> Reply:
        body = {"model": "smollm2", "messages": [{"role": "user", "content": text}], "stream": False} | fields
        return self.send("POST", "/api/chat", body)

    def chat_until_cut(self) -> None:
        """A call that goes on until somebody ends it."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.chat(options=RAMBLING)

    def loaded(self) -> list[Any]:
        return self.send("GET", "/api/ps").json["models"]

    def runner(self, file: str = "SmolLM2") -> int:
        """The process id of the child that has the model's file in memory."""
        (child,) = (child for child in runners_of(self.process.pid) if file in Path(f"/proc/{child}/maps").read_text())
        return child

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends the signal and returns the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=20)
        if self.process.stderr is not None:
            self.process.stderr.close()
        return code


def runners_of(parent: int) -> list[int]:
    """The llama.cpp processes that this process started."""
    return [child for child in children_of(parent) if b"engine/child.py" in Path(f"/proc/{child}/cmdline").read_bytes()]


def children_of(parent: int) -> list[int]:
    found: list[int] = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(status.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(status.parent.name))
    return found


def start_engine(**options: object) -> Engine:
    """Starts an engine on a port that the system chooses and waits until it says that it is ready."""
    program = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, json.dumps({"port": 0} | options)],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
    )
    assert program.stderr is not None
    said: list[str] = []
    too_late = threading.Timer(START_PATIENCE, program.kill)
    too_late.start()
    try:
        for line in program.stderr:
            said.append(line.strip())
            # With debug output, llama.cpp's own lines may stand before it without an end.
            if ready := re.search(r"synapse engine: \S+ on http://\S+:(\d+)", line):
                return Engine(program, ready.group(), int(ready.group(1)))
    finally:
        too_late.cancel()
    program.communicate()
    raise RuntimeError("the engine did not start: " + " ".join(said))


def is_running(process: int) -> bool:
    """Whether there is such a process, other than as a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
