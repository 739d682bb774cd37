import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from aiohttp import web

from appliance.cluster.agent.forwarding import CONSOLE_HEADER
from appliance.cluster.connections import open_session
from appliance.cluster.links import Links
from appliance.cluster.machine import Machine
from appliance.lanes import pulling
from appliance.lanes.pulling import Progress, Puller, PullFailed
from tests.dialects.ollama.recorded import FOLDER, recorded
from tests.upstreams.ollama import (
    DOWNLOADED,
    SUCCESS,
    TEMPLATE,
    WEIGHTS,
    OllamaDouble,
    Step,
    progress,
    refuses,
    replays,
    says,
)
from tests.upstreams.serving import Double, listening
from tests.waiting import until

KEY = {"Authorization": "Bearer secret-of-the-machine"}


@pytest.fixture
async def links() -> AsyncIterator[Links]:
    made = Links(lambda tls: open_session(tls=tls))
    yield made
    await made.close()


def at(url: str, **fields: Any) -> Machine:
    return Machine("m", "m", url, **({"trust": "open"} | fields))


async def run(links: Links, machine: Machine, name: str = "qwen3:8b", **options: Any) -> list[Progress]:
    puller = Puller(links, connect_seconds=2, **({"idle_seconds": 5} | options))
    return [told async for told in puller.pull(machine, name)]


async def problem(links: Links, double: OllamaDouble, *steps: Step, **options: Any) -> PullFailed:
    double.pulls.append(says(*steps))
    with pytest.raises(PullFailed) as caught:
        await run(links, at(double.url), **options)
    return caught.value


async def test_a_pull_is_asked_for_as_a_stream_and_ends_with_success(links: Links, ollama: OllamaDouble):
    told = await run(links, at(ollama.url))
    assert told[-1] == Progress("success", 4_000_001_500, 4_000_001_500)
    assert ollama.pulled == [{"model": "qwen3:8b", "stream": True}]
    assert "qwen3:8b" in ollama.models


async def test_progress_is_told_as_it_comes(links: Links, ollama: OllamaDouble):
    gates = [asyncio.Event() for _ in DOWNLOADED]
    steps = [step for pair in zip(DOWNLOADED, gates, strict=True) for step in pair]
    ollama.pulls.append(ollama.fetches(*steps))
    seen: list[Progress] = []
    async with aclosing(Puller(links, connect_seconds=2).pull(at(ollama.url), "m")) as told:
        for gate in gates:
            seen.append(await anext(told))
            gate.set()
    gigabyte, part = 1_000_000_000, "pulling 2bada8a74506"
    assert seen == [
        Progress("pulling manifest", 0, 0),
        Progress(part, 0, 4 * gigabyte),
        Progress(part, gigabyte, 4 * gigabyte),
        Progress(part, 4 * gigabyte, 4 * gigabyte),
        Progress("pulling eeeeeeeeeeee", 4 * gigabyte + 1_500, 4 * gigabyte + 1_500),
        Progress("verifying sha256 digest", 4 * gigabyte + 1_500, 4 * gigabyte + 1_500),
        Progress("writing manifest", 4 * gigabyte + 1_500, 4 * gigabyte + 1_500),
    ]


async def test_of_many_lines_at_once_the_last_counts(links: Links, ollama: OllamaDouble):
    """Ollama sends 16 a second; whatever has piled up is read in one turn."""
    lines = [progress("p", WEIGHTS, total=100_000, completed=count) for count in range(1, 100_001)]
    ollama.pulls.append(ollama.fetches(b"".join(lines)))
    told = await run(links, at(ollama.url))
    assert told[-1] == Progress("success", 100_000, 100_000)
    assert len(told) < 10_000


@pytest.mark.parametrize("trust", ["loopback", "open"])
async def test_only_an_agent_is_told_that_the_console_asks(links: Links, ollama: OllamaDouble, trust: str):
    await run(links, at(ollama.url, trust=trust))
    assert CONSOLE_HEADER not in {name.lower() for name in ollama.headers[0]}
    await links.put("m", None, KEY)
    await run(links, at(ollama.url, trust="pinned"))
    sent = {name.lower(): value for name, value in ollama.headers[1].items()}
    assert (sent[CONSOLE_HEADER], sent["authorization"]) == ("1", KEY["Authorization"])


class TestSizes:
    @pytest.mark.parametrize(
        ("counts", "expected"),
        [
            ({"total": 10, "completed": 11}, (10, 10)),
            ({"total": -1, "completed": 1}, (0, 0)),
            ({"total": True}, (0, 0)),
            ({"total": "10"}, (0, 0)),
            ({"total": 1.5}, (0, 0)),
            ({"completed": 5}, (0, 0)),
            ({"total": 2**63}, (0, 0)),
            ({"total": 2**50, "completed": 3}, (3, 2**50)),
        ],
    )
    async def test_what_is_no_size_is_none(
        self, links: Links, ollama: OllamaDouble, counts: dict[str, Any], expected: tuple[int, int]
    ):
        ollama.pulls.append(ollama.fetches(progress("p", WEIGHTS, **counts)))
        told = (await run(links, at(ollama.url)))[-1]
        assert (told.completed, told.total) == expected

    @pytest.mark.parametrize("line", [b'{"status":5,"digest":7}\n', b'{"digest":"a\\u0000","total":9}\n', b"{}\n\n"])
    async def test_what_is_no_progress_changes_nothing(self, links: Links, ollama: OllamaDouble, line: bytes):
        ollama.pulls.append(ollama.fetches(line))
        assert (await run(links, at(ollama.url)))[-1] == Progress("success", 0, 0)

    async def test_files_without_end(self, links: Links, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(pulling, "MAX_LAYERS", 2)
        two = [progress("p", digest, total=1) for digest in (WEIGHTS, TEMPLATE, WEIGHTS)]
        ollama.pulls.append(ollama.fetches(*two))
        assert (await run(links, at(ollama.url)))[-1].total == 2
        error = await problem(links, ollama, *two, progress("p", "sha256:3", total=1))
        assert "more files" in error.message


class TestFailures:
    async def test_an_error_of_ollama_in_its_own_words(self, links: Links, ollama: OllamaDouble):
        said = b'{"error":"pull model manifest: file does not exist"}\n'
        error = await problem(links, ollama, progress("pulling manifest"), said)
        assert error.message == "The machine says: pull model manifest: file does not exist"
        assert "name" in error.advice

    @recorded
    async def test_a_machine_without_a_way_out(self, links: Links, ollama: OllamaDouble):
        ollama.pulls.append(replays(FOLDER / "98-pull-offline.response.http"))
        with pytest.raises(
            PullFailed, match=r"^The machine says: pull model manifest: .* network is unreachable\. Check"
        ):
            await run(links, at(ollama.url), "tinyllama")

    @pytest.mark.parametrize(
        ("script", "message"),
        [
            (refuses(400, "invalid model name"), "The machine says: invalid model name"),
            (refuses(403, "this machine forwards no such request"), "The machine says: this machine forwards no such"),
            (says(b"", status=500), "The machine answers with status 500."),
            (says(b"/elsewhere", status=302), "The machine says: /elsewhere"),
        ],
    )
    async def test_a_status_that_refuses(self, links: Links, ollama: OllamaDouble, script: Any, message: str):
        ollama.pulls.append(script)
        with pytest.raises(PullFailed) as caught:
            await run(links, at(ollama.url))
        assert caught.value.message.startswith(message)

    async def test_an_error_without_an_end_is_not_read_to_it(self, links: Links, ollama: OllamaDouble):
        ollama.pulls.append(says(*[b"x" * 60_000] * 3, 60.0, status=500))
        with pytest.raises(PullFailed, match="xxx"):
            await run(links, at(ollama.url))

    async def test_an_engine_that_fetches_nothing(self, links: Links):
        async def none(_: web.Request) -> web.StreamResponse:
            return web.Response(text="404 page not found", status=404)

        double = Double()
        async with listening(double, [web.post("/api/pull", none)], 0):
            with pytest.raises(PullFailed) as caught:
                await run(links, at(double.url))
        assert caught.value.message == "The engine of this machine cannot fetch models."
        assert "run Ollama in its place" in caught.value.advice

    @pytest.mark.parametrize(
        ("steps", "why"),
        [
            ((progress("writing manifest"),), "its answer ended before the model was there"),
            ((SUCCESS + progress("pulling manifest"),), "its answer ended before the model was there"),
            ((progress("pulling manifest"), "die"), "the connection broke"),
            ((b"<html>\n",), "it sent a line that is not a JSON object"),
            ((b"[1]\n",), "it sent a line that is not a JSON object"),
            ((b"x" * 40_000, 0.01, b"x" * 40_000), "it sent a line without an end"),
        ],
    )
    async def test_what_is_no_good_end(self, links: Links, ollama: OllamaDouble, steps: tuple[Step, ...], why: str):
        error = await problem(links, ollama, *steps)
        assert error.message == f"The machine broke off: {why}."
        assert "Pull again" in error.advice

    async def test_a_machine_that_falls_silent(self, links: Links, ollama: OllamaDouble):
        error = await problem(links, ollama, progress("verifying sha256 digest"), 60.0, idle_seconds=0.05)
        assert error.message == "The machine broke off: it said nothing for 0.05 s."
        await until(lambda: ollama.left == 1)

    async def test_a_machine_that_speaks_now_and_then_is_not_given_up(self, links: Links, ollama: OllamaDouble):
        steps = [step for count in range(6) for step in (0.25, progress("p", WEIGHTS, total=6, completed=count))]
        ollama.pulls.append(ollama.fetches(*steps))
        assert (await run(links, at(ollama.url), idle_seconds=1.2))[-1].status == "success"

    async def test_nobody_there(self, links: Links):
        with pytest.raises(PullFailed) as caught:
            await run(links, at("http://127.0.0.1:1"))
        assert caught.value.message == "The machine does not answer: no connection (connection refused)."

    async def test_one_that_answers_nothing(self, links: Links, ollama: OllamaDouble):
        async def never(_: web.Request) -> web.StreamResponse:
            await asyncio.sleep(60)
            raise AssertionError

        ollama.pulls.append(never)
        with pytest.raises(PullFailed, match="it did not answer in time"):
            await run(links, at(ollama.url), idle_seconds=0.05)

    async def test_a_machine_that_was_put_out(self, links: Links, ollama: OllamaDouble):
        with pytest.raises(PullFailed, match="does not answer"):
            await run(links, at(ollama.url, trust="pinned"))
        assert ollama.pulled == []

    async def test_one_that_is_put_out_meanwhile(self, links: Links, ollama: OllamaDouble):
        await links.put("m", None, {})
        ollama.pulls.append(says(progress("pulling manifest"), 60.0))
        async with aclosing(Puller(links, connect_seconds=2).pull(at(ollama.url), "m")) as told:
            await anext(told)
            await links.drop("m")
            with pytest.raises(PullFailed, match="the connection broke"):
                await anext(told)


async def test_who_leaves_makes_ollama_stop(links: Links, ollama: OllamaDouble):
    ollama.pulls.append(says(progress("pulling manifest"), 60.0))
    async with aclosing(Puller(links, connect_seconds=2).pull(at(ollama.url), "m")) as told:
        await anext(told)
    await until(lambda: ollama.left == 1)
