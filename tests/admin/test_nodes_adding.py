"""Machines that are named by their address."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from appliance.admin.node_wire import Admission, NewNode
from appliance.admin.nodes import Nodes
from appliance.admin.wire import InvalidInput
from appliance.cluster.addresses import id_at
from appliance.cluster.join_errors import JoinError
from appliance.errors import AdminError
from tests.admin.cluster import LISTED
from tests.admin.nearby import nearby
from tests.admin.played import Daemon
from tests.admin.records import actions, entries, stored, trail
from tests.admin.test_node_places import PEM
from tests.waiting import until

KEY, OTHER = "sk-a-key-that-nobody-may-see", "sk-another-that-nobody-may-see"
URL = "https://192.168.1.9:8000/v1"


@pytest.fixture
def nodes(daemon: Daemon) -> Nodes:
    return daemon.parts.nodes


async def test_it_is_taken_in_with_all_that_was_said(nodes: Nodes, daemon: Daemon):
    made = await nodes.add("zoe", NewNode(URL, "openai-compatible", "rack", KEY, PEM, 9))
    assert (made.name, made.kind, made.url, made.trust, made.slots) == ("rack", "openai-compatible", URL, "open", 9)
    await until(lambda: nodes.list_all().nodes[1].state == "active")
    machine = daemon.cluster.registry.get(made.id)
    assert machine is not None
    assert daemon.cluster.links.of(machine).headers == {"Authorization": f"Bearer {KEY}"}
    assert await actions(daemon) == [("zoe", "node.admit", made.id)]
    [(_, payload)] = await entries(daemon)
    assert payload["node"] == {"id": made.id, "name": "rack", "trust": "open", "url": URL}


async def test_its_key_is_nowhere_in_the_clear(nodes: Nodes, daemon: Daemon, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    await nodes.add("zoe", NewNode(URL, "openai-compatible", key=KEY))
    await nodes.add("zoe", NewNode(URL, "openai-compatible", key=OTHER))
    shown = f"{nodes.list_all()}{await trail(daemon)}{caplog.text}"
    written = stored(daemon) + shown.encode()
    for key in (KEY, OTHER):
        assert key.encode() not in written
        assert key.encode().hex().encode() not in written
    assert URL.encode() in written


async def test_said_again_it_is_changed_and_each_change_is_recorded(nodes: Nodes, daemon: Daemon):
    changes = [
        NewNode(URL, "openai-compatible", key=KEY),
        NewNode(URL, "openai-compatible", key=OTHER),
        NewNode(URL, "openai-compatible", key=OTHER, slots=9, name="rack"),
        NewNode(URL, "openai-compatible"),
        NewNode(URL, "openai-compatible"),
    ]
    for new in changes:
        await nodes.add("zoe", new)
    rows = await trail(daemon)
    assert [row.action for row in rows] == ["node.admit", *["node.change"] * 2]
    assert all(row.before != row.after for row in rows)
    assert len(await entries(daemon)) == 1
    machine = daemon.cluster.registry.get(id_at(URL))
    assert machine is not None
    # What is not given is kept.
    assert daemon.cluster.links.of(machine).headers == {"Authorization": f"Bearer {OTHER}"}
    assert (machine.name, machine.slots) == ("rack", 9)


@pytest.mark.parametrize("slots", [0, -1, 1025, 2**40])
async def test_slots_have_bounds(nodes: Nodes, daemon: Daemon, slots: int):
    with pytest.raises(InvalidInput, match=rf"^slots is {slots}\. It must be from 1 to 1024\.$"):
        await nodes.add("zoe", NewNode("http://10.0.0.1", slots=slots))
    assert await actions(daemon) == []


@pytest.mark.parametrize("url", [LISTED.url, f"{LISTED.url}/", "http://localhost:11434", "http://[::1]:11434"])
async def test_what_the_settings_name_is_not_added(nodes: Nodes, daemon: Daemon, url: str):
    with pytest.raises(AdminError, match=r"is in the settings already \(local\.ollama\)\. synapse node list shows"):
        await nodes.add("zoe", NewNode(url))
    assert (len(nodes.list_all().nodes), await actions(daemon)) == (1, [])


async def test_one_place_by_another_name(nodes: Nodes, daemon: Daemon):
    await nodes.add("zoe", NewNode("http://10.0.0.1:80"))
    with pytest.raises(AdminError, match=r"10\.0\.0\.1:80 is at this address already, as http://10\.0\.0\.1:80"):
        await nodes.add("zoe", NewNode("http://10.0.0.1"))
    assert len(await actions(daemon)) == 1


async def test_two_paths_of_one_host_are_two(nodes: Nodes):
    for path in ("a", "b"):
        await nodes.add("zoe", NewNode(f"http://10.0.0.1/{path}/v1", "openai-compatible", path))
    assert [node.name for node in nodes.list_all().nodes][1:] == ["a", "b"]


async def test_an_address_outside_is_not_written_down(nodes: Nodes, daemon: Daemon):
    with pytest.raises(InvalidInput, match="synapse provider add"):
        await nodes.add("zoe", NewNode("https://8.8.8.8"))
    assert (await actions(daemon), await entries(daemon)) == ([], [])


class TestNodesAddress:
    async def test_it_becomes_a_candidate_whose_key_is_known(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            made = await nodes.add("zoe", NewNode(node.url))
            assert (made.id, made.state, made.trust, made.why) == (node.id, "candidate", "pinned", None)
            assert await actions(daemon) == []
            assert (await nodes.admit("zoe", Admission(node.id, node.last_words))).way == "words"
            assert (await nodes.add("zoe", NewNode(node.url))).state in ("admitted", "active")
            await nodes.remove("zoe", node.id)
            assert (await nodes.add("zoe", NewNode(node.url))).state == "revoked"
            await nodes.admit("zoe", Admission(node.id, node.last_words))

    async def test_each_address_of_its_name_is_tried(
        self, nodes: Nodes, daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        resolve: Any = asyncio.BaseEventLoop.getaddrinfo

        async def three(loop: asyncio.BaseEventLoop, host: str, *given: Any, **more: Any) -> Any:
            if host != "desk.local":
                return await resolve(loop, host, *given, **more)
            return [(0, 0, 0, "", (address, 0)) for address in ("::1", "127.0.0.2", "127.0.0.1")]

        monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", three)
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            made = await nodes.add("zoe", NewNode(f"synapse://desk.local:{node.join_port}"))
            assert (made.id, made.url) == (node.id, "https://127.0.0.1:11435")

    async def test_nobody_there(self, nodes: Nodes, tmp_path: Path):
        async with nearby(tmp_path) as node:
            url = node.url
        with pytest.raises(JoinError, match=r"does not answer on its join port\. See that"):
            await nodes.add("zoe", NewNode(url))
        assert len(nodes.list_all().nodes) == 1
