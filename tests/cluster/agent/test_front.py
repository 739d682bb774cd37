import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import pytest

from appliance.cluster.agent.front import KEEP_ALIVE_SECONDS, Front
from appliance.cluster.connections import KEEP_ALIVE_SECONDS as GATEWAYS_KEEP_ALIVE_SECONDS
from appliance.cluster.identity import Identity, client_context
from tests.cluster.joining import bound
from tests.upstreams.ollama import OllamaDouble, done, line, says
from tests.waiting import until

GATEWAY, SECOND_GATEWAY, NODE, STRANGER = (Identity.create() for _ in range(4))


@dataclass
class Open:
    front: Front
    port: int

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"


@asynccontextmanager
async def front_of(ollama: OllamaDouble, *gateways: Identity) -> AsyncIterator[Open]:
    with bound() as sock:
        front = Front(NODE, ollama=ollama.url, about={"name": "desk", "slots": None, "version": "1"})
        for gateway in gateways:
            await front.open(sock, gateway.certificate)
        try:
            yield Open(front, sock.getsockname()[1])
        finally:
            await front.close()


def session_of(client: Identity | None, server: Identity = NODE) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=client_context(client, server.certificate)),
    )


async def asked(url: str, client: Identity | None, server: Identity = NODE) -> bytes:
    async with session_of(client, server) as session, session.post(url + "/api/chat", data=b"{}") as answer:
        assert answer.status == 200
        return await answer.read()


async def test_the_gateway_reaches_ollama(ollama: OllamaDouble):
    ollama.default = says(line("Hello"), done())
    async with front_of(ollama, GATEWAY) as opened:
        assert await asked(opened.url, GATEWAY) == line("Hello") + done()
        async with session_of(GATEWAY) as session, session.get(opened.url + "/synapse/v1/node") as answer:
            assert await answer.json() == {"name": "desk", "slots": None, "version": "1"}
            assert "Server" not in answer.headers


async def test_a_compressed_body_passes_as_it_is(ollama: OllamaDouble):
    body = gzip.compress(b"{}")
    headers = {"Content-Encoding": "gzip"}
    async with (
        front_of(ollama, GATEWAY) as opened,
        session_of(GATEWAY) as session,
        session.post(opened.url + "/api/chat", data=body, headers=headers) as answer,
    ):
        assert answer.status == 200
    assert ollama.headers[0]["Content-Length"] == str(len(body))
    assert ollama.headers[0]["Content-Encoding"] == "gzip"
    assert ollama.received == [b"{}"]  # the double undoes it


@pytest.mark.parametrize("client", [STRANGER, NODE, None], ids=["a stranger", "the node itself", "nobody"])
async def test_nobody_else_gets_a_byte_through(ollama: OllamaDouble, client: Identity | None):
    async with front_of(ollama, GATEWAY) as opened:
        with pytest.raises((aiohttp.ClientError, ConnectionError)):
            await asked(opened.url, client)
        # In TLS 1.3 a client may write before it learns that it was refused.
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", opened.port, ssl=client_context(client, NODE.certificate), server_hostname=""
        )
        writer.write(b"POST /api/chat HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
        with pytest.raises((ssl.SSLError, ConnectionError, EOFError)):
            await reader.readexactly(1)
        writer.transport.abort()
        assert await asked(opened.url, GATEWAY)
    assert len(ollama.received) == 1


async def test_the_gateway_talks_to_nobody_else(ollama: OllamaDouble):
    """A machine at a poisoned address fails in TLS before a byte of a prompt is sent."""
    async with front_of(ollama, GATEWAY) as opened:
        with pytest.raises(aiohttp.ClientError):
            await asked(opened.url, GATEWAY, server=STRANGER)
    assert ollama.received == []


async def test_plain_http_is_not_answered(ollama: OllamaDouble):
    async with front_of(ollama, GATEWAY) as opened, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientError):
            await session.get(f"http://127.0.0.1:{opened.port}/api/version")


async def test_the_port_is_closed_while_nobody_is_pinned(ollama: OllamaDouble):
    async with front_of(ollama) as opened:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", opened.port)


async def test_another_gateway_takes_the_place_of_the_first(ollama: OllamaDouble):
    async with front_of(ollama, GATEWAY, SECOND_GATEWAY) as opened:
        with pytest.raises((aiohttp.ClientError, ConnectionError)):
            await asked(opened.url, GATEWAY)
        assert await asked(opened.url, SECOND_GATEWAY)


async def test_opening_again_for_the_same_gateway_ends_no_call(ollama: OllamaDouble):
    go = asyncio.Event()
    ollama.default = says(line("Hel"), go, done())
    with bound() as sock:
        front = Front(NODE, ollama=ollama.url, about={})
        await front.open(sock, GATEWAY.certificate)
        url = f"https://127.0.0.1:{sock.getsockname()[1]}"
        async with session_of(GATEWAY) as session, session.post(url + "/api/chat", data=b"{}") as answer:
            assert await answer.content.readline() == line("Hel")
            await front.open(sock, GATEWAY.certificate)
            go.set()
            assert await answer.read() == done()
        await front.close()


async def test_closing_cuts_off_what_does_not_end(ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("appliance.cluster.agent.front.SHUTDOWN_SECONDS", 0.1)
    ollama.default = says(line("Hel"), 60.0)
    async with front_of(ollama, GATEWAY) as opened, session_of(GATEWAY) as session:
        async with session.post(opened.url + "/api/chat", data=b"{}") as answer:
            await answer.content.readline()
            await opened.front.close()
            with pytest.raises(aiohttp.ClientError):  # not the end of an answer
                await answer.read()
        await until(lambda: ollama.left == 1, 2.0)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", opened.port)


async def test_a_caller_that_leaves_frees_ollama_at_once(ollama: OllamaDouble):
    ollama.default = says(line("Hel"), 60.0)
    async with front_of(ollama, GATEWAY) as opened:
        async with session_of(GATEWAY) as session, session.post(opened.url + "/api/chat", data=b"{}") as answer:
            await answer.content.readline()
        await until(lambda: ollama.left == 1, 2.0)


def test_the_gateway_lets_go_of_an_idle_connection_first():
    assert KEEP_ALIVE_SECONDS > GATEWAYS_KEEP_ALIVE_SECONDS
