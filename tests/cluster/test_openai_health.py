"""Machines that speak like OpenAI, as vLLM, llama.cpp and Ray Serve LLM describe themselves."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from appliance.cluster import asking
from appliance.cluster.links import Link
from appliance.cluster.machine import Machine
from appliance.cluster.openai_health import MAX_SLOTS, OpenAIProber, described
from tests.upstreams.compatible import CompatibleDouble, Engine, compatible_double
from tests.upstreams.ollama import ollama_double

KEY = "sk-local-secret"


def machine(url: str = "http://127.0.0.1:1/v1", **more: Any) -> Machine:
    return replace(Machine("m", "m", url, "open", kind="openai-compatible"), **more)


class Asking:
    """A prober with this key, and the machines whose connections and keys it asked for."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.key = KEY
        self.seen: list[Machine] = []
        self._session = session

    async def probe(self, asked: Machine) -> Machine:
        return await OpenAIProber(self).probe(asked)  # type: ignore[arg-type]  its links, which are these

    def of(self, asked: Machine) -> Link:
        self.seen.append(asked)
        return Link(self._session, {"Authorization": f"Bearer {self.key}"} if self.key else {})


@pytest.fixture
async def asking_it() -> AsyncIterator[Asking]:
    async with aiohttp.ClientSession() as session:
        yield Asking(session)


def paths(double: CompatibleDouble) -> list[str]:
    return [one.path for one in double.asked]


async def test_vllm(asking_it: Asking):
    async with compatible_double("vllm", key=KEY, models=["org/a", "org/b:latest"], context=32_768) as double:
        before = machine(double.url)
        found = await asking_it.probe(before)
        assert paths(double) == ["/v1/models", "/version"]
        assert {(one.header("Authorization"), one.header("Connection")) for one in double.asked} == {
            (f"Bearer {KEY}", "close")
        }
        assert double.received == []
    assert (found.healthy, found.why, found.engine, found.slots) == (True, "", "vllm/0.11.0", 4)
    assert [(one.name, one.digest, one.parameters, one.context_length) for one in found.models] == [
        ("org/a", "openai:org/a", 0, 32_768),
        ("org/b:latest", "openai:org/b:latest", 0, 32_768),
    ]
    assert all(one.capabilities == {"completion", "tools", "vision"} for one in found.models)
    assert found.loaded == {"org/a": 32_768, "org/b": 32_768}
    assert all(one is before for one in asking_it.seen)


async def test_llama_cpp(asking_it: Asking):
    async with compatible_double("llama.cpp", key=KEY, models=["/models/a b.gguf"], slots=6, context=4096) as double:
        found = await asking_it.probe(machine(double.url))
        assert paths(double) == ["/v1/models", "/props"]
    assert (found.healthy, found.engine, found.slots) == (True, "llama.cpp/b6123", 6)
    (model,) = found.models
    # The context of a slot, not the one that the model was trained with.
    assert (model.name, model.parameters, model.context_length) == ("/models/a b.gguf", 8_030_261_312, 4096)
    assert found.loaded == {"/models/a b.gguf": 4096}


@pytest.mark.parametrize(("sees", "vision"), [(None, True), (True, True), (False, False)])
async def test_a_model_is_blind_only_where_the_server_says_so(asking_it: Asking, sees: bool | None, vision: bool):
    async with compatible_double("llama.cpp", sees=sees) as double:
        (model,) = (await asking_it.probe(machine(double.url))).models
    assert ("vision" in model.capabilities) is vision


async def test_ray_serve_which_has_nothing_but_its_list(asking_it: Asking):
    async with compatible_double("ray", key=KEY) as double:
        found = await asking_it.probe(machine(double.url + "/"))
        assert paths(double)[0] == "/v1/models"
        assert all(one.method == "GET" for one in double.asked)
    assert (found.healthy, found.engine, found.slots) == (True, "openai-compatible/unknown", 4)
    assert [(one.name, one.context_length) for one in found.models] == [("org/model", 8192)]


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp", "ray"])
@pytest.mark.parametrize("key", ["sk-wrong", ""])
async def test_a_key_that_is_refused(asking_it: Asking, engine: Engine, key: str):
    asking_it.key = key
    async with compatible_double(engine, key=KEY) as double:
        found = await asking_it.probe(machine(double.url))
    assert (found.healthy, found.why) == (False, "it refuses the key")


async def test_one_that_is_still_loading(asking_it: Asking):
    async with compatible_double("llama.cpp", lists_models=False) as double:
        found = await asking_it.probe(machine(double.url))
    assert (found.healthy, found.why) == (False, "it is still loading its model, or has too much to do")


async def test_one_without_models_is_well_and_says_so(asking_it: Asking):
    async with compatible_double(models=[]) as double:
        found = await asking_it.probe(machine(double.url))
    assert (found.healthy, found.why) == (True, "it has no models")


async def test_nobody_there(asking_it: Asking, unused_tcp_port: int):
    found = await asking_it.probe(machine(f"http://127.0.0.1:{unused_tcp_port}/v1"))
    assert (found.healthy, found.why) == (False, "no connection (connection refused)")


async def test_the_address_without_its_v1(asking_it: Asking):
    async with compatible_double() as double:
        found = await asking_it.probe(machine(double.url.removesuffix("/v1")))
    assert (found.healthy, found.why) == (False, "it does not answer like an OpenAI-compatible server")


@pytest.mark.parametrize("body", ["hello", "[]", "{}", '{"data": {}}', '{"object": "list", "data": null}'])
async def test_somebody_who_does_not_speak_like_openai(asking_it: Asking, body: str):
    async def hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
        writer.close()

    async with await asyncio.start_server(hello, "127.0.0.1", 0) as server:
        found = await asking_it.probe(machine(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"))
    assert (found.healthy, found.why) == (False, "it does not answer like an OpenAI-compatible server")


async def test_one_that_sleeps(asking_it: Asking, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(asking, "PROBE_TIMEOUT_SECONDS", 0.05)
    asleep = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asleep.wait()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        found = await asking_it.probe(machine(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"))
        asleep.set()
    assert (found.healthy, found.why) == (False, "it did not answer in time")


async def test_ollama_has_to_be_used_by_its_own_api(asking_it: Asking):
    """In this dialect a tag that Ollama serves from its cloud under a plain name could not be told from others."""

    async def models(_: web.Request) -> web.StreamResponse:
        return web.json_response({"object": "list", "data": [{"id": "a:latest", "owned_by": "library"}]})

    async with ollama_double(more=[web.get("/v1/models", models)]) as double:
        found = await asking_it.probe(machine(double.url + "/v1"))
    assert not found.healthy
    assert "without /v1" in found.why


def test_a_tag_of_ollama_s_cloud_is_not_local_behind_any_server():
    found = described(machine(), [{"id": "big:cloud"}, {"id": "small"}], {}, {})
    assert [(one.name, one.remote) for one in found.models] == [("big:cloud", True), ("small", False)]


def test_an_adapter_has_the_context_of_the_model_under_it():
    base = {"id": "base", "owned_by": "vllm", "max_model_len": 4096}
    found = described(machine(), [{"id": "adapter", "owned_by": "vllm", "parent": "base"}, base], {}, {})
    assert found.loaded == {"adapter": 4096, "base": 4096}


def test_a_context_that_nobody_states_is_unknown():
    found = described(machine(), [{"id": "a", "meta": {"n_ctx_train": 131_072}}], {}, {})
    assert (found.models[0].context_length, found.loaded) == (None, {"a": 0})


@pytest.mark.parametrize(
    ("entry", "props"),
    [
        ({"max_model_len": 2048}, {}),
        ({"meta": {"n_ctx": 2048}}, {}),
        ({"meta": {"n_ctx": 4096}}, {"default_generation_settings": {"n_ctx": 2048}}),
        ({"meta": {"n_ctx": 2048}}, {"default_generation_settings": {"n_ctx": 0}}),
        ({"metadata": {"max_request_context_length": 2048}}, {}),
    ],
)
def test_a_context_is_stated_in_one_of_several_places(entry: dict[str, Any], props: dict[str, Any]):
    found = described(machine(), [{"id": "a", **entry}], {}, props)
    assert (found.models[0].context_length, found.loaded) == (2048, {"a": 2048})


@pytest.mark.parametrize(("said", "slots"), [(8, 8), (0, 3), (-1, 3), ("8", 3), (None, 3), (10**9, MAX_SLOTS)])
def test_slots_are_believed_as_far_as_they_make_sense(said: object, slots: int):
    assert described(machine(slots=3), [], {}, {"total_slots": said}).slots == slots


@pytest.mark.parametrize(
    ("owner", "stated", "props", "engine"),
    [
        ("vllm", {"version": "0.6.3.post1"}, {}, "vllm/0.6.3.post1"),
        ("vllm", {"version": "<b>"}, {}, "vllm/unknown"),
        ("me", {"version": "1.2"}, {}, "openai-compatible/1.2"),
        ("llamacpp", {}, {"build_info": "b42-abc"}, "llama.cpp/b42"),
        ("llamacpp", {}, {"build_info": "a\nb"}, "llama.cpp/unknown"),
        ("me", {}, {"build_info": "b42"}, "llama.cpp/b42"),
        (None, {}, {}, "openai-compatible/unknown"),
    ],
)
def test_the_engine(owner: object, stated: dict[str, object], props: dict[str, object], engine: str):
    assert described(machine(), [{"id": "a", "owned_by": owner}], stated, props).engine == engine


def test_entries_that_make_no_sense_are_left_out_and_twice_is_once():
    odd = [{"id": 7}, {}, {"id": "a\x7fb"}, {"id": "x" * 300}, {"id": "a"}, {"id": "a"}]
    assert [one.name for one in described(machine(), odd, {}, {}).models] == ["a"]


MEMBERS = st.sampled_from(
    ["id", "owned_by", "parent", "meta", "metadata", "max_model_len", "n_ctx", "n_params", "total_slots", "build_info",
     "version", "modalities", "vision", "default_generation_settings"]
)  # fmt: skip
VALUES = st.sampled_from([None, True, 0, -1, 7, 2**70, 1.5, "", "a", "b1-2", "\x7f", "vllm", [], ["a"], {}])
ANSWER = st.dictionaries(MEMBERS, VALUES | st.dictionaries(MEMBERS, VALUES, max_size=3), max_size=5)


@given(st.lists(ANSWER, max_size=4), ANSWER, ANSWER)
def test_whatever_a_server_says_is_read(entries: list[dict[str, Any]], stated: dict[str, Any], props: dict[str, Any]):
    found = described(machine(), entries, stated, props)
    assert found.engine.isprintable()
    assert 1 <= found.slots <= MAX_SLOTS
    assert all(one.name.isprintable() and one.parameters >= 0 for one in found.models)
