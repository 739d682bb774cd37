import os
import shlex
import socket
import subprocess
import sys
from ipaddress import ip_network

import aiohttp
import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from appliance.cluster.addresses import Inside
from appliance.cluster.connections import LocalResolver, open_session
from tests.e2e.needs import need
from tests.upstreams.ollama import OllamaDouble, ollama_double


class Fixed(AbstractResolver):
    """Every name leads to these addresses."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in self.addresses
        ]

    async def close(self) -> None:
        pass


async def test_a_name_inside_the_network_is_followed():
    found = await LocalResolver(Fixed("192.168.1.5")).resolve("box.lan", 1)
    assert [one["host"] for one in found] == ["192.168.1.5"]


async def test_addresses_outside_are_left_out_and_a_name_with_no_other_is_refused():
    found = await LocalResolver(Fixed("8.8.8.8", "10.0.0.1")).resolve("box.lan", 1)
    assert [one["host"] for one in found] == ["10.0.0.1"]
    with pytest.raises(OSError, match="outside"):
        await LocalResolver(Fixed("8.8.8.8", "2001:4860:4860::8888")).resolve("evil.example", 1)


async def test_a_link_local_address_with_its_zone_is_local():
    found = await LocalResolver(Fixed("fe80::1%eth0")).resolve("box.local", 1)
    assert len(found) == 1


async def test_no_proxy_of_the_environment_is_used(ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with open_session() as session, session.get(ollama.url + "/api/version") as response:
        assert response.status == 200


async def test_a_name_that_leads_outside_takes_no_byte_with_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", Fixed("203.0.113.7").resolve)
    async with open_session() as session:
        with pytest.raises(aiohttp.ClientConnectorError, match="outside"):
            await session.post("http://moved.example:11434/api/chat", data=b"a prompt")


@pytest.mark.parametrize(
    "url",
    [
        "http://8.8.8.8:11434",
        "http://[2001:4860:4860::8888]:11434",
        "http://[::ffff:8.8.8.8]:11434",
        "http://0.0.0.0:11434",
        "http://134744072:11434",  # 8.8.8.8 as one number
        "http://0x08080808:11434",
    ],
)
async def test_an_address_in_a_url_is_checked_too(url: str, monkeypatch: pytest.MonkeyPatch):
    """No resolver sees it, and a row of the database may say anything."""
    tried: list[object] = []
    monkeypatch.setattr(socket.socket, "connect", lambda *_: tried.append(_))
    async with open_session() as session:
        with pytest.raises(aiohttp.ClientError, match=r"outside|canonical"):
            await session.post(url + "/api/chat", data=b"a prompt")
    assert tried == []


async def test_a_network_that_the_administrator_lists_is_inside_for_names_and_addresses(
    monkeypatch: pytest.MonkeyPatch,
):
    inside = Inside((ip_network("203.0.113.0/24"),))
    found = await LocalResolver(Fixed("203.0.113.7", "8.8.8.8"), inside).resolve("box.lan", 1)
    assert [one["host"] for one in found] == ["203.0.113.7"]
    tried: list[tuple[str, int]] = []

    def connect(_: socket.socket, address: tuple[str, int]) -> None:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", connect)
    async with open_session(inside=inside) as session:
        for url in ("http://203.0.113.7:11434/", "http://203.0.114.7:11434/"):
            with pytest.raises(aiohttp.ClientConnectorError):
                await session.get(url)
    assert tried == [("203.0.113.7", 11434)]


async def test_a_redirect_out_of_the_building_is_not_followed_to_its_end():
    async def away(_: web.Request) -> web.Response:
        raise web.HTTPFound("http://8.8.8.8/")

    async with ollama_double(more=[web.get("/away", away)]) as double, open_session() as session:
        with pytest.raises(aiohttp.ClientConnectorError, match="outside"):
            await session.get(double.url + "/away")


@pytest.mark.parametrize("connect_seconds", [0.1, 5.0, 86_400.0])
async def test_every_limit_that_the_settings_allow_makes_connections(connect_seconds: float, ollama: OllamaDouble):
    url = ollama.url + "/api/version"
    async with open_session(connect_seconds=connect_seconds) as session, session.get(url) as response:
        assert response.status == 200


SPEAKS = """
import asyncio, subprocess, time
import aiohttp
from aiohttp import web
from appliance.cluster.connections import open_session

async def main():
    async def answer(_):
        return web.Response(text="hello")
    app = web.Application()
    app.router.add_route("*", "/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    async with open_session(connect_seconds=0.5) as session:
        async with session.post(url, data=b"one") as response:
            assert await response.text() == "hello"
        subprocess.run(["tc", "qdisc", "replace", "dev", "lo", "root", "pfifo", "limit", "0"], check=True)
        began = time.monotonic()
        try:
            await session.post(url, data=b"two", timeout=aiohttp.ClientTimeout(total=None, sock_connect=0.5))
        except aiohttp.ClientConnectorError:
            print("connecting", time.monotonic() - began)
        except (aiohttp.ClientError, OSError):
            print("established", time.monotonic() - began)

asyncio.run(main())
"""


def test_a_machine_that_vanished_is_noticed_on_a_connection_that_was_made_before():
    """Its packets are lost, as when it was put to sleep or its cable was pulled: nobody resets the connection."""
    need("unshare", "ip", "tc")
    command = f"ip link set lo up && exec {shlex.quote(sys.executable)} -c {shlex.quote(SPEAKS)}"
    ran = subprocess.run(["unshare", "-rn", "sh", "-c", command], capture_output=True, text=True, timeout=20)
    if ran.returncode and "CI" not in os.environ and "unshare" in ran.stderr:
        pytest.skip("needs to make a network of its own")
    assert ran.returncode == 0, ran.stderr
    where, seconds = ran.stdout.split()
    assert where == "established"
    assert 0.4 < float(seconds) < 2
