"""The agent as a process: joined, called, killed in every phase, and started again on the same state."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from appliance.cluster import join_messages as messages
from appliance.cluster.cluster_key import ClusterKey
from appliance.cluster.identity import Identity, client_context
from appliance.cluster.join_gateway import Joined, join, peek
from tests.cluster.joining import SECRET, calling, claim_line
from tests.upstreams.ollama import OllamaDouble, done, line, says
from tests.waiting import until

ROOT = Path(__file__).parents[3]
GATEWAY, STRANGER = Identity.create(), Identity.create()
KEY = ClusterKey(GATEWAY.id, SECRET).text()

CODE = """
import json, pathlib, sys
from appliance.cluster.agent.main import NodeOptions, run
from appliance.errors import SynapseError
fields = json.loads(sys.stdin.readline())
try:
    sys.exit(run(NodeOptions(state=pathlib.Path(fields.pop("state")), **fields)))
except SynapseError as error:
    sys.exit(str(error))
"""


@dataclass
class Agent:
    process: asyncio.subprocess.Process
    log: list[str]
    join_port: int
    port: int

    async def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()

    async def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            return await self.process.wait()


async def launched(state: Path, ollama: str, **options: Any) -> asyncio.subprocess.Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CODE,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    fields = {"name": "desk", "host": "127.0.0.1", "port": 0, "join_port": 0, "announce": False, "cluster_key": KEY}
    assert process.stdin is not None
    process.stdin.write(orjson.dumps({"state": str(state), "ollama": ollama} | fields | options) + b"\n")
    process.stdin.close()
    return process


@asynccontextmanager
async def agent(state: Path, ollama: OllamaDouble, **options: Any) -> AsyncIterator[Agent]:
    process = await launched(state, ollama.url, **options)
    assert process.stderr is not None
    log: list[str] = []
    try:
        async with asyncio.timeout(20):
            while "ready:" not in (log[-1] if log else ""):
                log.append((await process.stderr.readline()).decode())
                assert log[-1], log
        *_, join_port, _, _, _, port = log[-1].replace(",", "").split()
        yield Agent(process, log, int(join_port), int(port))
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def joined(at: Agent) -> Joined:
    found = await peek("127.0.0.1", at.join_port)
    return await join("127.0.0.1", at.join_port, gateway=GATEWAY, expected_id=found, way="key", secret=SECRET)


def session_of(certificate: bytes, client: Identity = GATEWAY) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=client_context(client, certificate)))


def asking(session: aiohttp.ClientSession, at: Agent) -> Any:
    return session.post(f"https://127.0.0.1:{at.port}/api/chat", data=b"{}")


async def asked(at: Agent, certificate: bytes, client: Identity = GATEWAY) -> bytes:
    async with session_of(certificate, client) as session, asking(session, at) as answer:
        assert answer.status == 200
        return await answer.read()


async def test_a_node_from_its_first_start_to_its_end(tmp_path: Path, ollama: OllamaDouble):
    ollama.default = says(line("Hello"), done())
    async with agent(tmp_path, ollama) as at:
        assert any("its words are" in each for each in at.log)
        assert any(f"waits for the gateway {GATEWAY.instance}" in each for each in at.log)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", at.port)
        found = await joined(at)
        assert (found.name, found.port) == ("desk", at.port)
        assert await asked(at, found.certificate) == line("Hello") + done()
        with pytest.raises((aiohttp.ClientError, ConnectionError)):
            await asked(at, found.certificate, STRANGER)
        assert len(ollama.received) == 1
        assert await at.stop() == 0
        assert at.process.stdout is not None
        assert await at.process.stdout.read() == b""
    async with agent(tmp_path, ollama, cluster_key=None) as again:
        assert any(f"belongs to the gateway {GATEWAY.instance}" in each for each in again.log)
        assert await asked(again, found.certificate)
    assert KEY[5:30] not in "".join(at.log + again.log)


async def test_it_is_killed_before_anybody_joins(tmp_path: Path, ollama: OllamaDouble):
    async with agent(tmp_path, ollama) as at:
        before = await peek("127.0.0.1", at.join_port)
        await at.kill()
    async with agent(tmp_path, ollama) as again:
        assert (await joined(again)).id == before


async def test_it_is_killed_in_every_phase_of_a_join(tmp_path: Path, ollama: OllamaDouble):
    node = await identity_of(tmp_path, ollama)
    pinned = tmp_path / "gateway.der"
    for phase in ("handshake", "challenge", "claim"):
        async with agent(tmp_path, ollama) as at, calling(at.join_port) as gateway:
            if phase != "handshake":
                hello, claimed = await claim_line(gateway, GATEWAY, node, SECRET)
                assert messages.read_hello(hello)
                if phase == "claim":
                    gateway.writer.write(claimed)
                    await until(pinned.exists)  # and its answer may be on its way, or not
            await at.kill()
        assert pinned.exists() == (phase == "claim")
    async with agent(tmp_path, ollama) as again:
        found = await joined(again)
        assert found.certificate == node.certificate
        assert await asked(again, found.certificate)


async def test_it_is_killed_within_an_answer(tmp_path: Path, ollama: OllamaDouble):
    ollama.scripts.append(says(line("Hel"), 60.0))
    async with agent(tmp_path, ollama) as at:
        found = await joined(at)
        async with session_of(found.certificate) as session, asking(session, at) as answer:
            await answer.content.readline()
            await at.kill()
            with pytest.raises(aiohttp.ClientError):
                await answer.read()
        await until(lambda: ollama.left == 1)
    async with agent(tmp_path, ollama, cluster_key=None) as again:
        assert await asked(again, found.certificate)


async def test_it_ends_in_time_with_a_stream_open(tmp_path: Path, ollama: OllamaDouble):
    ollama.scripts.append(says(line("Hel"), 60.0))
    async with agent(tmp_path, ollama) as at:
        found = await joined(at)
        async with session_of(found.certificate) as session, asking(session, at) as answer:
            await answer.content.readline()
            assert await at.stop() == 0
            with pytest.raises(aiohttp.ClientError):
                await answer.read()
        await until(lambda: ollama.left == 1)


async def test_a_second_agent_or_a_taken_port_is_said(tmp_path: Path, ollama: OllamaDouble):
    async with agent(tmp_path / "a", ollama) as at:
        for state, options, says_it in (("a", {}, "is running"), ("b", {"join_port": at.join_port}, "--join-port")):
            second = await launched(tmp_path / state, ollama.url, **options)
            _, errors = await second.communicate()
            assert second.returncode == 1
            assert says_it in errors.decode()


async def identity_of(state: Path, ollama: OllamaDouble) -> Identity:
    """The node's own identity, whose certificate a transcript needs; the process is ended."""
    async with agent(state, ollama) as at:
        assert await at.stop() == 0
    return Identity.from_pem((state / "identity.pem").read_bytes())
