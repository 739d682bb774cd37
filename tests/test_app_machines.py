"""The machines of a whole gateway: real nodes, certificates, calls and restarts; only what is heard is played."""

import asyncio
import socket
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from appliance.admin.node_wire import Admission, NewClusterKey, NewNode
from appliance.admin.pull_wire import NewPull
from appliance.app import running
from appliance.app_machines import SWITCHED_OFF
from appliance.cluster.agent.forwarding import CONSOLE_HEADER
from appliance.cluster.agent.node import Trusted
from appliance.cluster.identity import Identity, client_context, server_context
from appliance.cluster.machine import Machine
from appliance.cluster.registry import PROBE_INTERVAL_SECONDS
from appliance.cluster.sightings import Sighting
from appliance.cluster.words import words
from appliance.settings import load
from appliance.store import nodes
from tests.box import CHAT, Box, box
from tests.calls.lan import by_name, names_lead_here
from tests.cluster.nodes import HOST, Ear, Node, key, node, stranger
from tests.upstreams.compatible import compatible_double
from tests.upstreams.ollama import OllamaDouble, answers, done, line, ollama_double, progress, says
from tests.waiting import until

ELSEWHERE, POISONED = "127.0.0.2", "127.0.0.3"
"""Other addresses of this machine."""


@pytest.fixture
def ear(monkeypatch: pytest.MonkeyPatch) -> Ear:
    played = Ear()
    monkeypatch.setattr("appliance.app_machines.Discovery", played)
    return played


def machine(gateway: Box, machine_id: str) -> Machine | None:
    return gateway.app.registry.get(machine_id)


def well(gateway: Box, machine_id: str) -> bool:
    found = machine(gateway, machine_id)
    return found is not None and found.healthy


def at_desk(gateway: Box, machine_id: str, model: str) -> bool:
    found = machine(gateway, machine_id)
    return found is not None and found.has(model)


def url_kept(gateway: Box, node_id: str) -> str | None:
    with closing(sqlite3.connect(gateway.state_dir / "synapse.db")) as conn:
        row = nodes.get(conn, node_id)
    return None if row is None else row.url


@asynccontextmanager
async def joined(
    directory: Path, ear: Ear, ollama: str, *listed: str, **options: Any
) -> AsyncIterator[tuple[Box, Node, AsyncExitStack]]:
    """A gateway whose cluster key let a node in. The stack ends the node."""
    async with AsyncExitStack() as stack, box(directory / "state", *listed) as gateway:
        text = (await gateway.admin.new_cluster_key(NewClusterKey())).key
        at = await stack.enter_async_context(node(directory / "node", ollama, key(text), **options))
        ear.say(at.heard())
        await until(lambda: well(gateway, at.id))
        yield gateway, at, stack


async def answered(gateway: Box, **fields: Any) -> dict[str, Any]:
    """The certificate of a call that was answered."""
    answer = await gateway.chat(**fields)
    assert answer.status_code == 200, answer.text
    return await gateway.certificate(answer.headers["x-pulse-proof"])


def own_udp_ports() -> set[int]:
    """Those that this process has a UDP socket on."""
    own: set[str] = set()
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing's own
            own.add(str(link.readlink()))
    found: set[int] = set()
    for table in ("/proc/net/udp", "/proc/net/udp6"):
        for row in Path(table).read_text().splitlines()[1:]:
            fields = row.split()
            if f"socket:[{fields[9]}]" in own:
                found.add(int(fields[1].rpartition(":")[2], 16))
    return found


def connected_to(port: int) -> int:
    """How many connections there are on this machine to a port of loopback."""
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(row.split()[2].endswith(f":{port:04X}") and row.split()[3] == "01" for row in rows)


class TestComposition:
    async def test_what_machines_know_the_gateway_by_stays(self, tmp_path: Path, ollama: OllamaDouble):
        seen: list[tuple[str, tuple[str, ...]]] = []
        for _ in range(2):
            async with box(tmp_path, ollama.url) as gateway:
                found = await gateway.admin.nodes()
                seen.append((found.gateway_id, found.gateway_words))
        assert seen[0] == seen[1]
        assert seen[0][1] == words(seen[0][0])

    @pytest.mark.parametrize(
        ("said", "slots"), [("2", 2), ("16", 16), ("", 4), ("0", 4), ("many", 4), ("-1", 4), ("²", 4), ("1.5", 4)]
    )
    async def test_how_many_calls_ollama_runs_at_once_its_environment_says(
        self, tmp_path: Path, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch, said: str, slots: int
    ):
        names_lead_here(monkeypatch)
        environ = {
            "SYNAPSE_STATE_DIR": str(tmp_path),
            "SYNAPSE_DISCOVERY__ENABLED": "false",
            "SYNAPSE_LOCAL__OLLAMA": f"{ollama.url},{by_name(ollama.url)}",
        }
        settings = load(None, environ, system_file=tmp_path / "none.toml")
        async with running(settings, {"OLLAMA_NUM_PARALLEL": said}, base_url="http://127.0.0.1:1/v1") as app:
            found = {one.trust: one.slots for one in app.registry.snapshot()}
        # Of another machine it says nothing.
        assert found == {"loopback": slots, "open": 4}

    async def test_discovery_that_is_switched_off_opens_no_socket_and_says_so(
        self, tmp_path: Path, ollama: OllamaDouble
    ):
        before = own_udp_ports()
        async with box(tmp_path, ollama.url) as gateway:
            assert (await gateway.admin.nodes()).discovery == SWITCHED_OFF
            assert own_udp_ports() == before
            assert 5353 not in own_udp_ports()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            control.bind((HOST, 0))
            assert control.getsockname()[1] in own_udp_ports()

    async def test_discovery_that_is_on_is_started_told_of_and_stopped(
        self, tmp_path: Path, ollama: OllamaDouble, ear: Ear, monkeypatch: pytest.MonkeyPatch
    ):
        said: list[object] = []

        class Announcer:
            def __init__(self, service: object, *, interfaces: tuple[str, ...]) -> None:
                said.extend((service, interfaces))

            async def start(self) -> None:
                said.append("started")

            async def stop(self) -> None:
                said.append("stopped")

        monkeypatch.setattr("appliance.app_machines.Announcer", Announcer)
        ear.problem = "port 5353 is taken"
        on = {"SYNAPSE_DISCOVERY__ENABLED": "true", "SYNAPSE_DISCOVERY__INTERFACES": "eth7"}
        async with box(tmp_path, ollama.url, **on) as gateway:
            found = await gateway.admin.nodes()
            assert (found.discovery, ear.interfaces) == ("port 5353 is taken", ("eth7",))
            assert (ear.started, ear.stopped) == (1, 0)
            port = int(gateway.url.rpartition(":")[2])
        service: Any = said[0]
        assert (service.type, service.port) == ("_synapse._tcp.local.", port)
        assert service.instance == f"syn-{found.gateway_id[:16]}"
        assert dict(service.properties) == {"txtvers": "1", "proto": "1", "id": found.gateway_id, "path": "/v1"}
        assert (said[1:], ear.stopped) == ([("eth7",), "started", "stopped"], 1)

    async def test_what_was_decided_comes_back_after_a_restart(
        self, tmp_path: Path, ear: Ear, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
    ):
        names_lead_here(monkeypatch)
        async with AsyncExitStack() as stack:
            rack = await stack.enter_async_context(compatible_double("vllm", key="secret-key"))
            async with box(tmp_path / "state", ollama.url) as first:
                trusted = Trusted(words=words((await first.admin.nodes()).gateway_id))
                made = [
                    await stack.enter_async_context(node(tmp_path / name, ollama.url, trusted, name=name))
                    for name in ("kept", "drained", "revoked", "rejected")
                ]
                ear.say(made[3].heard())
                for at in made[:3]:
                    await first.admin.add_node(NewNode(f"synapse://{HOST}:{at.join_port}"))
                    await first.admin.admit_node(Admission(at.id, at.last_words))
                await first.admin.drain_node(made[1].id)
                await first.admin.remove_node(made[2].id)
                await first.admin.reject_node(made[3].id)
                new = NewNode(by_name(rack.url), "openai-compatible", "rack", "secret-key", slots=7)
                await first.admin.add_node(new)
                await until(lambda: all(one.healthy for one in first.app.registry.snapshot()))
                before = (await first.admin.nodes()).nodes
                secret = first.key
            async with box(tmp_path / "state", ollama.url) as second:
                after = (await second.admin.nodes()).nodes
                assert after == before
                assert {one.name: one.state for one in after} == {
                    ollama.url.removeprefix("http://"): "active",
                    "kept": "active",
                    "drained": "draining",
                    "revoked": "revoked",
                    "": "rejected",
                    "rack": "active",
                }
                second.http.headers["authorization"] = f"Bearer {secret}"
                await answered(second)
                assert b"Bearer secret-key" in rack.raw


class TestJoined:
    async def test_a_node_that_was_told_the_cluster_key_answers_over_mutual_tls(
        self, tmp_path: Path, ear: Ear, ollama: OllamaDouble
    ):
        async with joined(tmp_path, ear, ollama.url, name="desk 3", slots=2) as (gateway, at, _):
            said = await answered(gateway)
            assert said["egress"]["provider"] == "ollama"
            assert said["egress"]["node"] == {
                "id": at.id,
                "name": "desk 3",
                "engine": "ollama/0.32.15",
                "trust": "pinned",
            }
            assert (await answered(gateway, model="pulse-sensitive"))["egress"]["node"]["trust"] == "pinned"
            found = machine(gateway, at.id)
            assert found is not None
            assert (found.url, found.slots) == (at.url, 2)
            assert found.url.startswith("https:")
            assert len(ollama.received) == 2

    async def test_nobody_else_gets_an_answer_of_it(self, tmp_path: Path, ear: Ear, ollama: OllamaDouble):
        """Neither in the clear nor with another key: its port is the gateway's alone."""
        async with joined(tmp_path, ear, ollama.url) as (_, at, _stack):
            for tls in (None, client_context(None, None), client_context(Identity.create(), None)):
                name = None if tls is None else ""
                reader, writer = await asyncio.open_connection(HOST, at.port, ssl=tls, server_hostname=name)
                writer.write(b"GET /api/tags HTTP/1.1\r\nhost: x\r\n\r\n")
                with suppress(OSError):  # it breaks off, as TLS does where a certificate is missing
                    assert not (await reader.read(100)).startswith(b"HTTP/1.1 200")
                writer.transport.abort()

    async def test_a_node_that_is_killed_is_noticed_and_comes_back(
        self, tmp_path: Path, ear: Ear, ollama: OllamaDouble
    ):
        async with joined(tmp_path, ear, ollama.url) as (gateway, at, stack):
            await stack.aclose()
            answer = await gateway.chat()
            assert (answer.status_code, answer.json()["error"]["code"]) in (
                (503, "local_lane_unavailable"),
                (502, "upstream_error"),
            )
            await until(lambda: not well(gateway, at.id))
            async with node(tmp_path / "node", ollama.url, Trusted(), ports=(at.port, at.join_port)):
                gateway.app.registry.probe_soon(at.id)
                await until(lambda: well(gateway, at.id))
                await answered(gateway)

    async def test_a_forged_goodbye_leaves_it_in_use(self, tmp_path: Path, ear: Ear, ollama: OllamaDouble):
        async with joined(tmp_path, ear, ollama.url) as (gateway, at, _):
            ear.say()
            await answered(gateway)
            gateway.app.registry.probe_soon(at.id)
            await answered(gateway)
            assert well(gateway, at.id)

    async def test_calls_on_two_machines_when_one_is_killed_all_succeed(self, tmp_path: Path, ear: Ear):
        """Whole answers: nothing of them goes on before they are there."""
        slow = says(0.01, line("Hel"), 0.01, line("lo"), done())
        async with (
            ollama_double(default=slow) as one,
            ollama_double(default=slow) as other,
            joined(tmp_path, ear, one.url, other.url) as (gateway, at, stack),
        ):
            seen: list[int] = []

            async def keep_calling() -> None:
                for _ in range(8):
                    answer = await gateway.chat()
                    seen.append(answer.status_code)

            calling = [asyncio.ensure_future(keep_calling()) for _ in range(6)]
            await until(lambda: len(seen) > 10 and bool(one.received))
            await stack.aclose()
            await asyncio.gather(*calling)
            assert seen == [200] * 48
            assert gateway.app.pipeline.scheduler.in_flight(at.id) == 0


class TestPulls:
    async def test_a_node_pulls_for_the_console_and_has_the_model_at_once(
        self, tmp_path: Path, ear: Ear, ollama: OllamaDouble
    ):
        """The agent refuses every pull that is not the console's; the probe that finds the model comes at once."""
        async with ollama_double() as other, joined(tmp_path, ear, ollama.url, other.url) as (gateway, at, _):
            made = await gateway.admin.start_pull(NewPull("qwen3:8b", at.id))
            assert (made.node, made.node_id) == ("desk", at.id)
            began = time.monotonic()
            await until(lambda: at_desk(gateway, at.id, "qwen3:8b"))
            assert time.monotonic() - began < PROBE_INTERVAL_SECONDS
            [last] = (await gateway.admin.pulls()).pulls
            assert (last.state, last.completed, last.total) == ("done", 4_000_001_500, 4_000_001_500)
            assert (ollama.pulled, other.pulled) == ([{"model": "qwen3:8b", "stream": True}], [])
            assert CONSOLE_HEADER not in {name.lower() for name in ollama.headers[0]}

    async def test_a_node_that_is_put_out_meanwhile(self, tmp_path: Path, ear: Ear, ollama: OllamaDouble):
        ollama.pulls.append(says(progress("pulling manifest"), 60.0))
        async with joined(tmp_path, ear, ollama.url) as (gateway, at, _):
            await gateway.admin.start_pull(NewPull("qwen3:8b"))
            await until(lambda: ollama.active == 1)
            await gateway.admin.remove_node(at.id)
            await until(lambda: ollama.left == 1)
            [last] = (await gateway.admin.pulls()).pulls
            assert (last.state, last.problem) == ("failed", "The machine broke off: the connection broke.")

    async def test_it_ends_with_the_daemon(self, tmp_path: Path, ollama: OllamaDouble):
        ollama.pulls.append(says(progress("pulling manifest"), 60.0))
        async with box(tmp_path, ollama.url) as gateway:
            await gateway.admin.start_pull(NewPull("qwen3:8b"))
            await until(lambda: ollama.active == 1)
        await until(lambda: ollama.left == 1)


class TestMoving:
    async def test_a_poisoned_address_is_not_followed_and_calls_go_on(
        self, tmp_path: Path, ear: Ear, ollama: OllamaDouble
    ):
        async with joined(tmp_path, ear, ollama.url) as (gateway, at, stack):
            async with stranger(POISONED, at.port, server_context(Identity.create(), None)) as poison:
                ear.say(at.heard(POISONED))
                gateway.app.registry.probe_soon(at.id)
                await answered(gateway)
                assert url_kept(gateway, at.id) == at.url
                # Also while it is away: what comes back to it then is the true one.
                await stack.aclose()
                gateway.app.registry.report_failure(at.id, "gone")
                await until(lambda: poison.calls > 0 and not well(gateway, at.id))
                assert (await gateway.chat()).status_code == 503
                assert url_kept(gateway, at.id) == at.url
                async with node(tmp_path / "node", ollama.url, Trusted(), ports=(at.port, at.join_port)):
                    gateway.app.registry.probe_soon(at.id)
                    await until(lambda: well(gateway, at.id))
                    await answered(gateway)
            assert poison.said == b""

    async def test_a_machine_that_moved_is_followed_and_that_outlives_a_restart(
        self, tmp_path: Path, ear: Ear, ollama: OllamaDouble
    ):
        async with AsyncExitStack() as others:
            async with joined(tmp_path, ear, ollama.url) as (gateway, at, stack):
                await stack.aclose()
                ports = (at.port, at.join_port)
                moved = await others.enter_async_context(
                    node(tmp_path / "node", ollama.url, Trusted(), host=ELSEWHERE, ports=ports)
                )
                tls = server_context(Identity.create(), None)
                poison = await others.enter_async_context(stranger(POISONED, at.port, tls))
                gateway.app.registry.report_failure(at.id, "gone")
                await until(lambda: not well(gateway, at.id))
                ear.say(moved.heard(POISONED, ELSEWHERE))
                await until(lambda: well(gateway, at.id))
                assert (await answered(gateway))["egress"]["node"]["id"] == at.id
                await until(lambda: url_kept(gateway, at.id) == moved.url)
                secret = gateway.key
            ear.say()
            async with box(tmp_path / "state") as again:
                again.http.headers["authorization"] = f"Bearer {secret}"
                found = machine(again, at.id)
                assert found is not None
                assert (found.url, found.healthy) == (moved.url, True)
                await answered(again)
            assert poison.calls
            assert poison.said == b""

    async def test_one_that_moved_while_the_gateway_was_down_is_found_when_it_is_heard(
        self, tmp_path: Path, ear: Ear, ollama: OllamaDouble
    ):
        async with joined(tmp_path, ear, ollama.url) as (gateway, at, _):
            secret = gateway.key
        ear.say()
        ports = (at.port, at.join_port)
        async with (
            node(tmp_path / "node", ollama.url, Trusted(), host=ELSEWHERE, ports=ports) as moved,
            box(tmp_path / "state") as again,
        ):
            again.http.headers["authorization"] = f"Bearer {secret}"
            assert not well(again, at.id)
            assert (await again.chat()).status_code == 503
            ear.say(moved.heard())
            await until(lambda: well(again, at.id))
            await answered(again)
            await until(lambda: url_kept(again, at.id) == moved.url)


async def test_what_a_stranger_says_of_a_model_is_not_believed_of_others(
    tmp_path: Path, ear: Ear, ollama: OllamaDouble
):
    """A plain Ollama that is only heard lists a known model, and says that it answers no chats."""
    async with ollama_double(capabilities=["embedding"]) as liar, box(tmp_path) as gateway:
        port = int(liar.url.rpartition(":")[2])
        ear.say(Sighting("ollama", "attic", "", (HOST,), port, 0, claimed=False, interface="eth0"))
        await until(lambda: bool(liar.shown))
        await gateway.admin.add_node(NewNode(ollama.url))
        await until(lambda: any(one.healthy for one in gateway.app.registry.snapshot()))
        assert (await answered(gateway))["response"]["ending"] == "complete"
        assert liar.received == []


class TestRevocation:
    @pytest.mark.parametrize("stream", [False, True])
    async def test_a_running_call_of_which_nothing_went_on_moves_to_another_machine_at_once(
        self, tmp_path: Path, ear: Ear, ollama: OllamaDouble, stream: bool
    ):
        async with ollama_double() as other, joined(tmp_path, ear, ollama.url, other.url) as (gateway, at, _):
            ollama.default = other.default = says(asyncio.Event())
            calls = [asyncio.ensure_future(gateway.chat(stream=stream)) for _ in range(2)]
            await until(lambda: ollama.active == other.active == 1)
            other.default = answers("Hel", "lo")
            began = time.monotonic()
            await gateway.admin.remove_node(at.id)
            first, _pending = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            assert time.monotonic() - began < 2
            (answer,) = [one.result() for one in first]
            assert answer.status_code == 200
            said = await gateway.certificate(answer.headers["x-pulse-proof"])
            assert (said["egress"]["attempts"], said["egress"]["node"]["trust"]) == (2, "loopback")
            await until(lambda: ollama.left == 1)  # the model there stops working
            # And nothing more goes there, whatever is heard.
            received = len(ollama.received)
            ear.say(at.heard())
            for _ in range(5):
                await answered(gateway)
            assert (len(ollama.received), machine(gateway, at.id)) == (received, None)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

    async def test_a_stream_that_had_content_ends_at_once_and_honestly(
        self, tmp_path: Path, ear: Ear, ollama: OllamaDouble
    ):
        async with ollama_double() as other, joined(tmp_path, ear, ollama.url) as (gateway, at, _):
            ollama.default = says(line("Hel"), asyncio.Event())
            async with gateway.http.stream("POST", CHAT, content=gateway.body(stream=True)) as answer:
                pieces = answer.aiter_text()
                text = await anext(pieces)
                while "Hel" not in text:
                    text += await anext(pieces)
                async with asyncio.timeout(2):
                    await gateway.admin.remove_node(at.id)
                    text += "".join([piece async for piece in pieces])
            assert '"error"' in text
            assert "[DONE]" not in text
            assert (await gateway.ledger(answer.headers["x-pulse-proof"])).ending == "failed"
            assert other.received == []

    async def test_pooled_connections_are_closed_at_once(self, tmp_path: Path, ear: Ear, ollama: OllamaDouble):
        async with joined(tmp_path, ear, ollama.url) as (gateway, at, _):
            await answered(gateway)
            assert connected_to(at.port)
            await gateway.admin.remove_node(at.id)
            await until(lambda: not connected_to(at.port), 1.0)
            assert (await gateway.chat()).status_code == 503
            (shown,) = (await gateway.admin.nodes()).nodes
            assert (shown.id, shown.state) == (at.id, "revoked")

    async def test_an_administrator_can_let_it_in_again(self, tmp_path: Path, ear: Ear, ollama: OllamaDouble):
        async with joined(tmp_path, ear, ollama.url) as (gateway, at, _):
            await gateway.admin.remove_node(at.id)
            assert (await gateway.chat()).status_code == 503
            again = await gateway.admin.admit_node(Admission(at.id, at.last_words))
            assert again.way == "words"
            await until(lambda: well(gateway, at.id))
            assert (await answered(gateway))["egress"]["node"]["id"] == at.id

    async def test_one_that_was_put_out_is_not_back_after_a_restart(
        self, tmp_path: Path, ear: Ear, ollama: OllamaDouble
    ):
        async with joined(tmp_path, ear, ollama.url) as (gateway, at, _):
            await gateway.admin.remove_node(at.id)
        async with box(tmp_path / "state") as again:
            ear.say(at.heard())
            (shown,) = (await again.admin.nodes()).nodes
            assert (shown.state, machine(again, at.id)) == ("revoked", None)
