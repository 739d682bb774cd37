import socket

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from appliance.cluster.connections import LocalResolver, open_session
from tests.upstreams.ollama import OllamaDouble


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
