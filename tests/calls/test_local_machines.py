"""Several machines, and what becomes of calls when one of them fails: cluster.md, "Choosing a machine"."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from appliance.admin.node_wire import NewNode
from appliance.cluster import breaker
from appliance.cluster.machine import Machine
from tests.box import CHAT, Box, box
from tests.calls.lan import by_name, names_lead_here
from tests.cluster.nodes import Wire, wire
from tests.upstreams.ollama import OllamaDouble, Script, answers, done, line, ollama_double, refuses, says
from tests.waiting import until


@asynccontextmanager
async def two(directory: Path) -> AsyncIterator[tuple[Box, OllamaDouble, OllamaDouble]]:
    async with ollama_double() as one, ollama_double() as other, box(directory, one.url, other.url) as made:
        yield made, one, other


@asynccontextmanager
async def behind_a_wire(
    directory: Path, script: Script, *, stays: bool = True
) -> AsyncIterator[tuple[Box, Wire, asyncio.Server]]:
    """A gateway with a machine behind a wire, and another one that stays."""
    async with (
        ollama_double(default=script) as one,
        ollama_double(default=script) as other,
        wire(one.url) as (goes, server),
        box(directory, *(goes.url, other.url)[: 1 + stays]) as gateway,
    ):
        yield gateway, goes, server


def machine(gateway: Box, at: OllamaDouble | Wire) -> Machine:
    (found,) = [one for one in gateway.app.registry.snapshot() if one.url == at.url]
    return found


def resting(gateway: Box, at: OllamaDouble) -> bool:
    return gateway.app.pipeline.scheduler.resting(machine(gateway, at).id)


async def attempts(gateway: Box, answer: httpx.Response) -> int:
    return (await gateway.certificate(answer.headers["x-pulse-proof"]))["egress"]["attempts"]


async def test_calls_go_where_the_fewest_are(tmp_path: Path):
    gate = asyncio.Event()
    async with two(tmp_path) as (gateway, one, other):
        one.default = other.default = says(gate, line("x"), done())
        running = [asyncio.ensure_future(gateway.chat()) for _ in range(6)]
        await until(lambda: one.active + other.active == 6)
        assert (one.active, other.active) == (3, 3)
        gate.set()
        assert [answer.status_code for answer in await asyncio.gather(*running)] == [200] * 6


class TestKilled:
    async def test_under_load_calls_without_content_all_succeed_and_others_end_honestly(self, tmp_path: Path):
        """Both machines answer all the time, and one of them goes, with every connection to it."""
        slow = says(0.01, line("Hel"), 0.02, line("lo"), done())
        async with behind_a_wire(tmp_path, slow) as (gateway, goes, server):
            seen: list[tuple[bool, httpx.Response]] = []

            async def keep_calling(stream: bool) -> None:
                for _ in range(12):
                    answer = await gateway.chat(stream=stream)
                    seen.append((stream, answer))

            calling = [asyncio.ensure_future(keep_calling(stream)) for stream in (False, True) * 3]
            await until(lambda: len(seen) > 15 and goes.calls > 0)
            server.close()
            goes.cut()
            await asyncio.gather(*calling)
            assert len(seen) == 72
            broken = 0
            for stream, answer in seen:
                assert answer.status_code == 200
                whole = "[DONE]" in answer.text if stream else '"content":"Hello"' in answer.text
                said = await gateway.certificate(answer.headers["x-pulse-proof"])
                if whole:
                    assert said["response"]["ending"] == "complete"
                    continue
                broken += 1
                assert stream
                assert '"content":"Hel"' in answer.text  # it had content, so that nobody else could go on
                assert '"error"' in answer.text
                assert said["response"]["ending"] == "failed"
            assert broken <= 3
            assert not machine(gateway, goes).healthy or machine(gateway, goes).suspect
            assert gateway.app.pipeline.scheduler.in_flight(machine(gateway, goes).id) == 0

    async def test_in_its_answer_it_ends_a_stream_as_a_failure(self, tmp_path: Path):
        async with behind_a_wire(tmp_path, says(line("Hel"), asyncio.Event()), stays=False) as (gateway, goes, _):
            async with gateway.http.stream("POST", CHAT, content=gateway.body(stream=True)) as answer:
                pieces = answer.aiter_text()
                text = await anext(pieces)
                while "Hel" not in text:
                    text += await anext(pieces)
                goes.cut()
                text += "".join([piece async for piece in pieces])
            assert "[DONE]" not in text
            assert '"error"' in text
            assert (await gateway.ledger(answer.headers["x-pulse-proof"])).ending == "failed"


class TestSleeping:
    """It takes connections and answers nothing."""

    @pytest.fixture(autouse=True)
    def _hurried(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("appliance.cluster.asking.PROBE_TIMEOUT_SECONDS", 0.15)

    async def test_it_costs_other_calls_nothing(self, tmp_path: Path):
        async with behind_a_wire(tmp_path, answers("x")) as (gateway, sleeps, _):
            sleeps.sleep()
            gateway.app.registry.probe_soon(machine(gateway, sleeps).id)
            await until(lambda: not machine(gateway, sleeps).healthy)
            assert machine(gateway, sleeps).why == "it did not answer in time"
            async with asyncio.timeout(2):
                for _ in range(10):
                    answer = await gateway.chat()
                    assert (answer.status_code, await attempts(gateway, answer)) == (200, 1)
            sleeps.wake()
            gateway.app.registry.probe_soon(machine(gateway, sleeps).id)
            await until(lambda: machine(gateway, sleeps).healthy)

    async def test_it_does_not_keep_the_gateway_from_starting(self, tmp_path: Path):
        async with ollama_double() as one, ollama_double() as stays, wire(one.url) as (sleeps, _):
            sleeps.sleep()
            async with asyncio.timeout(2), box(tmp_path, sleeps.url, stays.url) as gateway:
                assert (await gateway.chat()).status_code == 200
                assert not machine(gateway, sleeps).healthy

    @pytest.mark.parametrize("stream", [False, True])
    async def test_a_call_that_was_there_when_it_fell_asleep_goes_on_elsewhere(self, tmp_path: Path, stream: bool):
        """When its limit for the first byte is over: until then it could be loading a model."""
        gate = asyncio.Event()
        async with (
            ollama_double(default=says(gate)) as one,
            ollama_double() as stays,
            wire(one.url) as (sleeps, _),
            box(tmp_path, sleeps.url, stays.url, SYNAPSE_TIMEOUTS__FIRST_BYTE="0.3") as gateway,
        ):
            running = [asyncio.ensure_future(gateway.chat(stream=stream)) for _ in range(2)]
            await until(lambda: one.active == 1)
            sleeps.sleep()
            found = await asyncio.gather(*running)
            assert [answer.status_code for answer in found] == [200, 200]
            assert sorted([await attempts(gateway, answer) for answer in found]) == [1, 2]


class TestBreaker:
    @pytest.mark.parametrize(
        "refusal", [refuses(503, "busy"), refuses(500, "broken"), refuses(429, "slow down"), says("die")]
    )
    async def test_a_machine_that_fails_at_once_does_not_look_idle(
        self, tmp_path: Path, refusal: Script, monkeypatch: pytest.MonkeyPatch
    ):
        async with two(tmp_path) as (gateway, bad, good):
            bad.default = refusal
            for _ in range(30):
                assert (await gateway.chat()).status_code == 200
                await until(lambda: not machine(gateway, bad).suspect)
            assert 1 <= len(bad.received) <= breaker.FAILURES
            assert resting(gateway, bad)
            assert not resting(gateway, good)

            # It recovers by one call at a time.
            monkeypatch.setattr(breaker, "OPEN_SECONDS", 0.0)
            gate, before = asyncio.Event(), len(bad.received)
            bad.default = says(gate, line("I"), done())
            good.default = answers("you")
            running = [asyncio.ensure_future(gateway.chat()) for _ in range(3)]
            await until(lambda: len(good.received) >= 30 + 2)
            for _ in range(10):
                assert (await gateway.chat()).status_code == 200
            assert len(bad.received) == before + 1
            gate.set()
            assert [answer.status_code for answer in await asyncio.gather(*running)] == [200] * 3
            assert not resting(gateway, bad)

    async def test_a_trial_that_fails_costs_its_caller_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(breaker, "OPEN_SECONDS", 0.0)
        async with two(tmp_path) as (gateway, bad, _):
            bad.default = refuses(503, "busy")
            for _ in range(20):
                assert (await gateway.chat()).status_code == 200
            assert resting(gateway, bad)

    async def test_the_only_machine_is_asked_even_so(self, gateway: Box, ollama: OllamaDouble):
        """To refuse every call for half a minute after three failures would be worse than a try."""
        ollama.default = refuses(500, "broken")
        for _ in range(5):
            answer = await gateway.chat()
            assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_error")
        ollama.default = answers("well")
        assert (await gateway.chat()).status_code == 200
        assert not resting(gateway, ollama)

    async def test_what_the_caller_is_to_blame_for_speaks_against_nobody(self, gateway: Box, ollama: OllamaDouble):
        ollama.default = refuses(400, "no")
        for _ in range(5):
            assert (await gateway.chat()).status_code == 400
        assert not resting(gateway, ollama)

    async def test_a_machine_that_loses_the_model_is_not_held_against_it(self, tmp_path: Path):
        async with two(tmp_path) as (gateway, bad, _):
            bad.default = refuses(404, "model 'double' not found")
            for _ in range(10):
                assert (await gateway.chat()).status_code == 200
            assert not resting(gateway, bad)

    @pytest.mark.parametrize("script", [says(asyncio.Event()), says(line("Hel"), asyncio.Event())])
    async def test_clients_that_leave_speak_against_nobody(self, gateway: Box, ollama: OllamaDouble, script: Script):
        ollama.default = script
        for n in range(5):
            call = asyncio.ensure_future(gateway.chat(stream=True))
            await until(lambda: ollama.active == 1)
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call
            await until(lambda n=n: ollama.left == n + 1)
        await until(lambda: gateway.app.drain.in_flight == 0)
        assert not resting(gateway, ollama)
        assert gateway.app.pipeline.scheduler.in_flight(machine(gateway, ollama).id) == 0
        ollama.default = answers("well")
        assert (await gateway.chat()).status_code == 200


class TestSensitiveOnOpen:
    """A machine that is known by its address alone gets no sensitive call unless the administrator says so."""

    @pytest.fixture(autouse=True)
    def _lan(self, monkeypatch: pytest.MonkeyPatch):
        names_lead_here(monkeypatch)

    @pytest.mark.parametrize("model", ["pulse-sensitive", "pulse-auto+sensitive"])
    async def test_it_is_refused_where_there_is_no_other(self, tmp_path: Path, ollama: OllamaDouble, model: str):
        async with box(tmp_path, by_name(ollama.url)) as gateway:
            refused = await gateway.chat(model=model)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "local_lane_unavailable")
            assert "known by their address only" in refused.json()["error"]["message"]
            assert "sensitive-on-open" in refused.json()["error"]["message"]
            said = await gateway.certificate(refused.headers["x-pulse-proof"])
            assert (said["response"]["ending"], said["egress"]["attempts"]) == ("refused", 0)
            assert ollama.received == []
            other = await gateway.chat()
            said = await gateway.certificate(other.headers["x-pulse-proof"])
            assert (other.status_code, said["egress"]["node"]["trust"]) == (200, "open")

            await gateway.admin.set_sensitive_on_open("allow")
            assert (await gateway.chat(model=model)).status_code == 200
            await gateway.admin.set_sensitive_on_open("refuse")
            assert (await gateway.chat(model=model)).status_code == 503

    async def test_this_very_machine_is_not_open(self, gateway: Box):
        answer = await gateway.chat(model="pulse-sensitive")
        said = await gateway.certificate(answer.headers["x-pulse-proof"])
        assert (answer.status_code, said["egress"]["node"]["trust"]) == (200, "loopback")

    async def test_beside_an_open_machine_it_goes_to_the_known_one_alone(self, tmp_path: Path):
        gate = asyncio.Event()
        async with (
            ollama_double() as known,
            ollama_double() as other,
            box(tmp_path, known.url, by_name(other.url)) as gateway,
        ):
            for _ in range(5):
                assert (await gateway.chat(model="pulse-sensitive")).status_code == 200
            # It waits there rather than goes where there is room.
            known.default = says(gate, line("x"), done())
            waiting = [asyncio.ensure_future(gateway.chat(model="pulse-sensitive")) for _ in range(5)]
            await until(lambda: gateway.app.pipeline.scheduler.waiting == 1)
            gate.set()
            assert [answer.status_code for answer in await asyncio.gather(*waiting)] == [200] * 5
            # And it fails there rather than goes where it may not.
            known.default = refuses(500, "broken")
            assert (await gateway.chat(model="pulse-sensitive")).status_code == 502
            assert other.received == []
            assert (await gateway.chat()).status_code == 200


async def test_a_machine_that_drains_ends_its_calls_and_gets_no_more(tmp_path: Path):
    async with ollama_double() as one, ollama_double() as drains, box(tmp_path, one.url) as gateway:
        added = await gateway.admin.add_node(NewNode(drains.url))
        await until(lambda: machine(gateway, drains).healthy)
        gate = asyncio.Event()
        one.default = drains.default = says(gate, line("x"), done())
        running = [asyncio.ensure_future(gateway.chat()) for _ in range(2)]
        await until(lambda: one.active == drains.active == 1)
        await gateway.admin.drain_node(added.id)
        gate.set()
        assert [answer.status_code for answer in await asyncio.gather(*running)] == [200, 200]
        for _ in range(5):
            assert (await gateway.chat()).status_code == 200
        assert len(drains.received) == 1
        await gateway.admin.resume_node(added.id)
        await asyncio.gather(*(gateway.chat() for _ in range(4)))
        assert len(drains.received) > 1
