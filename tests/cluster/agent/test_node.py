import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from appliance.cluster.agent.node import Sockets, Trusted, port_of, running
from appliance.cluster.agent.state import opened
from appliance.cluster.cluster_key import ClusterKey
from appliance.cluster.identity import Identity, client_context
from appliance.cluster.join_errors import Failure, JoinError
from appliance.cluster.join_gateway import Joined, join, peek
from appliance.errors import ConfigError
from tests.cluster.joining import SECRET, bound
from tests.upstreams.ollama import OllamaDouble

GATEWAY, OTHER_GATEWAY = Identity.create(), Identity.create()
KEY = ClusterKey(GATEWAY.id, SECRET)


@dataclass
class Announcement:
    said: list[tuple[str, str, int, Mapping[str, str]]] = field(default_factory=list)

    def __call__(self, instance: str, port: int, properties: Mapping[str, str]) -> "Announcement":
        self._now = (instance, port, properties)
        return self

    async def start(self) -> None:
        self.said.append(("start", *self._now))

    async def update(self, properties: Mapping[str, str]) -> None:
        self.said.append(("update", *self._now[:2], properties))

    async def stop(self) -> None:
        self.said.append(("stop", *self._now))


@dataclass
class Running:
    port: int
    join_port: int
    announcement: Announcement


@asynccontextmanager
async def node(directory: Path, ollama: OllamaDouble, trusted: Trusted, **options: Any) -> AsyncIterator[Running]:
    announcement = Announcement()
    with opened(directory, name="desk", fallback="") as state, bound() as data, bound() as joins:
        fields: dict[str, Any] = {"slots": 4, "version": "1", "announce": announcement, "monotonic": lambda: 0.0}
        async with running(state, trusted, Sockets(data, joins), ollama=ollama.url, **fields | options):
            yield Running(port_of(data), port_of(joins), announcement)


async def joined(at: Running, gateway: Identity = GATEWAY) -> Joined:
    found = await peek("127.0.0.1", at.join_port)
    return await join("127.0.0.1", at.join_port, gateway=gateway, expected_id=found, way="key", secret=SECRET)


async def about(at: Running, certificate: bytes) -> Any:
    connector = aiohttp.TCPConnector(ssl=client_context(GATEWAY, certificate))
    url = f"https://127.0.0.1:{at.port}/synapse/v1/node"
    async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as answer:
        return await answer.json()


async def test_a_join_opens_the_data_port(tmp_path: Path, ollama: OllamaDouble):
    async with node(tmp_path, ollama, Trusted(key=KEY)) as at:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", at.port)
        found = await joined(at)
        assert (found.name, found.port, found.slots) == ("desk", at.port, 4)
        assert await about(at, found.certificate) == {"name": "desk", "slots": 4, "version": "1"}


async def test_a_gateway_is_kept_over_a_restart(tmp_path: Path, ollama: OllamaDouble):
    async with node(tmp_path, ollama, Trusted(key=KEY)) as at:
        found = await joined(at)
    async with node(tmp_path, ollama, Trusted()) as at:
        assert (await about(at, found.certificate))["name"] == "desk"
    async with node(tmp_path, ollama, Trusted(key=ClusterKey(OTHER_GATEWAY.id, SECRET))) as at:
        with pytest.raises(JoinError) as caught:
            await joined(at, OTHER_GATEWAY)
        assert caught.value.failure is Failure.CLAIMED
        assert (await about(at, found.certificate))["name"] == "desk"


async def test_what_it_announces(tmp_path: Path, ollama: OllamaDouble):
    async with node(tmp_path, ollama, Trusted(key=KEY)) as at:
        found = await joined(at)
    instance = "syn-" + found.id[:16]
    record = {"txtvers": "1", "proto": "1", "id": found.id, "st": "open", "jp": str(at.join_port), "api": "ollama"}
    assert at.announcement.said == [
        ("start", instance, at.port, record),
        ("update", instance, at.port, record | {"st": "claimed"}),
        ("stop", instance, at.port, record),
    ]
    async with node(tmp_path, ollama, Trusted()) as again:
        assert again.announcement.said[0][3]["st"] == "claimed"


async def test_it_need_not_announce_itself(tmp_path: Path, ollama: OllamaDouble):
    async with node(tmp_path, ollama, Trusted(key=KEY), announce=None) as at:
        assert (await joined(at)).name == "desk"
        assert at.announcement.said == []


async def test_a_port_that_another_took_first(tmp_path: Path, ollama: OllamaDouble):
    """Two may bind one port with SO_REUSEADDR; the first to listen has it."""
    with (
        shared() as data,
        shared(port_of(data)) as other,
        bound() as joins,
        opened(tmp_path, name="desk", fallback="") as state,
    ):
        state.pin(GATEWAY.certificate)
        other.listen()
        options: dict[str, Any] = {"slots": 4, "version": "1", "announce": None, "monotonic": lambda: 0.0}
        with pytest.raises(ConfigError, match="taken"):
            async with running(state, Trusted(), Sockets(data, joins), ollama=ollama.url, **options):
                raise AssertionError


def shared(port: int = 0) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    sock.setblocking(False)
    return sock
