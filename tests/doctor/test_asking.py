import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from appliance.admin.client import Client
from appliance.admin.policy_wire import NewProvider, ProviderCheck
from appliance.doctor import asking, files
from appliance.doctor.facts import MachineFacts
from appliance.settings import load
from tests.admin.played import Daemon, client, daemon, database, listening
from tests.box import Box
from tests.upstreams.ollama import OllamaDouble
from tests.upstreams.serving import Double
from tests.upstreams.serving import listening as serving

__all__ = ["client", "daemon", "database", "listening"]


class TestDaemon:
    async def test_everything_that_it_says(self, client: Client, listening: Daemon):
        socket, found = await asking.daemon(client, files.file(listening.socket), online=False)
        assert (socket.problem, socket.denied, socket.file.kind) == (None, False, "socket")
        assert found is not None
        assert (found.status.version, found.nodes.gateway_id != "", found.checks) == ("0.1.0", True, {})

    async def test_providers_are_called_only_when_asked_to(self, client: Client, listening: Daemon):
        await client.put_provider(NewProvider("openai", "openai", key="sk-1", full="gpt-4o"))
        await client.put_provider(NewProvider("bare", "openai-compatible", "http://192.168.1.9/v1", "sk-1"))
        await asking.daemon(client, files.file(listening.socket), online=False)
        assert listening.checker.asked == []
        listening.checker.answer = ProviderCheck(False, "The key is refused.")
        _, found = await asking.daemon(client, files.file(listening.socket), online=True)
        assert found is not None
        assert found.checks == {"openai": listening.checker.answer}

    async def test_none_that_runs(self, tmp_path: Path):
        async with Client(tmp_path / "none.sock") as client:
            socket, found = await asking.daemon(client, files.file(tmp_path / "none.sock"), online=False)
        assert found is None
        assert (socket.problem is not None, socket.denied) == (True, False)

    async def test_one_that_this_user_may_not_ask(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        async def denied(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(asyncio.get_running_loop(), "create_unix_connection", denied, raising=False)
        async with Client(tmp_path / "admin.sock") as client:
            socket, found = await asking.daemon(client, files.file(tmp_path / "admin.sock"), online=False)
        assert (found, socket.denied) == (None, True)


class TestGateway:
    async def test_whether_it_answers(self, gateway: Box):
        port = int(gateway.url.rpartition(":")[2])
        assert await asking.gateway_answers("127.0.0.1", port)
        assert await asking.gateway_answers("0.0.0.0", port)
        assert not await asking.gateway_answers("127.0.0.1", 1)
        assert not await asking.gateway_answers("::", 1)


class TestMachines:
    async def asked(self, *urls: str) -> list[MachineFacts]:
        environ = {"SYNAPSE_STATE_DIR": "/s", "SYNAPSE_LOCAL__OLLAMA": ",".join(urls)}
        return list(await asking.machines(load(None, environ, system_file=Path("/none"))))

    async def test_what_they_have(self, ollama: OllamaDouble):
        ollama.models = ["double:latest", "big:70b", "theirs:cloud"]
        assert await self.asked(ollama.url) == [MachineFacts(ollama.url, None, "ollama 0.32.15", ("double", "big:70b"))]

    async def test_why_one_cannot_be_used(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(asking, "SECONDS", 0.2)

        async def strange(_: web.Request) -> web.Response:
            return web.json_response(["hello"])

        async def silent(_: web.Request) -> web.Response:
            await asyncio.sleep(5)
            return web.Response()

        one, two = Double(), Double()
        async with (
            serving(one, [web.get("/api/version", strange)], 0),
            serving(two, [web.get("/api/version", silent)], 0),
        ):
            urls = ("http://127.0.0.1:1", one.url, two.url, "http://8.8.8.8:11434")
            found = [machine.problem or "" for machine in await self.asked(*urls)]
        assert found[:3] == [
            "connection refused",
            "it answers, and not as Ollama does",
            "it does not answer in time",
        ]
        assert "not inside this network" in found[3]
