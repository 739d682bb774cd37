"""The cluster key: made, counted down, expired, revoked; and who joins with it."""

import base64
import logging
import secrets
from datetime import timedelta
from pathlib import Path

import pytest

from appliance.admin.node_changes import CLUSTER_KEY_DAYS
from appliance.admin.node_wire import Admission, ClusterKey, NewClusterKey, Node, NodeState
from appliance.admin.nodes import Nodes
from appliance.admin.wire import InvalidInput
from appliance.cluster.cluster_key import SECRET_BYTES, parse
from appliance.ids import Ids
from appliance.proofs.envelope import NODE_ADMIT
from appliance.times import rfc3339
from tests.admin.cluster import cluster
from tests.admin.nearby import Nearby, hear, nearby
from tests.admin.played import NOW, Daemon
from tests.admin.records import actions, entries, stored, trail
from tests.waiting import until


@pytest.fixture
def nodes(daemon: Daemon) -> Nodes:
    return daemon.parts.nodes


def found(nodes: Nodes, *wanted: Nearby) -> list[Node]:
    ids = {one.id for one in wanted}
    return [node for node in nodes.list_all().nodes if node.id in ids]


async def becomes(daemon: Daemon, node: Nearby, state: NodeState, *others: Nearby) -> Node:
    """It and the others are heard until it is in this state, with a reason where it is no machine."""

    def there() -> bool:
        now = found(daemon.parts.nodes, node)
        if any(one.state == state and one.why != "it has not answered yet" for one in now):
            return True
        hear(daemon.cluster, *(one.sighting for one in (node, *others)))
        return False

    await until(there)
    return found(daemon.parts.nodes, node)[0]


async def current(nodes: Nodes) -> ClusterKey:
    key = (await nodes.cluster_key()).key
    assert key is not None
    return key


class TestKey:
    async def test_there_is_none_at_first(self, nodes: Nodes):
        assert (await nodes.cluster_key()).key is None
        assert (await nodes.revoke_cluster_key("zoe")).was is False

    async def test_one_for_which_nothing_is_said_holds_a_week(self, nodes: Nodes, daemon: Daemon):
        made = await nodes.new_cluster_key("zoe", NewClusterKey())
        assert (made.uses, made.usable) == (None, True)
        assert made.expires == rfc3339(NOW + timedelta(days=CLUSTER_KEY_DAYS)) == "2026-12-06T18:57:03.120Z"
        assert made == await current(nodes)
        assert parse(made.key).gateway_id == daemon.cluster.identity.id
        daemon.now = NOW + timedelta(days=CLUSTER_KEY_DAYS) - timedelta(milliseconds=1)
        assert (await current(nodes)).usable
        daemon.now += timedelta(milliseconds=1)
        assert not (await current(nodes)).usable

    async def test_one_with_a_number_of_uses_does_not_expire(self, nodes: Nodes):
        made = await nodes.new_cluster_key("zoe", NewClusterKey(uses=3))
        assert (made.uses, made.expires) == (3, None)

    async def test_another_takes_its_place(self, nodes: Nodes):
        first = await nodes.new_cluster_key("zoe", NewClusterKey(uses=3))
        second = await nodes.new_cluster_key("zoe", NewClusterKey(expires="2026-12-24T00:00:00+01:00"))
        assert first.key != second.key
        assert (await current(nodes)).expires == "2026-12-23T23:00:00.000Z"

    @pytest.mark.parametrize(
        ("new", "said"),
        [
            (NewClusterKey(uses=0), "uses is 0. It must be from 1 to 1000."),
            (NewClusterKey(uses=-1), "uses is -1. It must be from 1 to 1000."),
            (NewClusterKey(uses=1001), "uses is 1001. It must be from 1 to 1000."),
            (NewClusterKey(uses=2**62), f"uses is {2**62}. It must be from 1 to 1000."),
            (NewClusterKey(expires=""), "expires must be a time of RFC 3339, such as 2027-01-31T00:00:00Z."),
            (NewClusterKey(expires="2027-01-31"), "expires must be a time of RFC 3339, such as"),
            (NewClusterKey(expires="2027-01-31T00:00:00"), "expires must be a time of RFC 3339, such as"),
            (NewClusterKey(expires="9999-12-31T23:59:59-23:59"), "expires must be a time of RFC 3339, such as"),
            (NewClusterKey(expires=rfc3339(NOW)), "The key would have expired already. Give a time to come."),
            (NewClusterKey(uses=1, expires="2020-01-01T00:00:00Z"), "The key would have expired already."),
        ],
    )
    async def test_what_is_refused_leaves_the_one_before(
        self, nodes: Nodes, daemon: Daemon, new: NewClusterKey, said: str
    ):
        made = await nodes.new_cluster_key("zoe", NewClusterKey())
        with pytest.raises(InvalidInput) as caught:
            await nodes.new_cluster_key("zoe", new)
        assert str(caught.value).startswith(said)
        assert await current(nodes) == made
        assert len(await trail(daemon)) == 1

    async def test_every_change_is_recorded(self, nodes: Nodes, daemon: Daemon):
        await nodes.new_cluster_key("ann", NewClusterKey(uses=2))
        await nodes.new_cluster_key("bob", NewClusterKey(uses=9))
        assert (await nodes.revoke_cluster_key("zoe")).was is True
        assert (await nodes.revoke_cluster_key("zoe")).was is False
        rows = await trail(daemon)
        uses = [(row.before and row.before["uses"], row.after and row.after["uses"]) for row in rows]
        assert [(row.who, row.action, *change) for row, change in zip(rows, uses, strict=True)] == [
            ("ann", "cluster-key.new", None, 2),
            ("bob", "cluster-key.new", 2, 9),
            ("zoe", "cluster-key.revoke", 9, None),
        ]
        assert {row.subject for row in rows} == {"cluster key"}
        assert await entries(daemon) == []

    async def test_its_secret_is_nowhere_in_the_clear(
        self, daemon: Daemon, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ):
        caplog.set_level(logging.DEBUG)
        real = Ids(secrets.token_bytes)  # the played ones are found anywhere
        async with cluster(daemon.parts.database, daemon.books, daemon.parts.clock, real) as played:
            made = [await played.nodes.new_cluster_key("zoe", NewClusterKey(uses=5)) for _ in range(2)]
            async with nearby(tmp_path / "n", key=made[1].key) as node:
                hear(played, node.sighting)
                await until(lambda: any(one.id == node.id and one.way for one in played.nodes.list_all().nodes))
            await played.nodes.revoke_cluster_key("zoe")
        written = (stored(daemon) + caplog.text.encode()).lower()
        for key in made:
            secret = parse(key.key).secret
            assert len(secret) == SECRET_BYTES
            for form in (secret, secret.hex().encode(), base64.b64encode(secret), key.key[60:].encode()):
                assert form.lower() not in written
        assert node.id.encode() in written  # what is looked through is what was written


class TestJoining:
    async def test_a_node_with_the_key_needs_nobody(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        key = await nodes.new_cluster_key("zoe", NewClusterKey())
        async with nearby(tmp_path, key=key.key) as node:
            joined = await becomes(daemon, node, "active")
            assert (joined.name, joined.way, joined.trust) == ("desk", "key", "pinned")
        assert await actions(daemon) == [
            ("zoe", "cluster-key.new", "cluster key"),
            ("cluster key", "node.admit", node.id),
        ]
        [(kind, payload)] = await entries(daemon)
        assert (kind, payload["by"], payload["node"]["id"]) == (NODE_ADMIT, "key", node.id)

    async def test_without_a_key_in_force_it_is_a_candidate(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        key = await nodes.new_cluster_key("zoe", NewClusterKey())
        await nodes.revoke_cluster_key("zoe")
        async with nearby(tmp_path, key=key.key) as node:
            assert (await becomes(daemon, node, "candidate")).why is None
            # It was given the key of this gateway, so that it knows it.
            assert (await nodes.admit("zoe", Admission(node.id, node.last_words))).way == "words"

    async def test_with_an_older_key_it_says_so(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        old = await nodes.new_cluster_key("zoe", NewClusterKey())
        await nodes.new_cluster_key("zoe", NewClusterKey(uses=1))
        async with nearby(tmp_path, key=old.key) as node:
            why = (await becomes(daemon, node, "candidate")).why
        assert why is not None
        assert "the cluster key that is valid now" in why
        assert (await current(nodes)).uses == 1

    async def test_it_expires_by_the_clock(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        key = await nodes.new_cluster_key("zoe", NewClusterKey(expires=rfc3339(NOW + timedelta(hours=1))))
        daemon.now = NOW + timedelta(hours=1)
        async with nearby(tmp_path, key=key.key) as node:
            found = await becomes(daemon, node, "candidate")
            assert "has expired" in (found.why or "")
            daemon.now = NOW + timedelta(minutes=59)
            await becomes(daemon, node, "active")

    async def test_its_uses_are_counted_down_to_a_refusal(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        key = await nodes.new_cluster_key("zoe", NewClusterKey(uses=2))
        left: list[tuple[int | None, bool]] = []
        for name in ("a", "b"):
            async with nearby(tmp_path / name, key=key.key, name=name) as node:
                await becomes(daemon, node, "active")
                now = await current(nodes)
                left.append((now.uses, now.usable))
        assert left == [(1, True), (0, False)]
        async with nearby(tmp_path / "c", key=key.key, name="c") as node:
            found = await becomes(daemon, node, "candidate")
            assert "as often as it may be" in (found.why or "")
        assert len(await entries(daemon)) == 2

    async def test_of_two_that_race_for_one_use_one_wins(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        key = await nodes.new_cluster_key("zoe", NewClusterKey(uses=1))
        async with (
            nearby(tmp_path / "a", key=key.key, name="a") as a,
            nearby(tmp_path / "b", key=key.key, name="b") as b,
        ):
            hear(daemon.cluster, a.sighting, b.sighting)
            await until(lambda: any(one.state == "active" for one in found(nodes, a, b)))
            await until(lambda: all(one.why != "it has not answered yet" for one in found(nodes, a, b)))
            assert sorted(one.state for one in found(nodes, a, b)) == ["active", "candidate"]
            [loser] = [one for one in found(nodes, a, b) if one.state == "candidate"]
            assert (await current(nodes)).uses == 0
            assert [who for who, action, _ in await actions(daemon) if action == "node.admit"] == ["cluster key"]
            assert len(await entries(daemon)) == 1
            # It has pinned this gateway already, which an administrator then makes good.
            node = a if loser.id == a.id else b
            assert (await nodes.admit("zoe", Admission(node.id, node.last_words))).way == "words"

    async def test_a_rejected_one_does_not_join(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path / "a") as node:
            await becomes(daemon, node, "candidate")
            assert (await nodes.reject("zoe", node.id)).trust == "pinned"
        key = await nodes.new_cluster_key("zoe", NewClusterKey())
        async with (
            nearby(tmp_path / "a", key=key.key) as node,
            nearby(tmp_path / "b", key=key.key, name="b") as other,
        ):
            await becomes(daemon, other, "active", node)
            assert [one.state for one in found(nodes, node)] == ["rejected"]

    async def test_a_known_name_with_another_key_is_changed_and_not_replaced(
        self, nodes: Nodes, daemon: Daemon, tmp_path: Path
    ):
        key = await nodes.new_cluster_key("zoe", NewClusterKey())
        async with nearby(tmp_path / "a", key=key.key) as first:
            await becomes(daemon, first, "active")
        async with nearby(tmp_path / "b", key=key.key) as second:
            why = (await becomes(daemon, second, "changed")).why
            assert why is not None
            assert why.startswith(f"It has the name of desk ({first.id[:8]}…), which does not answer, and another key.")
            assert [one.state for one in found(nodes, first)] == ["active"]  # its health is played
            assert len(await entries(daemon)) == 1
            await nodes.remove("zoe", first.id)
            assert (await becomes(daemon, second, "changed")).words
            made = await nodes.admit("zoe", Admission(second.id, second.last_words))
            assert (made.name, made.way) == ("desk", "words")

    async def test_a_changed_one_can_be_rejected(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        key = await nodes.new_cluster_key("zoe", NewClusterKey())
        async with nearby(tmp_path / "a", key=key.key) as first:
            await becomes(daemon, first, "active")
        async with nearby(tmp_path / "b", key=key.key) as second:
            await becomes(daemon, second, "changed")
            assert (await nodes.reject("zoe", second.id)).state == "rejected"

    async def test_two_of_one_name_that_both_answer_are_two(self, nodes: Nodes, daemon: Daemon, tmp_path: Path):
        key = await nodes.new_cluster_key("zoe", NewClusterKey())
        async with nearby(tmp_path / "a", key=key.key) as first, nearby(tmp_path / "b", key=key.key) as second:
            await becomes(daemon, first, "active")
            await becomes(daemon, second, "active", first)
            with pytest.raises(InvalidInput, match='2 machines are meant by "desk"'):
                await nodes.drain("zoe", "desk", on=True)
