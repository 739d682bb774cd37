import asyncio

import aiohttp
import pytest

from appliance.cluster import asking
from appliance.cluster.addresses import at_url
from appliance.cluster.health import OllamaProber, Shown, healthy, read_shown
from appliance.cluster.links import Links
from tests.upstreams.ollama import OllamaDouble

TAG = {
    "name": "m:latest",
    "digest": "d",
    "details": {"parameter_size": "1.5B"},
    "capabilities": ["completion", "tools"],
}


@pytest.fixture
async def prober():
    async with aiohttp.ClientSession() as session:
        yield OllamaProber(Links(lambda _: session))


async def test_a_machine_that_answers_is_well(prober: OllamaProber, ollama: OllamaDouble):
    ollama.models = ["a:latest", "b:7b"]
    found = await prober.probe(at_url(ollama.url))
    assert found.healthy
    assert found.engine == "ollama/0.32.15"
    assert [(model.name, model.parameters) for model in found.models] == [
        ("a:latest", 134_520_000),
        ("b:7b", 134_520_000),
    ]


async def test_a_model_is_what_show_says_and_is_asked_for_once(prober: OllamaProber, ollama: OllamaDouble):
    """Recorded from Ollama 0.32.15: /api/tags says "completion" of an embedding model, /api/show "embedding"."""
    ollama.capabilities = ["embedding"]
    for _ in range(2):
        found = await prober.probe(at_url(ollama.url))
        assert [(model.answers_chats, model.context_length) for model in found.models] == [(False, 8192)]
    assert ollama.shown == ["double:latest"]


def test_what_show_says_is_read_as_far_as_it_makes_sense():
    assert read_shown({"capabilities": ["completion"], "model_info": {"bert.context_length": 512}}) == Shown(
        frozenset({"completion"}), 512
    )
    for odd in ({}, {"capabilities": None, "model_info": None}, {"model_info": {"x.context_length": "many"}}):
        assert read_shown(odd) == Shown(frozenset(), None)


async def test_a_machine_without_models_is_well_and_says_so(prober: OllamaProber, ollama: OllamaDouble):
    ollama.models = []
    found = await prober.probe(at_url(ollama.url))
    assert (found.healthy, found.why) == (True, "it has no models")


async def test_nobody_there(prober: OllamaProber, unused_tcp_port: int):
    found = await prober.probe(at_url(f"http://127.0.0.1:{unused_tcp_port}"))
    assert (found.healthy, found.why) == (False, "no connection (connection refused)")


async def test_somebody_who_is_not_ollama(prober: OllamaProber):
    async def hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
        writer.close()

    async with await asyncio.start_server(hello, "127.0.0.1", 0) as server:
        found = await prober.probe(at_url(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"))
    assert (found.healthy, found.why) == (False, "it does not answer like Ollama")


async def test_a_machine_that_sleeps(prober: OllamaProber, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(asking, "PROBE_TIMEOUT_SECONDS", 0.05)
    asleep = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asleep.wait()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        found = await prober.probe(at_url(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"))
        asleep.set()
    assert (found.healthy, found.why) == (False, "it did not answer in time")


def test_answers_are_read_as_far_as_they_make_sense():
    tags = {
        "models": [
            TAG,
            {"name": 7},
            {**TAG, "name": "a\x7fb"},
            {**TAG, "name": "x" * 300},
            "nonsense",
            {**TAG, "name": "old", "capabilities": None, "details": None},
        ]
    }
    found = healthy(at_url("http://127.0.0.1:1"), {"version": "<b>"}, tags, {"models": [{"name": "m:latest"}, {}]})
    assert found.engine == "ollama/unknown"
    assert [(one.name, one.parameters, one.answers_chats) for one in found.models] == [
        ("m:latest", 1_500_000_000, True),
        ("old", 0, True),
    ]
    assert found.loaded == {"m": 0}


@pytest.mark.parametrize("size", ["9" * 400 + "B", "1e999", "", None, 7])
def test_a_size_that_is_no_number_of_parameters(size: object):
    tags = {"models": [{**TAG, "details": {"parameter_size": size}}]}
    found = healthy(at_url("http://127.0.0.1:1"), {"version": "0"}, tags, {"models": []})
    assert [one.parameters for one in found.models] == [0]


def test_a_model_that_the_machine_only_passes_on_to_a_cloud_is_marked():
    tags = {"models": [{**TAG, "remote_host": "https://ollama.com:443"}]}
    assert healthy(at_url("http://127.0.0.1:1"), {}, tags, {}).models[0].remote


@pytest.mark.parametrize("answer", [{}, {"models": None}, {"models": {}}, {"models": [None]}])
def test_an_odd_list_is_an_empty_one(answer: dict[str, object]):
    found = healthy(at_url("http://127.0.0.1:1"), {"version": "1"}, answer, answer)
    assert (found.healthy, found.models, found.why) == (True, (), "it has no models")
