"""An on-premise server that speaks like OpenAI, as one more machine (cluster.md, "Node agent and trust")."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from appliance.admin.node_wire import NewNode
from tests.box import Box, box
from tests.upstreams.compatible import CompatibleDouble, compatible_double
from tests.upstreams.openai import answers, calls
from tests.waiting import until

KEY = "sk-of-the-rack"
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}


@dataclass
class Office:
    gateway: Box
    rack: CompatibleDouble


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    """One machine, which an administrator has added by its address."""
    async with AsyncExitStack() as stack:
        rack = await stack.enter_async_context(compatible_double("vllm", key=KEY))
        gateway = await stack.enter_async_context(box(tmp_path / "state"))
        added = await gateway.admin.add_node(NewNode(rack.url, kind="openai-compatible", name="rack", key=KEY))
        assert added.state in ("admitted", "active")
        await until(lambda: any(one.healthy for one in gateway.app.registry.snapshot()))
        yield Office(gateway, rack)


def tool_call(body: dict[str, Any]) -> tuple[str, Any]:
    called = body["choices"][0]["message"]["tool_calls"][0]["function"]
    return called["name"], orjson.loads(called["arguments"])


async def test_it_answers_and_its_certificate_says_that_the_call_stayed(office: Office):
    office.rack.default = answers("Hel", "lo.")
    answer = await office.gateway.chat()
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"] == "Hello."
    assert answer.headers["x-pulse-provider"] == "ollama"
    egress = (await office.gateway.certificate(answer.headers["x-pulse-proof"]))["egress"]
    assert (egress["provider"], egress["local"]) == ("ollama", True)
    assert (egress["node"]["name"], egress["node"]["trust"]) == ("rack", "loopback")
    assert egress["node"]["engine"].startswith("vllm/")
    assert KEY not in answer.text


async def test_callers_of_the_other_dialect_get_a_stream(office: Office):
    office.rack.default = answers("Hel", "lo.")
    body = {"model": "pulse-auto", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
    answer = await office.gateway.http.post("/v1/messages", content=orjson.dumps(body))
    assert answer.status_code == 200, answer.text
    assert '"text":"Hel"' in answer.text
    assert answer.text.rstrip().endswith('data: {"type":"message_stop"}')


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_model_that_calls_no_tool_though_it_must_is_asked_again(office: Office, stream: bool):
    office.rack.scripts.extend([answers("Sunny."), calls("weather", '{"city": "Paris"}')])
    answer = await office.gateway.chat(tools=[TOOL], tool_choice="required", stream=stream)
    assert answer.status_code == 200, answer.text
    assert "Sunny" not in answer.text
    if stream:
        assert "weather" in answer.text
    else:
        assert tool_call(answer.json()) == ("weather", {"city": "Paris"})
    assert (await office.gateway.certificate(answer.headers["x-pulse-proof"]))["egress"]["attempts"] == 2


async def test_one_that_never_calls_it_is_no_success(office: Office):
    office.rack.default = answers("Sunny.")
    answer = await office.gateway.chat(tools=[TOOL], tool_choice="required")
    assert answer.status_code == 502
    assert "called no tool" in answer.json()["error"]["message"]


async def test_a_model_that_may_choose_need_not_call_one(office: Office):
    office.rack.default = answers("Sunny.")
    answer = await office.gateway.chat(tools=[TOOL])
    assert answer.json()["choices"][0]["message"]["content"] == "Sunny."
