"""Candidates are let in, refused, put out and let in again: with real nodes in the test's process."""

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from appliance.admin.node_wire import Admission, NewClusterKey, NewNode, Node
from appliance.admin.nodes import Nodes
from appliance.admin.wire import InvalidInput, UnknownSubject
from appliance.cluster.addresses import id_at
from appliance.cluster.identity import Identity
from appliance.cluster.join_errors import Failure, JoinError
from appliance.cluster.words import words
from appliance.errors import AdminError
from appliance.proofs.envelope import NODE_ADMIT, NODE_REVOKE
from appliance.store import nodes as store
from appliance.store.nodes import NodeRow
from tests.admin.nearby import OLLAMA, Nearby, hear, nearby
from tests.admin.played import Daemon
from tests.admin.records import actions, entries, trail
from tests.waiting import until

ATTIC_ID = id_at("http://192.168.1.30:11434")


@pytest.fixture
def nodes(daemon: Daemon) -> Nodes:
    return daemon.parts.nodes


def shown(nodes: Nodes, machine_id: str) -> Node:
    return next(node for node in nodes.list_all().nodes if node.id == machine_id)


def state(nodes: Nodes, machine_id: str) -> str | None:
    return next((node.state for node in nodes.list_all().nodes if node.id == machine_id), None)


async def row_of(daemon: Daemon, machine_id: str) -> NodeRow:
    row = await daemon.parts.database.read(lambda conn: store.get(conn, machine_id))
    assert row is not None
    return row


async def heard(daemon: Daemon, node: Nearby, *others: Nearby) -> None:
    hear(daemon.cluster, *(one.sighting for one in (node, *others)))
    await until(lambda: state(daemon.parts.nodes, node.id) is not None)


async def admitted(daemon: Daemon, node: Nearby) -> Node:
    await heard(daemon, node)
    return await daemon.parts.nodes.admit("zoe", Admission(node.id, node.last_words))


class TestByWords:
    async def test_it_is_pinned_used_recorded_and_logged(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path, gateway=daemon.cluster.identity, name="desk 3") as node:
            await heard(daemon, node)
            assert (shown(nodes, node.id).words, shown(nodes, node.id).trust) == (words(node.id), "pinned")
            made = await nodes.admit("zoe", Admission(node.id, node.last_words))
            assert (made.name, made.trust, made.way, made.slots) == ("desk 3", "pinned", "words", 2)
            assert made.url == f"https://127.0.0.1:{node.port}"
            await until(lambda: state(nodes, node.id) == "active")
        row = await row_of(daemon, node.id)
        assert row.certificate is not None
        [said] = await trail(daemon)
        assert (said.who, said.action, said.subject, said.before) == ("zoe", "node.admit", node.id, None)
        assert (said.after["name"], said.after["way"], said.after["state"]) == ("desk 3", "words", "admitted")
        [(kind, payload)] = await entries(daemon)
        assert (kind, payload["by"], payload["time"]) == (NODE_ADMIT, "words", {"admitted": "2026-11-29T18:57:03.120Z"})
        assert payload["node"] == {
            "id": node.id,
            "name": "desk 3",
            "trust": "pinned",
            "certificateSha256": hashlib.sha256(row.certificate).hexdigest(),
        }

    @pytest.mark.parametrize(
        "form",
        [str, str.upper, lambda said: said.replace(" ", " - "), lambda said: f"  {said}\n"],
        ids=["plain", "upper case", "hyphen", "spaces"],
    )
    async def test_words_are_read_kindly(self, nodes: Nodes, daemon: Daemon, tmp_path: Path, form: Any):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            await heard(daemon, node)
            assert (await nodes.admit("zoe", Admission(node.id, form(node.last_words)))).way == "words"

    async def test_by_the_beginnings_of_the_words_and_of_the_id(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            await heard(daemon, node)
            short = " ".join(word[:4] for word in words(node.id)[-2:])
            assert (await nodes.admit("zoe", Admission(f"syn-{node.id[:4]}", short))).id == node.id

    async def test_by_all_eight_words(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            await heard(daemon, node)
            assert (await nodes.admit("zoe", Admission(node.id, " ".join(words(node.id))))).id == node.id

    async def test_any_but_all_or_the_last_two_words_are_refused(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            await heard(daemon, node)
            own, last = words(node.id), list(words(node.id)[-2:])
            others = words(Identity.create().id)[-2:]
            wrong = [others, last[:1], last[1:], last[::-1], own[:2], own[1:], [*last, last[1]], [last[0], last[1][:3]]]
            for said in wrong:
                typed = " ".join(said)
                if typed == node.last_words:  # the last word has three letters, or the two are one
                    continue
                with pytest.raises(InvalidInput, match="These are not the words of its key") as caught:
                    await nodes.admit("zoe", Admission(node.id, typed))
                assert "Read them off that machine" in caught.value.advice
            for said in (None, ""):
                with pytest.raises(InvalidInput, match=r"Its words are needed\. Read them off"):
                    await nodes.admit("zoe", Admission(node.id, said))
            assert state(nodes, node.id) == "candidate"
        assert (await actions(daemon), await entries(daemon)) == ([], [])

    async def test_a_node_that_was_told_of_no_gateway_or_of_another(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        told = {"a": (None, Failure.NOT_TOLD), "b": (Identity.create(), Failure.NOT_MY_GATEWAY)}
        for directory, (gateway, failure) in told.items():
            async with nearby(tmp_path / directory, gateway=gateway) as node:
                await heard(daemon, node)
                with pytest.raises(JoinError) as caught:
                    await nodes.admit("zoe", Admission(node.id, node.last_words))
                assert caught.value.failure is failure
                assert caught.value.advice
        assert await actions(daemon) == []

    async def test_another_machine_at_its_address(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            posing = Identity.create()
            hear(daemon.cluster, replace(node.sighting, id=posing.id, instance=f"syn-{posing.id[:16]}"))
            await until(lambda: any("Another" in (one.why or "") for one in nodes.list_all().nodes))
            with pytest.raises(JoinError, match=r"Another machine answers at this address\. Compare its words"):
                await nodes.admit("zoe", Admission(posing.id, " ".join(words(posing.id)[-2:])))
        assert await daemon.parts.database.read(store.list_all) == []

    async def test_one_that_is_gone_meanwhile(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            await heard(daemon, node)
        with pytest.raises(JoinError, match=r"does not answer on its join port\. See that `synapse node serve` runs"):
            await nodes.admit("zoe", Admission(node.id, node.last_words))

    async def test_two_administrators_at_once(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            await heard(daemon, node)
            await asyncio.gather(*(nodes.admit(who, Admission(node.id, node.last_words)) for who in ("ann", "bob")))
        assert (len(await actions(daemon)), len(await entries(daemon))) == (1, 1)


class TestOpenCandidate:
    @pytest.fixture(autouse=True)
    async def candidate(self, nodes: Nodes, daemon: Daemon) -> None:
        hear(daemon.cluster, OLLAMA)
        await until(lambda: state(nodes, ATTIC_ID) == "candidate")

    async def test_it_is_let_in_without_words(self, nodes: Nodes, daemon: Daemon):
        made = await nodes.admit("zoe", Admission(ATTIC_ID[:8]))
        assert (made.name, made.trust, made.way) == ("192.168.1.30:11434", "open", "administrator")
        [(_, payload)] = await entries(daemon)
        assert (payload["by"], payload["node"]["trust"]) == ("administrator", "open")

    async def test_it_is_rejected_hidden_and_then_forgotten(self, nodes: Nodes, daemon: Daemon):
        gone = await nodes.reject("zoe", ATTIC_ID)
        assert (gone.state, gone.trust, gone.url) == ("rejected", "open", "http://192.168.1.30:11434")
        assert gone.why == "it was rejected, and is shown no more; synapse node remove forgets that"
        hear(daemon.cluster, OLLAMA)
        assert [node.state for node in nodes.list_all().nodes] == ["active", "rejected"]
        with pytest.raises(AdminError, match=r"is no candidate\. synapse node remove"):
            await nodes.reject("zoe", ATTIC_ID)
        with pytest.raises(AdminError, match="is no machine in use"):
            await nodes.drain("zoe", ATTIC_ID, on=True)
        assert (await nodes.remove("zoe", ATTIC_ID)).state == "rejected"
        hear(daemon.cluster, OLLAMA)
        await until(lambda: state(nodes, ATTIC_ID) == "candidate")
        assert [(row.action, row.before and row.before["state"]) for row in await trail(daemon)] == [
            ("node.reject", None),
            ("node.remove", "rejected"),
        ]
        # It was never in use, so that no certificate can name it.
        assert await entries(daemon) == []

    async def test_what_was_rejected_can_be_admitted(self, nodes: Nodes):
        await nodes.reject("zoe", ATTIC_ID)
        await nodes.admit("zoe", Admission(ATTIC_ID))
        await until(lambda: state(nodes, ATTIC_ID) == "active")

    async def test_one_that_is_not_heard_any_more(self, nodes: Nodes, daemon: Daemon):
        await nodes.reject("zoe", ATTIC_ID)
        hear(daemon.cluster)
        with pytest.raises(AdminError, match=r"is not heard now\. See that .* synapse node add synapse://ADDRESS"):
            await nodes.admit("zoe", Admission(ATTIC_ID))

    async def test_nobody_is_meant(self, nodes: Nodes):
        with pytest.raises(UnknownSubject, match='There is no machine "x"'):
            await nodes.admit("zoe", Admission("x"))

    async def test_a_rejection_that_comes_too_late_puts_nobody_out(self, nodes: Nodes, daemon: Daemon):
        results = await asyncio.gather(
            nodes.admit("ann", Admission(ATTIC_ID)), nodes.reject("bob", ATTIC_ID), return_exceptions=True
        )
        assert isinstance(results[0], Node)
        assert isinstance(results[1], AdminError)
        assert str(results[1]) == "It is admitted by now. synapse node list --all shows it."
        assert (await row_of(daemon, ATTIC_ID)).state == "admitted"
        assert [action for _, action, _ in await actions(daemon)] == ["node.admit"]


class TestRevocation:
    async def test_the_pin_and_the_connections_go_at_once(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            await admitted(daemon, node)
            machine = daemon.cluster.registry.get(node.id)
            assert machine is not None
            session = daemon.cluster.links.of(machine).session
            gone = await nodes.remove("ann", "desk")
            assert (gone.id, gone.trust) == (node.id, "pinned")
            assert session.closed
            with pytest.raises(ConnectionError):
                daemon.cluster.links.of(machine)
            assert daemon.cluster.registry.get(node.id) is None
            one = shown(nodes, node.id)
            assert (one.state, one.why) == ("revoked", "it was put out; synapse node admit lets it in again")
        row = await row_of(daemon, node.id)
        assert (row.state, row.certificate) == ("revoked", None)
        rows = await trail(daemon)
        assert [(one.who, one.action) for one in rows] == [("zoe", "node.admit"), ("ann", "node.remove")]
        assert (rows[1].before["state"], rows[1].after["state"]) == ("admitted", "revoked")
        logged = await entries(daemon)
        assert [kind for kind, _ in logged] == [NODE_ADMIT, NODE_REVOKE]
        assert logged[0][1]["node"] == logged[1][1]["node"]
        assert logged[1][1]["time"] == {"revoked": "2026-11-29T18:57:03.120Z"}

    async def test_no_cluster_key_lets_it_in_again_and_an_administrator_does(
        self, nodes: Nodes, daemon: Daemon, tmp_path: Path
    ):
        key = await nodes.new_cluster_key("zoe", NewClusterKey(uses=5))
        async with nearby(tmp_path, key=key.key) as node:
            await heard(daemon, node)
            await until(lambda: state(nodes, node.id) == "active")
            await nodes.remove("zoe", node.id)
            # Another joins after it, so that there was time for it to be asked.
            async with nearby(tmp_path / "b", key=key.key, name="other") as other:
                await heard(daemon, other, node)
                await until(lambda: state(nodes, other.id) == "active")
            assert state(nodes, node.id) == "revoked"
            current = (await nodes.cluster_key()).key
            assert current is not None
            assert current.uses == 3
            again = await nodes.admit("zoe", Admission(node.id, node.last_words))
            assert (again.state, again.way) == ("admitted", "words")
            await until(lambda: state(nodes, node.id) == "active")
        rows = [row for row in await trail(daemon) if row.subject == node.id]
        assert [(row.who, row.action, row.before and row.before["state"]) for row in rows] == [
            ("cluster key", "node.admit", None),
            ("zoe", "node.remove", "admitted"),
            ("zoe", "node.admit", "revoked"),
        ]

    async def test_removed_twice_it_stays_put_out(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            await admitted(daemon, node)
            await nodes.remove("zoe", node.id)
            assert (await nodes.remove("zoe", node.id)).state == "revoked"
            assert [row.state for row in await daemon.parts.database.read(store.list_all)] == ["revoked"]
            hear(daemon.cluster, node.sighting)
            assert state(nodes, node.id) == "revoked"
        assert [kind for kind, _ in await entries(daemon)] == [NODE_ADMIT, NODE_REVOKE]

    async def test_its_words_are_asked_for_again(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            await admitted(daemon, node)
            await nodes.remove("zoe", node.id)
            with pytest.raises(InvalidInput, match="Its words are needed"):
                await nodes.admit("zoe", Admission(node.id))


async def test_two_of_one_name_are_told_apart_by_id(nodes: Nodes):
    ids = [id_at(f"http://192.168.1.4{n}:11434") for n in (0, 1)]
    for n in (0, 1):
        await nodes.add("zoe", NewNode(f"http://192.168.1.4{n}:11434", name="desk"))
    with pytest.raises(InvalidInput, match='2 machines are meant by "desk"') as caught:
        await nodes.remove("zoe", "desk")
    assert caught.value.advice == f"Give the id of one: {ids[0][:16]}, {ids[1][:16]}."
    await nodes.remove("zoe", ids[0][:16])
    assert (await nodes.remove("zoe", "desk")).id == ids[1]
