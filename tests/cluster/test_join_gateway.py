"""Whole joins over loopback, and everything that a gateway may meet instead of its node."""

import asyncio
from typing import Any

import pytest
import uvloop

from appliance.cluster import join_gateway
from appliance.cluster import join_messages as messages
from appliance.cluster.cluster_key import ClusterKey
from appliance.cluster.identity import Identity
from appliance.cluster.join import Transcript, welcome
from appliance.cluster.join_errors import Failure, JoinError
from appliance.cluster.join_gateway import Joined, join, peek
from appliance.cluster.words import words
from tests.cluster.joining import SECRET, Owner, Peer, Running, bound, calling, false_node, join_port

GATEWAY, OTHER_GATEWAY, NODE, THIEF = (Identity.create() for _ in range(4))
KEY = ClusterKey(GATEWAY.id, SECRET)


async def by_key(port: int, expected_id: str = NODE.id, **options: Any) -> Joined:
    fields = {"gateway": GATEWAY, "way": "key", "secret": SECRET, "timeout": 5.0} | options
    return await join("127.0.0.1", port, expected_id=expected_id, **fields)


async def by_words(port: int, **options: Any) -> Joined:
    return await by_key(port, way="words", secret=None, **options)


async def failure(joining: Any) -> Failure:
    with pytest.raises(JoinError) as caught:
        await joining
    assert SECRET.hex() not in str(caught.value)
    return caught.value.failure


class TestAJoin:
    async def test_by_the_cluster_key_pins_both(self):
        async with join_port(Owner(key=KEY), identity=NODE) as node:
            assert await by_key(node.port) == Joined(NODE.certificate, NODE.id, "desk 3", 11435, 4, "key")
            assert node.owner.gateway == GATEWAY.certificate

    @pytest.mark.parametrize("told", [Owner(words=words(GATEWAY.id)), Owner(key=KEY)])
    async def test_by_an_administrator_pins_both(self, told: Owner):
        async with join_port(told, identity=NODE) as node:
            assert (await by_words(node.port)).way == "words"
            assert node.owner.gateway == GATEWAY.certificate

    async def test_may_be_made_again(self):
        """What a crash of either side leaves half done is healed by the next attempt."""
        async with join_port(Owner(key=KEY), identity=NODE) as node:
            assert await by_key(node.port) == await by_key(node.port)
            node.owner.key = None
            assert (await by_words(node.port)).certificate == NODE.certificate

    async def test_of_a_claimed_node_is_refused_to_another_gateway(self):
        async with join_port(Owner(key=ClusterKey(OTHER_GATEWAY.id, SECRET), gateway=GATEWAY.certificate)) as node:
            joining = by_key(node.port, node.identity.id, gateway=OTHER_GATEWAY)
            assert await failure(joining) is Failure.CLAIMED
            assert node.owner.gateway == GATEWAY.certificate

    @pytest.mark.parametrize(
        ("owner", "expected"),
        [
            (Owner(), Failure.NOT_TOLD),
            (Owner(key=ClusterKey(OTHER_GATEWAY.id, SECRET)), Failure.NOT_MY_GATEWAY),
            (Owner(words=words(OTHER_GATEWAY.id)), Failure.NOT_MY_GATEWAY),
            (Owner(words=words(GATEWAY.id)), Failure.WAY_NOT_OFFERED),
            (Owner(key=ClusterKey(GATEWAY.id, bytes(20))), Failure.NOT_PROVEN),
            (Owner(key=KEY, fails=OSError(28, "disk full")), Failure.NOT_STORED),
        ],
    )
    async def test_is_refused_with_a_reason(self, owner: Owner, expected: Failure):
        async with join_port(owner, identity=NODE) as node:
            assert await failure(by_key(node.port)) is expected
            assert node.owner.gateway is None

    async def test_is_as_well_on_the_loop_of_the_daemon(self):
        def whole() -> Joined:
            async def run() -> Joined:
                async with join_port(Owner(key=KEY), identity=NODE) as node:
                    assert await peek("127.0.0.1", node.port) == NODE.id
                    return await by_key(node.port)

            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                return runner.run(run())

        assert (await asyncio.to_thread(whole)).id == NODE.id

    async def test_needs_the_secret_that_belongs_to_its_way(self):
        with pytest.raises(ValueError, match="way"):
            await by_key(1, secret=None)
        with pytest.raises(ValueError, match="way"):
            await by_key(1, way="words")


class TestAPeek:
    async def test_gives_the_id_and_is_no_attempt(self):
        async with join_port(Owner(), identity=NODE) as node:
            for _ in range(15):
                assert await peek("127.0.0.1", node.port, 5.0) == NODE.id
            assert await failure(by_key(node.port)) is Failure.NOT_TOLD

    async def test_may_find_nobody(self):
        sock = bound()
        with sock:
            assert await failure(peek("127.0.0.1", sock.getsockname()[1], 5.0)) is Failure.UNREACHABLE
        assert await failure(peek("nobody.invalid", 1, 5.0)) is Failure.UNREACHABLE


class TestSomebodyInBetween:
    async def test_who_is_not_the_expected_machine_learns_nothing(self):
        heard: list[bytes] = []

        async def listen(peer: Peer) -> None:
            heard.append(await peer.reader.readline())

        async with false_node(listen, THIEF) as port:
            assert await failure(by_key(port)) is Failure.OTHER_MACHINE
        assert heard in ([], [b""])

    async def test_cannot_relay_a_join_as_a_machine_of_his_own(self):
        """The gateway was made to expect him; the node sees that its gateway talked to another certificate."""
        async with join_port(Owner(key=KEY), identity=NODE) as node, relay(node) as port:
            assert await failure(by_key(port, THIEF.id)) is Failure.NOT_PROVEN
            assert node.owner.gateway is None

    async def test_cannot_relay_to_a_node_that_an_administrator_admits(self):
        async with join_port(Owner(words=words(GATEWAY.id)), identity=NODE) as node, relay(node) as port:
            assert await failure(by_words(port, expected_id=THIEF.id)) is Failure.NOT_PROVEN
            assert node.owner.gateway is None

    async def test_cannot_be_taken_for_a_node_without_the_cluster_key(self):
        async with false_node(poser(b"\x05" * 20), THIEF) as port:
            assert await failure(by_key(port, THIEF.id)) is Failure.NODE_NOT_PROVEN

    async def test_is_taken_for_a_node_with_it(self):
        """So that the test above fails for the secret alone."""
        async with false_node(poser(SECRET), THIEF) as port:
            assert (await by_key(port, THIEF.id)).name == "poser"


def relay(node: Running) -> Any:
    async def pass_on(peer: Peer) -> None:
        async with calling(node.port) as onward:
            while line := await peer.reader.readline():
                peer.writer.write(await onward.ask(line))

    return false_node(pass_on, THIEF)


def poser(secret: bytes) -> Any:
    async def answer(peer: Peer) -> None:
        hello = messages.read_hello(await peer.reader.readline())
        await_claim = peer.ask(messages.Challenge(bytes(32), ("key",)).line())
        assert messages.read_claim(await await_claim).proof
        transcript = Transcript(hello.certificate, THIEF.certificate, hello.nonce, bytes(32), "key")
        peer.writer.write(welcome(THIEF, transcript, secret, name="poser", port=1, slots=None).line())
        await peer.reader.read()

    return answer


class TestWhatIsNoNode:
    @pytest.mark.parametrize(
        ("says", "expected"),
        [
            (b"HTTP/1.1 400 Bad Request\r\n", Failure.BAD_MESSAGE),
            (b"x" * 20_000, Failure.BAD_MESSAGE),
            (b'{"error":"unreachable"}\n', Failure.BAD_MESSAGE),
            (b'{"error":"claimed"}\n', Failure.CLAIMED),
            (b"", Failure.CLOSED),
            (b'{"v":1', Failure.BAD_MESSAGE),
        ],
    )
    async def test_by_what_it_says(self, says: bytes, expected: Failure):
        async def answer(peer: Peer) -> None:
            await peer.reader.readline()
            peer.writer.write(says)
            peer.writer.close()
            await peer.writer.wait_closed()

        async with false_node(answer, NODE) as port:
            assert await failure(by_key(port)) is expected

    async def test_speaks_no_tls(self):
        async def answer(peer: Peer) -> None:
            await peer.reader.read(1)
            peer.writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await peer.reader.read()

        async with false_node(answer, None) as port:
            assert await failure(by_key(port)) is Failure.BAD_MESSAGE

    @pytest.mark.parametrize("identity", [NODE, None], ids=["after the handshake", "before it"])
    async def test_says_nothing(self, identity: Identity | None):
        async def answer(peer: Peer) -> None:
            await peer.reader.read()

        async with false_node(answer, identity) as port:
            assert await failure(by_key(port, timeout=0.2)) is Failure.TIMEOUT

    async def test_is_too_slow(self):
        """The deadline is for the whole join, not for a byte."""

        async def answer(peer: Peer) -> None:
            while True:
                peer.writer.write(b" ")
                await asyncio.sleep(0.02)

        async with false_node(answer, NODE) as port:
            assert await failure(by_key(port, timeout=0.3)) is Failure.TIMEOUT

    async def test_drops_every_connection(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(join_gateway, "_BUSY_PAUSES", (0.01, 0.01))

        async def answer(peer: Peer) -> None:
            return

        async with false_node(answer, None) as port:
            assert await failure(by_key(port)) is Failure.BUSY
