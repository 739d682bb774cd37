"""What is shown of machines, and what is decided about those in use."""

import asyncio
from dataclasses import replace

import aiohttp
import pytest

from appliance.admin.node_wire import Admission, NewNode, Node
from appliance.admin.nodes import Nodes
from appliance.admin.wire import UnknownSubject
from appliance.cluster.addresses import id_at
from appliance.cluster.choice import Wanted
from appliance.cluster.machine import NOT_ASKED
from appliance.errors import AdminError, LocalLaneUnavailable
from appliance.proofs.envelope import NODE_ADMIT, NODE_REVOKE
from appliance.store import nodes as store
from appliance.store.nodes import NodeRow
from tests.admin.cluster import LISTED, MODEL, cluster
from tests.admin.nearby import OLLAMA, hear
from tests.admin.played import Daemon
from tests.admin.records import actions, entries, trail
from tests.waiting import until

ATTIC = "http://192.168.1.30:11434"
ATTIC_ID = id_at(ATTIC)
WANTED = Wanted(MODEL.name)


@pytest.fixture
def nodes(daemon: Daemon) -> Nodes:
    return daemon.parts.nodes


def shown(nodes: Nodes, machine_id: str) -> Node:
    return next(node for node in nodes.list_all().nodes if node.id == machine_id)


def states(nodes: Nodes) -> dict[str, str]:
    return {node.id: node.state for node in nodes.list_all().nodes}


async def attic(nodes: Nodes, state: str = "active") -> None:
    """One open machine in use, which was asked how it is."""
    await nodes.add("zoe", NewNode(ATTIC, slots=1))
    await until(lambda: states(nodes)[ATTIC_ID] == state)


async def asleep(daemon: Daemon) -> None:
    """The machine of the settings does not answer."""
    daemon.cluster.health.ill[LISTED.id] = "it sleeps"
    daemon.cluster.registry.probe_soon(LISTED.id)
    await until(lambda: states(daemon.parts.nodes)[LISTED.id] == "unhealthy")


class TestList:
    async def test_the_machine_of_the_settings(self, nodes: Nodes):
        [one] = nodes.list_all().nodes
        assert (one.id, one.state, one.trust, one.why) == (LISTED.id, "active", "loopback", None)
        assert (one.listed, one.way, one.words) == (True, None, ())
        assert (one.models, one.engine, one.slots, one.in_flight) == (("smollm2",), "ollama/0.32.15", 4, 0)

    async def test_the_gateway_and_why_nothing_is_heard(self, nodes: Nodes, daemon: Daemon):
        daemon.cluster.problem = "no interface is up"
        found = nodes.list_all()
        assert (found.gateway_id, len(found.gateway_words)) == (daemon.cluster.identity.id, 8)
        assert (found.discovery, found.waiting) == ("no interface is up", 0)

    async def test_a_candidate_has_not_answered_and_then_has(self, nodes: Nodes, daemon: Daemon):
        daemon.cluster.health.ill[ATTIC_ID] = "it does not answer like Ollama"
        hear(daemon.cluster, OLLAMA)
        await until(lambda: ATTIC_ID in states(nodes) and shown(nodes, ATTIC_ID).why != "it has not answered yet")
        one = shown(nodes, ATTIC_ID)
        assert (one.state, one.trust, one.url, one.name, one.words) == ("candidate", "open", ATTIC, "", ())
        assert one.why == "it does not answer like Ollama"
        daemon.cluster.health.ill.clear()
        hear(daemon.cluster, OLLAMA)
        await until(lambda: shown(nodes, ATTIC_ID).why is None)

    async def test_a_candidate_that_says_goodbye_is_not_shown(self, nodes: Nodes, daemon: Daemon):
        hear(daemon.cluster, OLLAMA)
        await until(lambda: ATTIC_ID in states(nodes))
        hear(daemon.cluster)
        await until(lambda: ATTIC_ID not in states(nodes))

    async def test_one_that_was_let_in_and_not_asked_yet(self, nodes: Nodes):
        made = await nodes.add("zoe", NewNode(ATTIC))
        assert (made.state, made.why, made.way, made.listed) == ("admitted", NOT_ASKED, "administrator", False)

    async def test_one_that_is_not_well(self, nodes: Nodes, daemon: Daemon):
        daemon.cluster.health.ill[ATTIC_ID] = "it answers too slowly"
        await attic(nodes, "unhealthy")
        assert shown(nodes, ATTIC_ID).why == "it answers too slowly"

    async def test_one_that_rests_after_failures(self, nodes: Nodes, daemon: Daemon):
        for _ in range(3):
            async with daemon.cluster.scheduler.lease(WANTED) as lease:
                lease.outcome = "failed"
        [one] = nodes.list_all().nodes
        assert one.state == "active"
        assert one.why == "it failed several calls in a row, and gets one at a time until one is answered"

    async def test_one_that_a_call_found_failing(self, nodes: Nodes, daemon: Daemon):
        daemon.cluster.registry.report_failure(LISTED.id, "it closed the connection")
        [one] = nodes.list_all().nodes
        assert one.why == "it closed the connection; it is being asked how it is"

    async def test_calls_in_flight_and_waiting(self, nodes: Nodes, daemon: Daemon):
        async with asyncio.TaskGroup() as group, asyncio.timeout(10):
            end = asyncio.Event()

            async def call() -> None:
                async with daemon.cluster.scheduler.lease(WANTED):
                    await end.wait()

            for _ in range(6):
                group.create_task(call())
            await until(lambda: nodes.list_all().waiting == 2)
            assert nodes.list_all().nodes[0].in_flight == 4
            end.set()


class TestDrain:
    async def test_its_calls_go_on_and_no_new_one_comes(self, nodes: Nodes, daemon: Daemon):
        await attic(nodes)
        await asleep(daemon)
        async with daemon.cluster.scheduler.lease(WANTED) as lease:
            assert lease.machine.id == ATTIC_ID
            drained = await nodes.drain("zoe", ATTIC_ID, on=True)
            assert (drained.state, drained.in_flight) == ("draining", 1)
            assert drained.why == "it takes no more calls; 1 still run"
            with pytest.raises(LocalLaneUnavailable):
                async with daemon.cluster.scheduler.lease(WANTED):
                    raise AssertionError
            lease.outcome = "answered"
        one = shown(nodes, ATTIC_ID)
        assert (one.in_flight, one.why) == (0, "it takes no more calls")
        resumed = await nodes.drain("zoe", "192.168.1.30:11434", on=False)
        assert resumed.state == "active"
        async with daemon.cluster.scheduler.lease(WANTED) as lease:
            assert lease.machine.id == ATTIC_ID

    async def test_a_call_that_waits_for_it_is_told(self, nodes: Nodes, daemon: Daemon):
        await attic(nodes)
        await asleep(daemon)
        async with daemon.cluster.scheduler.lease(WANTED):

            async def call() -> str:
                async with daemon.cluster.scheduler.lease(WANTED) as lease:
                    return lease.machine.id

            waiting = asyncio.ensure_future(call())
            await until(lambda: nodes.list_all().waiting == 1)
            await nodes.drain("zoe", ATTIC_ID, on=True)
            with pytest.raises(LocalLaneUnavailable):
                await waiting

    async def test_each_is_recorded_with_before_and_after_and_once(self, nodes: Nodes, daemon: Daemon):
        await attic(nodes)
        for _ in range(2):
            await nodes.drain("ann", ATTIC_ID, on=True)
        for _ in range(2):
            await nodes.drain("bob", ATTIC_ID, on=False)
        rows = (await trail(daemon))[1:]
        assert [(row.who, row.action, row.before["state"], row.after["state"]) for row in rows] == [
            ("ann", "node.drain", "admitted", "draining"),
            ("bob", "node.resume", "draining", "admitted"),
        ]
        # Only who is let in and put out is for auditors.
        assert [kind for kind, _ in await entries(daemon)] == [NODE_ADMIT]

    async def test_while_it_is_unhealthy_it_drains_too(self, nodes: Nodes, daemon: Daemon):
        daemon.cluster.health.ill[ATTIC_ID] = "it sleeps"
        await attic(nodes, "unhealthy")
        drained = await nodes.drain("zoe", ATTIC_ID, on=True)
        assert (drained.state, drained.why) == ("draining", "it sleeps")

    @pytest.mark.parametrize("on", [True, False])
    async def test_what_is_not_in_use(self, nodes: Nodes, daemon: Daemon, on: bool):
        hear(daemon.cluster, OLLAMA)
        await until(lambda: ATTIC_ID in states(nodes))
        with pytest.raises(AdminError, match=r"It is no machine in use\. synapse node list shows them"):
            await nodes.drain("zoe", ATTIC_ID, on=on)
        with pytest.raises(UnknownSubject, match=r'There is no machine "nobody"\. synapse node list'):
            await nodes.drain("zoe", "nobody", on=on)
        assert await actions(daemon) == []


class TestRemove:
    async def test_an_open_machine_is_forgotten(self, nodes: Nodes, daemon: Daemon):
        await attic(nodes)
        gone = await nodes.remove("zoe", "192.168.1.30:11434")
        assert (gone.id, gone.state) == (ATTIC_ID, "active")
        assert ATTIC_ID not in states(nodes)
        assert await daemon.parts.database.read(store.list_all) == []
        row = (await trail(daemon))[-1]
        assert (row.who, row.action, row.subject, row.after) == ("zoe", "node.remove", ATTIC_ID, None)
        assert (row.before["url"], row.before["state"]) == (ATTIC, "admitted")
        logged = await entries(daemon)
        assert [kind for kind, _ in logged] == [NODE_ADMIT, NODE_REVOKE]
        assert [payload["node"] for _, payload in logged] == [
            {"id": ATTIC_ID, "name": "192.168.1.30:11434", "trust": "open", "url": ATTIC}
        ] * 2

    async def test_it_can_come_again(self, nodes: Nodes, daemon: Daemon):
        await attic(nodes)
        await nodes.remove("zoe", ATTIC_ID)
        await attic(nodes)
        assert [kind for kind, _ in await entries(daemon)] == [NODE_ADMIT, NODE_REVOKE, NODE_ADMIT]

    async def test_a_candidate_cannot_be_removed(self, nodes: Nodes, daemon: Daemon):
        hear(daemon.cluster, OLLAMA)
        await until(lambda: ATTIC_ID in states(nodes))
        with pytest.raises(AdminError, match=r"is only a candidate\. synapse node reject hides it for good"):
            await nodes.remove("zoe", ATTIC_ID)
        assert await actions(daemon) == []

    @pytest.mark.parametrize("change", ["remove", "drain", "resume"])
    async def test_the_settings_alone_decide_about_theirs(self, nodes: Nodes, daemon: Daemon, change: str):
        asked = (
            nodes.remove("zoe", LISTED.id)
            if change == "remove"
            else nodes.drain("zoe", LISTED.id, on=change == "drain")
        )
        with pytest.raises(AdminError, match=r"which alone decide about it\. Take it out of local\.ollama and restart"):
            await asked
        assert await actions(daemon) == []
        assert states(nodes) == {LISTED.id: "active"}

    async def test_two_at_once_are_one(self, nodes: Nodes, daemon: Daemon):
        await attic(nodes)
        results = await asyncio.gather(*(nodes.remove("zoe", ATTIC_ID) for _ in range(2)), return_exceptions=True)
        assert [type(one) for one in results] == [Node, AdminError]
        assert [action for _, action, _ in await actions(daemon)] == ["node.admit", "node.remove"]

    async def test_at_once_with_a_drain_it_stays_away(self, nodes: Nodes, daemon: Daemon):
        await attic(nodes)
        await asyncio.gather(
            nodes.drain("ann", ATTIC_ID, on=True), nodes.remove("bob", ATTIC_ID), return_exceptions=True
        )
        assert ATTIC_ID not in states(nodes)
        assert await daemon.parts.database.read(store.list_all) == []

    async def test_it_stays_away_while_its_old_connections_are_closed(
        self, nodes: Nodes, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
    ):
        await nodes.add("zoe", NewNode(ATTIC, key="k1"))
        closing, closed = asyncio.Event(), asyncio.Event()
        close = aiohttp.ClientSession.close

        async def slowly(session: aiohttp.ClientSession) -> None:
            if not closing.is_set():
                closing.set()
                await closed.wait()
            await close(session)

        monkeypatch.setattr(aiohttp.ClientSession, "close", slowly)
        changing = asyncio.ensure_future(nodes.add("ann", NewNode(ATTIC, key="k2")))
        await closing.wait()
        await nodes.remove("bob", ATTIC_ID)
        closed.set()
        with pytest.raises(UnknownSubject):
            await changing
        assert daemon.cluster.registry.get(ATTIC_ID) is None


class TestRestart:
    async def test_decisions_come_back(self, daemon: Daemon):
        nodes = daemon.parts.nodes
        await attic(nodes)
        await nodes.add("zoe", NewNode("http://192.168.1.31:11434", name="cellar", key="k1"))
        await nodes.drain("zoe", "cellar", on=True)
        hear(daemon.cluster, replace(OLLAMA, addresses=("192.168.1.32",)))
        await until(lambda: "candidate" in states(nodes).values())
        await nodes.reject("zoe", id_at("http://192.168.1.32:11434"))
        before = told(nodes)
        async with again(daemon) as restarted:
            assert told(restarted.nodes) == before
            assert sorted(state for _, state, _ in before.values()) == ["active", "active", "draining", "rejected"]
            cellar = restarted.registry.get(id_at("http://192.168.1.31:11434"))
            assert cellar is not None
            assert restarted.links.of(cellar).headers == {"Authorization": "Bearer k1"}

    async def test_the_settings_decide_about_a_machine_that_they_name_now(self, daemon: Daemon):
        row = NodeRow(LISTED.id, "mine", "open", "ollama", LISTED.url, "administrator", "draining", 0)
        await daemon.parts.database.write(lambda conn: store.put(conn, row))
        async with again(daemon) as restarted:
            [one] = restarted.nodes.list_all().nodes
            assert (one.state, one.listed, one.way) == ("active", True, None)
            with pytest.raises(AdminError, match="named in the settings"):
                await restarted.nodes.remove("zoe", LISTED.id)

    @pytest.mark.parametrize(
        "broken",
        [
            NodeRow("url-a", "far", "open", "ollama", "http://8.8.8.8:11434", "administrator", "admitted", 0),
            NodeRow("a" * 52, "odd", "pinned", "ollama", "https://10.0.0.1:1", "key", "admitted", 0, b"no certificate"),
            NodeRow("url-c", "ca", "open", "ollama", "https://10.0.0.1", "administrator", "admitted", 0, ca="no PEM"),
        ],
        ids=["outside now", "no certificate", "no authority"],
    )
    async def test_one_that_cannot_be_used_stops_no_start_and_can_be_removed(self, daemon: Daemon, broken: NodeRow):
        await attic(daemon.parts.nodes)
        await daemon.parts.database.write(lambda conn: store.put(conn, broken))
        async with again(daemon) as restarted:
            assert states(restarted.nodes) == {LISTED.id: "active", ATTIC_ID: "active", broken.id: "unhealthy"}
            why = shown(restarted.nodes, broken.id).why
            assert why == "its address or its certificate cannot be used; remove it and add it again"
            await restarted.nodes.remove("zoe", broken.id)
            assert states(restarted.nodes).get(broken.id) in (None, "revoked")


def told(nodes: Nodes) -> dict[str, tuple[str, str, str | None]]:
    return {node.id: (node.name, node.state, node.way) for node in nodes.list_all().nodes}


def again(daemon: Daemon):
    """The machines of another process on the same database."""
    return cluster(daemon.parts.database, daemon.books, daemon.parts.clock, daemon.parts.ids)


async def test_who_is_in_use_is_not_admitted_again(nodes: Nodes):
    await attic(nodes)
    await nodes.drain("zoe", ATTIC_ID, on=True)
    for named in (ATTIC_ID, LISTED.id):
        with pytest.raises(AdminError, match=r"is in use already\. synapse node list shows it"):
            await nodes.admit("zoe", Admission(named))
    assert states(nodes)[ATTIC_ID] == "draining"
