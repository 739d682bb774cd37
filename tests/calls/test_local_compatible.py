"""Calls on a server of the house that speaks like OpenAI, in both dialects of callers: cluster.md, "Node agent"."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from appliance.admin.node_wire import NewNode
from tests.box import Box, box
from tests.calls.lan import by_name, names_lead_here
from tests.upstreams.compatible import CompatibleDouble, compatible_double
from tests.upstreams.ollama import ollama_double
from tests.upstreams.openai import Script, answers, calls, dies, refuses, says, text
from tests.waiting import until

KEY = "key-of-the-server"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
OPENAI_TOOL = {"type": "function", "function": {"name": "look", "parameters": CITY}}
ANTHROPIC_TOOL = {"name": "look", "input_schema": CITY}


@pytest.fixture(autouse=True)
def _lan(monkeypatch: pytest.MonkeyPatch):
    names_lead_here(monkeypatch)


@asynccontextmanager
async def served(
    directory: Path, *machines: str, script: Script | None = None
) -> AsyncIterator[tuple[Box, CompatibleDouble]]:
    """A gateway and a vLLM that was added by its name and has a key."""
    async with compatible_double("vllm", key=KEY) as double, box(directory, *machines) as gateway:
        if script is not None:
            double.default = script
        await gateway.admin.add_node(NewNode(by_name(double.url), "openai-compatible", "rack", KEY))
        await until(lambda: all(one.healthy for one in gateway.app.registry.snapshot()))
        yield gateway, double


def files_in(directory: Path) -> list[bytes]:
    return [path.read_bytes() for path in directory.rglob("*") if path.is_file()]


async def anthropic(gateway: Box, **fields: Any) -> Any:
    body = {"model": "pulse-auto", "max_tokens": 50, "messages": [{"role": "user", "content": "Hi"}], **fields}
    return await gateway.http.post("/v1/messages", content=orjson.dumps(body))


@pytest.mark.parametrize("stream", [False, True])
async def test_a_chat_in_the_openai_dialect(tmp_path: Path, stream: bool):
    async with served(tmp_path, script=answers("Hel", "lo")) as (gateway, double):
        answer = await gateway.chat(stream=stream)
        assert answer.status_code == 200
        if stream:
            assert "data: [DONE]" in answer.text
            assert '"content":"Hel"' in answer.text
        else:
            assert answer.json()["choices"][0]["message"]["content"] == "Hello"
            assert answer.json()["usage"]["prompt_tokens"] == 7
        sent = orjson.loads(double.bodies[0])
        assert (sent["model"], sent["messages"]) == ("org/model", [{"role": "user", "content": "Hi"}])

        said = await gateway.certificate(answer.headers["x-pulse-proof"])
        assert (said["egress"]["provider"], said["egress"]["local"]) == ("ollama", True)
        node = said["egress"]["node"]
        assert (node["name"], node["engine"], node["trust"]) == ("rack", "vllm/0.11.0", "open")
        assert said["response"]["ending"] == "complete"
        row = await gateway.ledger(answer.headers["x-pulse-proof"])
        assert (row.provider, row.node, row.cost_micro) == ("ollama", node["id"], 0)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_chat_in_the_anthropic_dialect(tmp_path: Path, stream: bool):
    async with served(tmp_path, script=answers("Hel", "lo")) as (gateway, _):
        answer = await anthropic(gateway, stream=stream)
        assert answer.status_code == 200
        if stream:
            assert "event: message_stop" in answer.text
        else:
            assert answer.json()["content"] == [{"type": "text", "text": "Hello"}]
        said = await gateway.certificate(answer.headers["x-pulse-proof"])
        assert (said["egress"]["provider"], said["egress"]["node"]["engine"]) == ("ollama", "vllm/0.11.0")


@pytest.mark.parametrize("stream", [False, True])
async def test_tools_in_the_openai_dialect(tmp_path: Path, stream: bool):
    async with served(tmp_path, script=calls("look", '{"city": "Paris"}')) as (gateway, double):
        answer = await gateway.chat(tools=[OPENAI_TOOL], stream=stream)
        assert answer.status_code == 200
        if stream:
            assert '"finish_reason":"tool_calls"' in answer.text
            assert '"name":"look"' in answer.text
        else:
            (call,) = answer.json()["choices"][0]["message"]["tool_calls"]
            assert call["function"]["name"] == "look"
            assert orjson.loads(call["function"]["arguments"]) == {"city": "Paris"}
        (tool,) = orjson.loads(double.bodies[0])["tools"]
        assert tool["function"]["parameters"]["required"] == ["city"]


@pytest.mark.parametrize("stream", [False, True])
async def test_tools_in_the_anthropic_dialect_there_and_back(tmp_path: Path, stream: bool):
    async with served(tmp_path, script=calls("look", '{"city": "Paris"}')) as (gateway, double):
        answer = await anthropic(gateway, tools=[ANTHROPIC_TOOL], stream=stream)
        assert answer.status_code == 200
        if stream:
            assert '"type":"tool_use"' in answer.text
            assert '"stop_reason":"tool_use"' in answer.text
            return
        (block,) = answer.json()["content"]
        assert (block["name"], block["input"], answer.json()["stop_reason"]) == ("look", {"city": "Paris"}, "tool_use")
        double.default = answers("Sunny.")
        result = {"type": "tool_result", "tool_use_id": block["id"], "content": "sun"}
        turns = [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [block]},
            {"role": "user", "content": [result]},
        ]
        again = await anthropic(gateway, messages=turns, tools=[ANTHROPIC_TOOL])
        assert again.json()["content"] == [{"type": "text", "text": "Sunny."}]
        called, returned = orjson.loads(double.bodies[1])["messages"][1:]
        assert called["tool_calls"][0]["id"] == returned["tool_call_id"]


async def test_its_key_goes_to_it_alone_and_into_no_file(tmp_path: Path):
    async with ollama_double() as ollama, served(tmp_path, ollama.url) as (gateway, double):
        for _ in range(8):
            await gateway.chat()
        assert all(dict(one.headers)[b"Authorization"] == f"Bearer {KEY}".encode() for one in double.received)
        assert not any("Authorization" in headers for headers in ollama.headers)
    assert not any(KEY.encode() in content for content in files_in(tmp_path))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("broken", [dies(), refuses(503, {"error": {"message": "busy"}}), says()])
async def test_ollama_takes_over_where_it_fails(tmp_path: Path, broken: Script, stream: bool):
    async with (
        ollama_double(models=["org/model"]) as ollama,
        served(tmp_path, ollama.url, script=broken) as (gateway, bad),
    ):
        for _ in range(20):
            answer = await gateway.chat(stream=stream)
            assert answer.status_code == 200
            said = await gateway.certificate(answer.headers["x-pulse-proof"])
            assert said["response"]["ending"] == "complete"
            assert said["egress"]["node"]["engine"].startswith("ollama/")
            if said["egress"]["attempts"] == 2:
                break
        assert bad.received


async def test_one_that_dies_in_its_answer_is_no_clean_end(tmp_path: Path):
    async with served(tmp_path, script=says(text("Hel"), "die")) as (gateway, _):
        answer = await gateway.chat(stream=True)
        assert '"error"' in answer.text
        assert "[DONE]" not in answer.text
        assert (await gateway.ledger(answer.headers["x-pulse-proof"])).ending == "failed"


async def test_a_wrong_key_is_told_to_the_administrator_and_the_caller(tmp_path: Path):
    async with served(tmp_path) as (gateway, double):
        double.key = "another"
        answer = await gateway.chat()
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_error")
        assert "refuses the key" in answer.json()["error"]["message"]
        assert KEY not in answer.text
        (node,) = (await gateway.admin.nodes()).nodes
        gateway.app.registry.probe_soon(node.id)
        await until(lambda: not gateway.app.registry.snapshot()[0].healthy)
        assert (await gateway.admin.nodes()).nodes[0].why == "it refuses the key"
        # Added again with the right one it answers, and without a restart.
        await gateway.admin.add_node(NewNode(by_name(double.url), "openai-compatible", "rack", "another"))
        await until(lambda: gateway.app.registry.snapshot()[0].healthy)
        assert (await gateway.chat()).status_code == 200


async def test_sensitive_calls_are_kept_off_it(tmp_path: Path):
    async with served(tmp_path) as (gateway, double):
        assert (await gateway.chat(model="pulse-sensitive")).status_code == 503
        assert double.received == []
        await gateway.admin.set_sensitive_on_open("allow")
        assert (await gateway.chat(model="pulse-sensitive")).status_code == 200
