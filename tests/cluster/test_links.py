import asyncio
import ssl

import aiohttp
import pytest
from aiohttp import web

from appliance.cluster.connections import open_session
from appliance.cluster.identity import Identity, client_context, server_context
from appliance.cluster.links import Link, Links
from appliance.cluster.machine import Machine
from tests.upstreams.ollama import OllamaDouble, ollama_double, says
from tests.upstreams.serving import listening
from tests.waiting import until

PINNED = Machine("p", "p", "https://127.0.0.1:1", "pinned")
OPEN = Machine("o", "o", "http://127.0.0.1:1", "open")

Opened = tuple[Links, list[tuple[ssl.SSLContext | None, aiohttp.ClientSession]]]


@pytest.fixture
async def opened():
    """The links, and of every session that they opened its trust."""
    made: list[tuple[ssl.SSLContext | None, aiohttp.ClientSession]] = []

    def open_one(tls: ssl.SSLContext | None) -> aiohttp.ClientSession:
        session = open_session(tls=tls)
        made.append((tls, session))
        return session

    links = Links(open_one)
    yield links, made
    await links.close()
    assert all(session.closed for _, session in made)


async def test_machines_without_keys_share_their_connections(opened: Opened):
    links, made = opened
    assert links.of(OPEN) is links.of(Machine("x", "x", "http://127.0.0.1:2", "loopback"))
    assert links.of(OPEN).headers == {}
    assert [tls for tls, _ in made] == [None]


async def test_a_pinned_machine_is_never_spoken_to_over_shared_connections(opened: Opened):
    links, made = opened
    with pytest.raises(ConnectionError, match="not admitted"):
        links.of(PINNED)
    tls = client_context(Identity.create(), Identity.create().certificate)
    await links.put("p", tls)
    assert links.of(PINNED).session is made[1][1]
    assert made[1][0] is tls
    await links.drop("p")
    assert made[1][1].closed
    with pytest.raises(ConnectionError):
        links.of(PINNED)
    await links.drop("p")  # twice is as good as once


async def test_what_comes_later_takes_the_place_of_what_was_before(opened: Opened):
    links, made = opened
    await links.put("o", None, {"Authorization": "Bearer one"})
    await links.put("o", None, {"Authorization": "Bearer two"})
    assert links.of(OPEN).headers == {"Authorization": "Bearer two"}
    assert [session.closed for _, session in made] == [False, True, False]


def test_no_text_of_a_link_shows_its_key():
    assert "secret" not in repr(Link(None, {"Authorization": "Bearer secret"}))  # type: ignore[arg-type]  not used


async def ask(link: Link, url: str) -> bytes:
    async with link.session.post(url + "/api/chat", data=b"{}", headers=link.headers) as response:
        return await response.content.readany()


@pytest.mark.parametrize("pinned", [False, True])
async def test_dropping_closes_connections_at_once_those_in_use_too(opened: Opened, pinned: bool):
    """Also where the other side takes no notice, which a TLS goodbye would wait for."""
    links, _ = opened
    gateway, other = Identity.create(), Identity.create()
    tls = server_context(other, gateway.certificate) if pinned else None
    double = OllamaDouble(default=says(asyncio.Event()))
    async with listening(double, [web.post("/api/chat", double.chat)], 0, tls):
        await links.put("p", client_context(gateway, other.certificate) if pinned else None, {"X": "y"})
        running = asyncio.ensure_future(ask(links.of(PINNED), double.url))
        await until(lambda: double.active == 1)
        async with asyncio.timeout(0.5):
            await links.drop("p")
            with pytest.raises((aiohttp.ClientError, OSError)):
                await running
        await until(lambda: double.left == 1)


async def test_dropping_one_leaves_the_others_alone(opened: Opened):
    links, _ = opened
    async with ollama_double() as double:
        await links.put("a", None, {"A": "1"})
        await links.put("b", None, {"B": "1"})
        kept = links.of(Machine("b", "b", double.url, "open"))
        assert await ask(kept, double.url)
        await links.drop("a")
        assert not kept.session.closed
        assert await ask(kept, double.url)
        assert double.headers[-1]["B"] == "1"
