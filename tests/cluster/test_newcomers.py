"""Who is heard and not decided about: real nodes and a real database, played hearing and health."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from appliance.admin.node_book import NodeBook
from appliance.admin.node_wire import Admission, NewClusterKey, NewNode
from appliance.cluster import join_gateway, newcomers
from appliance.cluster.addresses import id_at
from appliance.cluster.agent.node import Trusted
from appliance.cluster.cluster_key import ClusterKey, parse
from appliance.cluster.identity import Identity, server_context
from appliance.cluster.join_errors import Failure, JoinError
from appliance.cluster.join_gateway import Joined, peek
from appliance.cluster.sightings import MAX_CANDIDATES, Sighting
from appliance.cluster.words import words
from appliance.errors import SynapseError
from appliance.store import audit
from appliance.store.nodes import NodeRow
from tests.admin.played import Daemon
from tests.cluster.certificates import certificate_of
from tests.cluster.joining import SECRET
from tests.cluster.nodes import HOST, Node, key, node, stranger
from tests.upstreams.ollama import OllamaDouble
from tests.waiting import until

OLLAMA = Sighting("ollama", "attic", "", ("10.0.0.9",), 11434, 0, claimed=False, interface="eth0")

NOT_LOOKED = ("not looked at yet",)

POISONED = "127.0.0.2"
"""An address of this machine where the node is not."""


@pytest.fixture
async def cluster_key(daemon: Daemon) -> str:
    return (await daemon.cluster.nodes.new_cluster_key("zoe", NewClusterKey(uses=2))).key


async def hear(daemon: Daemon, *sightings: Sighting) -> None:
    """This is all that is heard, and it was looked at."""
    heard = daemon.cluster.heard
    heard.sightings, heard.kept = sightings, NOT_LOOKED
    daemon.cluster.newcomers.news()
    await until(lambda: heard.kept is not NOT_LOOKED)


def row(daemon: Daemon, at: Node) -> NodeRow | None:
    return daemon.cluster.members.get(at.id)


def shown(daemon: Daemon) -> list[tuple[str, str, bool, str]]:
    return [(one.id, one.state, one.proven, one.why) for one in daemon.cluster.newcomers.all()]


async def told(daemon: Daemon, why: str) -> bool:
    """The one candidate, once something is to be known about it: whether it was proven."""
    found = daemon.cluster.newcomers.all
    await until(lambda: any(why in one.why for one in found()))
    (one,) = found()
    return one.proven


async def uses_left(daemon: Daemon) -> int | None:
    found = (await daemon.cluster.nodes.cluster_key()).key
    assert found is not None
    return found.uses


class TestClusterKey:
    async def test_a_node_that_was_told_it_is_let_in_without_a_click(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble
    ):
        async with node(tmp_path, ollama.url, key(cluster_key), name="desk 3", slots=3) as at:
            await hear(daemon, at.heard())
            await until(lambda: row(daemon, at) is not None)
            (machine,) = [one for one in daemon.cluster.registry.snapshot() if one.id == at.id]
        assert (machine.trust, machine.url, machine.name, machine.slots) == ("pinned", at.url, "desk 3", 3)
        assert shown(daemon) == []
        assert await uses_left(daemon) == 1
        rows = await daemon.parts.database.read(lambda conn: audit.newest(conn, limit=9))
        (entry,) = [one for one in rows if one.action == "node.admit"]
        assert (entry.who, entry.subject) == ("cluster key", at.id)
        await hear(daemon)
        # No flood of others takes its place in what is heard.
        assert daemon.cluster.heard.kept == [at.id]

    async def test_one_that_is_heard_again_and_again_joins_once(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble
    ):
        async with node(tmp_path, ollama.url, key(cluster_key)) as at:
            for _ in range(3):
                await hear(daemon, at.heard(), at.heard(interface="eth1"))
            await until(lambda: row(daemon, at) is not None)
            await hear(daemon)
            await hear(daemon, at.heard())
        assert shown(daemon) == []
        assert await uses_left(daemon) == 1

    async def test_one_that_has_no_use_left_leaves_a_candidate_with_the_reason(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble
    ):
        async with AsyncExitStack() as stack:
            made = [
                await stack.enter_async_context(node(tmp_path / str(n), ollama.url, key(cluster_key), name=f"n{n}"))
                for n in range(3)
            ]
            await hear(daemon, *(at.heard() for at in made))
            await until(lambda: len([at for at in made if row(daemon, at)]) == 2)
            await until(lambda: len(shown(daemon)) == 1)
            await hear(daemon, *(at.heard() for at in made))
            assert await told(daemon, "has been used as often as it may be")
        assert len([at for at in made if row(daemon, at)]) == 2
        assert await uses_left(daemon) == 0

    async def test_one_that_has_expired_leaves_a_candidate_with_the_reason(
        self, daemon: Daemon, tmp_path: Path, ollama: OllamaDouble
    ):
        made = await daemon.cluster.nodes.new_cluster_key("zoe", NewClusterKey())
        daemon.now += timedelta(days=8)
        async with node(tmp_path, ollama.url, key(made.key)) as at:
            await hear(daemon, at.heard())
            assert await told(daemon, "The cluster key has expired. Make another")
            assert row(daemon, at) is None

    async def test_one_that_is_revoked_while_a_node_joins_lets_nobody_in(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
    ):
        async def still_there(_: object) -> bytes:
            return parse(cluster_key).secret

        await daemon.cluster.nodes.revoke_cluster_key("zoe")
        monkeypatch.setattr(NodeBook, "secret", still_there)
        async with node(tmp_path, ollama.url, key(cluster_key)) as at:
            await hear(daemon, at.heard())
            assert await told(daemon, "not in force any more")
            assert row(daemon, at) is None

    async def test_without_one_a_node_waits_for_somebody_to_decide(
        self, daemon: Daemon, tmp_path: Path, ollama: OllamaDouble
    ):
        async with node(tmp_path, ollama.url, Trusted(words=words(daemon.cluster.identity.id))) as at:
            await hear(daemon, at.heard())
            await until(lambda: shown(daemon) == [(at.id, "candidate", True, "")])
            await daemon.cluster.nodes.admit("zoe", Admission(at.id, at.last_words))
        found = row(daemon, at)
        assert found is not None
        assert (found.way, found.state) == ("words", "admitted")

    @pytest.mark.parametrize(
        ("trusted", "why"),
        [
            (lambda gateway: Trusted(key=ClusterKey(gateway, SECRET)), "did not accept the gateway's proof"),
            (lambda _: Trusted(key=ClusterKey(Identity.create().id, SECRET)), "was told of another gateway"),
            (lambda _: Trusted(), "was told of no gateway"),
            (lambda gateway: Trusted(words=words(gateway)), "was not given the cluster key"),
        ],
    )
    async def test_who_does_not_know_it_stays_a_candidate_with_the_reason(
        self,
        daemon: Daemon,
        cluster_key: str,
        tmp_path: Path,
        ollama: OllamaDouble,
        trusted: Callable[[str], Trusted],
        why: str,
    ):
        assert cluster_key
        async with node(tmp_path, ollama.url, trusted(daemon.cluster.identity.id)) as at:
            await hear(daemon, at.heard())
            assert await told(daemon, why)  # proven: it has shown its key, and then refused
            assert row(daemon, at) is None
        assert await uses_left(daemon) == 2

    async def test_a_node_that_has_refused_is_not_asked_to_join_again_at_once(
        self,
        daemon: Daemon,
        cluster_key: str,
        tmp_path: Path,
        ollama: OllamaDouble,
        monkeypatch: pytest.MonkeyPatch,
    ):
        """It takes ten attempts a minute, and the administrator who comes to it wants one."""
        assert cluster_key
        joins, now = 0, 0.0

        async def counted(*given: Any, **named: Any) -> Joined:
            nonlocal joins
            joins += 1
            return await join_gateway.join(*given, **named)

        monkeypatch.setattr(newcomers, "join", counted)
        monkeypatch.setattr(daemon.cluster.newcomers, "_monotonic", lambda: now)
        async with node(tmp_path, ollama.url, Trusted()) as at:
            await hear(daemon, at.heard())
            assert await told(daemon, "was told of no gateway")
            for now in range(11, 60, 11):  # noqa: B007  the clock
                await hear(daemon, at.heard())
                await until(lambda: not daemon.cluster.newcomers._joining)
            assert joins == 1
            assert await told(daemon, "was told of no gateway")
            now = 61.0 + newcomers.REFUSED_SECONDS
            await hear(daemon, at.heard())
            await until(lambda: joins == 2)

    async def test_it_does_not_let_in_who_was_put_out_or_rejected(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble
    ):
        nodes = daemon.cluster.nodes
        async with (
            node(tmp_path / "a", ollama.url, key(cluster_key), name="a") as one,
            node(tmp_path / "b", ollama.url, Trusted(), name="b") as two,
        ):
            await hear(daemon, one.heard(), two.heard())
            await until(lambda: row(daemon, one) is not None and len(shown(daemon)) == 1)
            await nodes.remove("zoe", one.id)
            await nodes.reject("zoe", two.id)
        async with node(tmp_path / "b", ollama.url, key(cluster_key), name="b", ports=(two.port, two.join_port)):
            for _ in range(3):
                await hear(daemon)
                await hear(daemon, one.heard(), two.heard())
                assert shown(daemon) == []
        assert [found.state for at in (one, two) if (found := row(daemon, at))] == ["revoked", "rejected"]


def foreign_tls(directory: Path) -> ssl.SSLContext:
    """Of a server that has nothing to do with us, and a key of another kind."""
    secret = ed25519.Ed25519PrivateKey.generate()
    clear = secret.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = directory / "foreign.pem"
    file.write_bytes(ssl.DER_cert_to_PEM_cert(certificate_of(secret)).encode() + clear)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


STRANGERS: dict[str, tuple[Callable[[Path], ssl.SSLContext | None], str]] = {
    "another node": (lambda _: server_context(Identity.create(), None), "Another machine answers at this address."),
    "another server": (foreign_tls, "do not understand each other"),
    "no TLS": (lambda _: None, "did not answer in time"),
}


class TestPoisonedAddresses:
    @pytest.fixture(autouse=True)
    def _hurried(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("appliance.cluster.newcomers.PEEK_SECONDS", 0.2)
        monkeypatch.setattr("appliance.cluster.newcomers.JOIN_SECONDS", 0.2)

    @asynccontextmanager
    async def told_and_poisoned(
        self, trusted: Trusted, tmp_path: Path, ollama: OllamaDouble, who: str
    ) -> AsyncIterator[Node]:
        """The true node, and the stranger at another address; whom nobody may have told anything."""
        async with (
            node(tmp_path / "node", ollama.url, trusted) as at,
            stranger(POISONED, at.join_port, STRANGERS[who][0](tmp_path)) as seen,
        ):
            yield at
            assert seen.calls
        if who == "no TLS":
            assert seen.said[:1] in (b"", b"\x16")  # no more than the greeting of TLS
            assert len(seen.said) < 2_000
        else:
            assert seen.said == b""

    @pytest.mark.parametrize("who", STRANGERS)
    @pytest.mark.parametrize("keyed", [False, True])
    async def test_whoever_answers_there_gets_nothing_and_is_told(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble, who: str, keyed: bool
    ):
        if not keyed:
            await daemon.cluster.nodes.revoke_cluster_key("zoe")
        async with self.told_and_poisoned(key(cluster_key), tmp_path, ollama, who) as at:
            await hear(daemon, at.heard(POISONED))
            assert not await told(daemon, STRANGERS[who][1])
            assert row(daemon, at) is None
        if keyed:
            assert await uses_left(daemon) == 2

    @pytest.mark.parametrize("who", STRANGERS)
    async def test_another_address_of_the_same_sighting_is_tried(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble, who: str
    ):
        async with self.told_and_poisoned(key(cluster_key), tmp_path, ollama, who) as at:
            await hear(daemon, at.heard(POISONED, HOST))
            await until(lambda: row(daemon, at) is not None)
        found = row(daemon, at)
        assert found is not None
        assert found.url == at.url

    async def test_and_another_sighting_of_the_same_machine(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble
    ):
        async with node(tmp_path, ollama.url, key(cluster_key)) as at:
            await hear(daemon, at.heard(POISONED), at.heard(interface="eth1"))
            await until(lambda: row(daemon, at) is not None)

    @pytest.mark.parametrize("keyed", [False, True])
    async def test_where_nobody_is_nobody_is_told_to_be(self, daemon: Daemon, cluster_key: str, keyed: bool):
        if not keyed:
            await daemon.cluster.nodes.revoke_cluster_key("zoe")
        assert cluster_key
        await hear(daemon, Node(Identity.create().id, 1, 1).heard(POISONED))
        assert not await told(daemon, "does not answer on its join port")

    @pytest.mark.parametrize("keyed", [False, True])
    @pytest.mark.parametrize("order", [(POISONED, "127.0.0.3"), ("127.0.0.3", POISONED)])
    async def test_that_another_poses_as_it_is_told_before_that_nobody_answers(
        self, daemon: Daemon, cluster_key: str, order: tuple[str, str], keyed: bool
    ):
        if not keyed:
            await daemon.cluster.nodes.revoke_cluster_key("zoe")
        assert cluster_key
        async with stranger(POISONED, 0, server_context(Identity.create(), None)) as seen:
            await hear(daemon, Node(Identity.create().id, 1, seen.port).heard(*order))
            assert not await told(daemon, "Another machine answers at this address.")

    async def test_an_administrator_who_lets_it_in_is_told_and_the_stranger_is_not(
        self, daemon: Daemon, tmp_path: Path, ollama: OllamaDouble
    ):
        trusted = Trusted(words=words(daemon.cluster.identity.id))
        async with self.told_and_poisoned(trusted, tmp_path, ollama, "another node") as at:
            await hear(daemon, at.heard(POISONED))
            await until(lambda: len(shown(daemon)) == 1)
            with pytest.raises(JoinError) as refused:
                await daemon.cluster.nodes.admit("zoe", Admission(at.id, at.last_words))
            assert refused.value.failure is Failure.OTHER_MACHINE
            assert row(daemon, at) is None
            await hear(daemon, at.heard(POISONED, HOST))
            assert (await daemon.cluster.nodes.admit("zoe", Admission(at.id, at.last_words))).url == at.url

    async def test_an_address_outside_the_building_is_not_even_called(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble
    ):
        async with node(tmp_path, ollama.url, key(cluster_key)) as at:
            await hear(daemon, Node(Identity.create().id, 1, 1).heard("8.8.8.8"), at.heard("8.8.8.8", HOST))
            await until(lambda: row(daemon, at) is not None)
        assert shown(daemon) == []

    async def test_a_flood_of_forgeries_is_bounded_and_leaves_room_for_the_true_one(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble
    ):
        """None of them shows a key, though somebody answers for each of them."""
        async with stranger(POISONED, 0, None) as seen, node(tmp_path, ollama.url, key(cluster_key)) as at:
            forged = [Node(Identity.create().id, 1, seen.port).heard(POISONED) for _ in range(80)]
            await hear(daemon, *forged)
            await until(lambda: len(shown(daemon)) == 64)
            await hear(daemon, *forged, at.heard())
            await until(lambda: row(daemon, at) is not None)
            assert not any(proven for _, _, proven, _ in shown(daemon))


class TestNames:
    async def test_two_machines_with_one_name_that_both_answer_are_two(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble
    ):
        async with (
            node(tmp_path / "a", ollama.url, key(cluster_key)) as one,
            node(tmp_path / "b", ollama.url, key(cluster_key)) as two,
        ):
            await hear(daemon, one.heard())
            await until(lambda: row(daemon, one) is not None)
            await hear(daemon, one.heard(), two.heard())
            await until(lambda: row(daemon, two) is not None)
        assert [found.name for found in daemon.cluster.members.rows()] == ["desk", "desk"]

    @pytest.mark.parametrize("name", ["desk", "cafe\u0301", "caf\u00e9"])
    async def test_a_known_name_with_another_key_is_never_let_in_by_itself_while_the_known_one_is_gone(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble, name: str
    ):
        known = "desk" if name == "desk" else "caf\u00e9"
        async with node(tmp_path / "a", ollama.url, key(cluster_key), name=known) as one:
            await hear(daemon, one.heard())
            await until(lambda: row(daemon, one) is not None)
        async with node(tmp_path / "b", ollama.url, key(cluster_key), name=name) as two:
            await hear(daemon, two.heard())
            assert await told(daemon, f"It has the name of {known} ({one.id[:8]}…), which does not answer")
            for _ in range(2):  # and it stays so, also after it was away
                assert [found.state for found in daemon.cluster.newcomers.all()] == ["changed"]
                await hear(daemon)
                await until(lambda: not shown(daemon))
                await hear(daemon, two.heard())
                await told(daemon, "which does not answer")
            assert row(daemon, two) is None
            assert await uses_left(daemon) == 1
            assert row(daemon, one) is not None  # the old one is not put out for it
            admitted = await daemon.cluster.nodes.admit("zoe", Admission(two.id, two.last_words))
            assert admitted.way == "words"

    async def test_the_warning_stays_while_it_answers_no_more(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
    ):
        async with node(tmp_path / "a", ollama.url, key(cluster_key)) as one:
            await hear(daemon, one.heard())
            await until(lambda: row(daemon, one) is not None)
        async with node(tmp_path / "b", ollama.url, key(cluster_key)) as two:
            await hear(daemon, two.heard())
            await told(daemon, "which does not answer")
        before = daemon.cluster.newcomers.all()
        asked = asyncio.Event()

        async def peeks(address: str, port: int, seconds: float) -> str:
            try:
                return await peek(address, port, seconds)
            finally:
                asked.set()

        monkeypatch.setattr("appliance.cluster.newcomers.peek", peeks)
        await hear(daemon, two.heard())
        await asked.wait()
        assert daemon.cluster.newcomers.all() == before

    async def test_one_that_was_put_out_keeps_no_name_from_others(
        self, daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble
    ):
        async with node(tmp_path / "a", ollama.url, key(cluster_key)) as one:
            await hear(daemon, one.heard())
            await until(lambda: row(daemon, one) is not None)
        await daemon.cluster.nodes.remove("zoe", one.id)
        async with node(tmp_path / "b", ollama.url, key(cluster_key)) as two:
            await hear(daemon, two.heard())
            await until(lambda: row(daemon, two) is not None)


async def test_a_forged_goodbye_puts_no_machine_out(
    daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble
):
    async with node(tmp_path, ollama.url, key(cluster_key)) as at:
        await hear(daemon, at.heard())
        await until(lambda: row(daemon, at) is not None)
        await hear(daemon)
        assert daemon.cluster.heard.kept == [at.id]
        await until(lambda: all(one.healthy for one in daemon.cluster.registry.snapshot()))
        assert at.id in [one.id for one in daemon.cluster.registry.snapshot()]


class TestPlainOllama:
    async def test_one_that_answers_is_proven_and_taken_in_by_decision_alone(self, daemon: Daemon, cluster_key: str):
        assert cluster_key
        await hear(daemon, OLLAMA)
        await until(lambda: [one[1:] for one in shown(daemon)] == [("candidate", True, "")])
        (found,) = daemon.cluster.newcomers.all()
        assert (found.kind, found.place) == ("ollama", "http://10.0.0.9:11434")
        assert daemon.cluster.members.rows() == ()
        admitted = await daemon.cluster.nodes.admit("zoe", Admission(found.id))
        assert (admitted.trust, admitted.url, admitted.way) == ("open", "http://10.0.0.9:11434", "administrator")
        assert shown(daemon) == []

    async def test_one_that_does_not_answer_is_not(self, daemon: Daemon):
        daemon.cluster.health.ill[id_at("http://10.0.0.9:11434")] = "no connection (refused)"
        await hear(daemon, OLLAMA)
        assert not await told(daemon, "no connection (refused)")

    async def test_one_of_the_settings_is_no_candidate(self, daemon: Daemon):
        own = Sighting("ollama", "this", "", (HOST,), 11434, 0, claimed=False, interface="eth0")
        await hear(daemon, own, OLLAMA)
        await until(lambda: len(shown(daemon)) == 1)
        assert daemon.cluster.newcomers.all()[0].place == "http://10.0.0.9:11434"


class TestTyped:
    async def test_a_node_at_a_typed_address_is_a_candidate_that_has_shown_its_key(
        self, daemon: Daemon, tmp_path: Path, ollama: OllamaDouble
    ):
        async with node(tmp_path, ollama.url, Trusted(words=words(daemon.cluster.identity.id))) as at:
            added = await daemon.cluster.nodes.add("zoe", NewNode(f"synapse://{HOST}:{at.join_port}"))
            assert (added.id, added.state) == (at.id, "candidate")
            assert [(one[0], one[2]) for one in shown(daemon)] == [(at.id, True)]
            await hear(daemon)  # it is not heard, and stays
            admitted = await daemon.cluster.nodes.admit("zoe", Admission(at.id, at.last_words))
        assert admitted.url == at.url  # the port that it says itself, and not the usual one

    async def test_there_is_room_for_it_beside_as_many_as_are_remembered(
        self, daemon: Daemon, tmp_path: Path, ollama: OllamaDouble
    ):
        """Somebody who fills the table with keys of their own keeps nobody from being typed (cluster.md)."""
        ids = [Identity.create().id for _ in range(MAX_CANDIDATES)]
        others = [
            Sighting("node", f"syn-{one[:16]}", one, ("10.9.9.9",), 11435, 1, claimed=False, interface="eth0")
            for one in ids
        ]
        await hear(daemon, *others)
        for one in ids:
            daemon.cluster.newcomers._candidates.prove(one)
        async with node(tmp_path, ollama.url, Trusted(words=words(daemon.cluster.identity.id))) as at:
            added = await daemon.cluster.nodes.add("zoe", NewNode(f"synapse://{HOST}:{at.join_port}"))
            assert (added.id, added.state) == (at.id, "candidate")
            assert len(shown(daemon)) == MAX_CANDIDATES + 1
            admitted = await daemon.cluster.nodes.admit("zoe", Admission(at.id, " ".join(words(at.id))))
        assert admitted.id == at.id

    async def test_where_no_node_is(self, daemon: Daemon):
        with pytest.raises(JoinError) as refused:
            await daemon.cluster.newcomers.look_at(HOST, 1, 1)
        assert refused.value.failure is Failure.UNREACHABLE
        assert shown(daemon) == []


async def test_nobody_is_asked_who_is_not_heard(daemon: Daemon):
    assert await daemon.cluster.newcomers.ask("nobody") is None


async def test_a_database_that_fails_once_does_not_end_the_watch(
    daemon: Daemon, cluster_key: str, tmp_path: Path, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
):
    really, failed = NodeBook.secret, asyncio.Event()

    async def once(self: NodeBook) -> bytes | None:
        if not failed.is_set():
            failed.set()
            raise SynapseError("the disk is full")
        return await really(self)

    monkeypatch.setattr(NodeBook, "secret", once)
    async with node(tmp_path, ollama.url, key(cluster_key)) as at:
        await hear(daemon, at.heard())
        await failed.wait()
        await hear(daemon, at.heard())
        await until(lambda: row(daemon, at) is not None)
