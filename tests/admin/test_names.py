"""Names of a real admin socket; only what runs behind it is played."""

import asyncio
import socket
import time
from pathlib import Path
from typing import get_args

import orjson
import pytest

from appliance.admin import wire
from appliance.admin.client import Client
from appliance.admin.names import SECONDS, Name, names
from appliance.admin.node_wire import Node, NodeList, NodeState
from appliance.admin.policy_wire import NewProvider
from appliance.errors import AdminError
from appliance.parsing import Kind
from tests.admin.played import Daemon
from tests.admin.strangers import answering


async def asked(path: Path, kind: Kind) -> tuple[Name, ...]:
    return await asyncio.to_thread(names, path, kind)


async def test_what_a_daemon_knows(client: Client, listening: Daemon):
    old = (await client.create_key(wire.NewKey("old $(touch x)"))).key
    key = (await client.create_key(wire.NewKey("it's"))).key
    await client.revoke_key(old.id)
    await client.create_workspace("legal affairs")
    await client.create_user("Zoé / 2")
    await client.put_provider(NewProvider("rack", "openai-compatible", "https://rack.example.com/v1", "k", "m", None))
    listening.proofs.add(2)
    working = Name("it's", "admin@default, active", key.id)
    assert set(await asked(listening.socket, "key")) == {
        working,
        Name("old $(touch x)", "admin@default, revoked", old.id),
    }
    expected: dict[Kind, tuple[Name, ...]] = {
        "working key": (working,),
        "workspace": (Name("default"), Name("legal affairs")),
        "user": (Name("Zoé / 2"), Name("admin")),
        "model": (Name("smollm2:latest"),),
        "provider": (Name("rack", "openai-compatible"),),
        "lane": (Name("ollama", "your own machines"), Name("rack", "openai-compatible")),
        "certificate": tuple(
            Name(f"prf_{index:026d}", "2026-11-29T18:57:03.120Z pulse-auto") for index in reversed(range(2))
        ),
        "file": (),
        "directory": (),
    }
    for kind, found in expected.items():
        assert sorted(await asked(listening.socket, kind), key=str) == sorted(found, key=str), kind


async def test_of_the_machines_those_that_a_decision_can_be_about(tmp_path: Path):
    states: tuple[NodeState, ...] = get_args(NodeState)
    known = [
        Node(f"id-{state}", state, state, "pinned", "ollama", "http://192.168.1.2", "", (), slots=1, in_flight=0)
        for state in states
    ]
    listed = Node("id-listed", "listed", "active", "open", "ollama", "http://192.168.1.3", "", (), 1, 0, listed=True)
    body = orjson.dumps(wire.encode(NodeList((*known, listed), "gateway", (), waiting=0)))
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    expected: dict[Kind, set[str]] = {
        "node": {*states, "listed"},
        "newcomer": {"candidate", "changed", "rejected", "revoked"},
        "candidate": {"candidate", "changed"},
        "serving node": {"admitted", "active", "unhealthy"},
        "draining node": {"draining"},
        "removable node": set(states) - {"candidate", "changed"},
    }
    async with answering(tmp_path / "admin.sock", answer) as path:
        for kind, wanted in expected.items():
            found = await asked(path, kind)
            assert {one.name for one in found} == wanted, kind
            assert all(one.id == f"id-{one.name}" for one in found)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HELLO\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        b"HTTP/1.1 500 Bad\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
async def test_a_strange_answer_is_a_known_error(tmp_path: Path, answer: bytes):
    async with answering(tmp_path / "admin.sock", answer) as path:
        with pytest.raises((AdminError, OSError)):
            await asked(path, "key")


def test_nobody_there(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        names(tmp_path / "admin.sock", "key")


def test_a_daemon_that_hangs_is_not_waited_for(tmp_path: Path):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "admin.sock"))
        silent.listen()
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            names(tmp_path / "admin.sock", "key")
        assert time.monotonic() - began < SECONDS + 0.3
