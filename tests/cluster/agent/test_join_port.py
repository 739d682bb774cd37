import asyncio
import contextlib
import gc
import socket

import pytest

from appliance.cluster import join_messages as messages
from appliance.cluster.agent.join_port import Attempts
from appliance.cluster.cluster_key import ClusterKey
from appliance.cluster.identity import Identity
from appliance.cluster.join import Transcript, claim
from appliance.cluster.join_errors import Failure
from appliance.cluster.words import words
from appliance.errors import StateError
from tests.cluster.joining import SECRET, Clock, Owner, Running, calling, claim_line, join_port
from tests.waiting import until

GATEWAY, NODE, SECOND_NODE, FORGER = (Identity.create() for _ in range(4))
KEY = ClusterKey(GATEWAY.id, SECRET)

HELLO = messages.Hello(GATEWAY.certificate, bytes(32)).line()


async def test_a_gateway_that_proved_itself_is_welcome():
    async with join_port(Owner(key=KEY), identity=NODE) as node, calling(node.port) as gateway:
        _, claimed = await claim_line(gateway, GATEWAY, NODE, SECRET)
        answer = messages.read_welcome(await gateway.ask(claimed))
        assert (answer.name, answer.port, answer.slots) == ("desk 3", 11435, 4)
        assert node.owner.gateway == GATEWAY.certificate
        assert await gateway.reader.read() == b""


async def test_it_belongs_to_the_gateway_before_it_says_so():
    """A crash in between is then healed by the next attempt, which finds the node claimed by the same gateway."""
    async with join_port(Owner(key=KEY, fails=StateError("disk full")), identity=NODE) as node:
        async with calling(node.port) as gateway:
            _, claimed = await claim_line(gateway, GATEWAY, NODE, SECRET)
            assert await gateway.ask(claimed) == messages.refusal(Failure.NOT_STORED)
        node.owner.fails = None
        await joined(node)


class TestForgeries:
    async def test_of_a_recorded_join_at_the_same_node(self):
        async with join_port(Owner(key=KEY), identity=NODE) as node:
            recorded = await joined(node)
            node.owner.gateway = None
            assert await replayed(node, recorded) == messages.refusal(Failure.NOT_PROVEN)
            assert node.owner.gateway is None

    async def test_of_a_recorded_join_at_another_node(self):
        async with (
            join_port(Owner(key=KEY), identity=NODE) as node,
            join_port(Owner(key=KEY), identity=SECOND_NODE) as second,
        ):
            assert await replayed(second, await joined(node)) == messages.refusal(Failure.NOT_PROVEN)
            assert second.owner.gateway is None

    async def test_by_who_knows_the_cluster_key_but_not_the_gateways(self):
        """He shows the gateway's certificate, which is public, and signs with a key of his own."""
        async with join_port(Owner(key=KEY), identity=NODE) as node, calling(node.port) as peer:
            challenge = messages.read_challenge(await peer.ask(HELLO))
            transcript = Transcript(GATEWAY.certificate, NODE.certificate, bytes(32), challenge.nonce, "key")
            line = claim(FORGER, transcript, SECRET).line()
            assert await peer.ask(line) == messages.refusal(Failure.NOT_PROVEN)
            assert node.owner.gateway is None

    async def test_by_who_does_not_know_the_cluster_key(self):
        async with join_port(Owner(key=KEY), identity=NODE) as node, calling(node.port) as peer:
            _, line = await claim_line(peer, GATEWAY, NODE, bytes(20))
            assert await peer.ask(line) == messages.refusal(Failure.NOT_PROVEN)
            assert node.owner.gateway is None

    async def test_by_claiming_a_way_that_was_not_offered(self):
        async with join_port(Owner(gateway=GATEWAY.certificate), identity=NODE) as node, calling(node.port) as peer:
            _, line = await claim_line(peer, GATEWAY, NODE, SECRET)
            assert await peer.ask(line) == messages.refusal(Failure.WAY_NOT_OFFERED)


class TestPeersThatDoNotBehave:
    @pytest.mark.parametrize(
        "line",
        [
            b"GET / HTTP/1.1\r\n",
            b"\x00" * 9000,
            b"{}\n",
            b"[" * 8000 + b"\n",
            messages.Hello(b"no certificate", bytes(32)).line(),
        ],
    )
    async def test_are_told_and_hurt_nobody(self, line: bytes):
        async with join_port(Owner(key=KEY), identity=NODE) as node:
            async with calling(node.port) as peer:
                assert await peer.ask(line) == messages.refusal(Failure.BAD_MESSAGE)
                assert await peer.reader.read() == b""
            await joined(node)

    async def test_speak_no_tls(self):
        async with join_port(Owner(key=KEY), identity=NODE) as node:
            reader, writer = await asyncio.open_connection("127.0.0.1", node.port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            await ended(reader)
            writer.close()
            await joined(node)

    @pytest.mark.parametrize("sent", [b"", HELLO[:10], HELLO], ids=["nothing", "half a line", "half a join"])
    async def test_keep_it_waiting_until_the_deadline_only(self, sent: bytes):
        async with join_port(Owner(key=KEY), identity=NODE, deadline=0.3) as node:
            async with calling(node.port) as peer:
                peer.writer.write(sent)
                await ended(peer.reader)
            await joined(node)

    async def test_open_a_connection_and_no_more(self):
        async with join_port(Owner(key=KEY), identity=NODE, deadline=0.3) as node:
            reader, writer = await asyncio.open_connection("127.0.0.1", node.port)
            await ended(reader)
            writer.close()
            await joined(node)

    async def test_leave_in_the_middle(self):
        async with join_port(Owner(key=KEY), identity=NODE) as node:
            for lines in (b"", HELLO[:10], HELLO):
                async with calling_when_free(node) as peer:
                    peer.writer.write(lines)
            await joined(node)


class TestHowOften:
    async def test_a_second_connection_is_refused_at_once(self):
        async with join_port(Owner(key=KEY), identity=NODE) as node:
            async with calling(node.port) as first:
                assert messages.read_challenge(await first.ask(HELLO))
                reader, writer = await asyncio.open_connection("127.0.0.1", node.port)
                await ended(reader)
                writer.close()
            await joined(node)

    async def test_ten_attempts_a_minute(self):
        async with join_port(Owner(words=words(GATEWAY.id)), identity=NODE) as node:
            for _ in range(10):
                assert b"nonce" in await taken_in_turn(node)
            assert await taken_in_turn(node) == messages.refusal(Failure.TOO_MANY)
            node.clock.now = 59.9
            assert await taken_in_turn(node) == messages.refusal(Failure.TOO_MANY)
            node.clock.now = 60.0
            assert b"nonce" in await taken_in_turn(node)

    async def test_strangers_use_up_nobodys_attempts(self):
        async with join_port(Owner(), identity=NODE) as node:
            for _ in range(12):
                assert await first_answer(node) == messages.refusal(Failure.NOT_TOLD)

    def test_the_minute_slides(self):
        clock = Clock()
        attempts = Attempts(clock)
        taken: list[bool] = []
        for now in range(0, 120, 4):
            clock.now = now
            taken.append(attempts.take())
        # Ten from 0 to 36 s; from 60 s on one becomes free every 4 s.
        assert taken == [now <= 36 or 60 <= now <= 96 for now in range(0, 120, 4)]


async def test_no_secret_is_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    async with join_port(Owner(key=KEY), identity=NODE) as node:
        await joined(node)
        async with calling_when_free(node) as peer:
            _, line = await claim_line(peer, GATEWAY, NODE, bytes(20))
            await peer.ask(line)
    assert f"joined the gateway {GATEWAY.instance}" in caplog.text
    assert "a join from 127.0.0.1 was refused: not_proven" in caplog.text
    assert KEY.text() not in caplog.text
    assert "proof" not in caplog.text


@contextlib.asynccontextmanager
async def calling_when_free(node: Running):
    """A connection, as soon as the port has ended the last."""
    async with asyncio.timeout(10), contextlib.AsyncExitStack() as stack:
        while True:
            try:
                peer = await stack.enter_async_context(calling(node.port))
            except ConnectionResetError:
                await asyncio.sleep(0.01)
            else:
                break
        yield peer


async def joined(node: Running) -> tuple[bytes, bytes]:
    """The two lines of the gateway in a join that succeeded."""
    before = node.owner.times
    async with calling_when_free(node) as peer:
        lines = await claim_line(peer, GATEWAY, node.identity, SECRET)
        messages.read_welcome(await peer.ask(lines[1]))
    await until(lambda: node.owner.times == before + 1)
    return lines


async def replayed(node: Running, lines: tuple[bytes, bytes]) -> bytes:
    async with calling_when_free(node) as peer:
        messages.read_challenge(await peer.ask(lines[0]))
        return await peer.ask(lines[1])


async def first_answer(node: Running) -> bytes:
    async with calling_when_free(node) as peer:
        return await peer.ask(HELLO)


async def taken_in_turn(node: Running) -> bytes:
    """The first answer, once the connection before it is done with: one is taken at a time."""
    async with asyncio.timeout(10):
        while not (said := await first_answer(node)):
            pass
        return said


async def ended(reader: asyncio.StreamReader) -> None:
    """The other side closes within a second, whatever it says before."""
    async with asyncio.timeout(1):
        with contextlib.suppress(ConnectionError):
            await reader.read()


@pytest.mark.parametrize("steps", range(12))
async def test_it_can_be_closed_at_any_moment_of_a_connection(steps: int):
    """Else its socket would be left open until it is collected, which is a ResourceWarning here."""
    async with join_port(Owner()) as at:
        with socket.create_connection(("127.0.0.1", at.port)):
            for _ in range(steps):
                await asyncio.sleep(0)
    gc.collect()
