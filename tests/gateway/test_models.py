from pathlib import Path

import openai
import pytest

from appliance.admin.policy_wire import NewProvider
from appliance.admin.wire import NewKey
from tests.box import Box, box


# model-addressing.md, "Discover addresses": the aliases, then the full model in force.
async def test_the_list(gateway: Box):
    said = (await gateway.http.get("/v1/models")).json()
    assert said["object"] == "list"
    assert [entry["id"] for entry in said["data"]] == ["pulse-auto", "pulse-sensitive", "pulse-agent", "double"]
    for entry in said["data"]:
        assert set(entry) == {"id", "object", "created", "owned_by"}
        assert (entry["object"], entry["owned_by"]) == ("model", "pulse-gateway")
        assert isinstance(entry["created"], int)


async def test_the_full_model_is_the_one_that_was_set(gateway: Box):
    await gateway.admin.set_model("full", "qwen3:8b")
    said = (await gateway.http.get("/v1/models")).json()
    assert [entry["id"] for entry in said["data"]][3:] == ["qwen3:8b"]


async def test_each_workspace_sees_the_full_model_that_its_own_calls_go_to(gateway: Box):
    await gateway.admin.put_provider(NewProvider("openai", "openai", key="sk-1", full="gpt-4o"))
    await gateway.admin.create_workspace("legal")
    await gateway.admin.set_allow_list(("openai", "ollama"), "legal")
    other = (await gateway.admin.create_key(NewKey("other", workspace="legal"))).secret
    theirs = (await gateway.http.get("/v1/models", headers={"authorization": f"Bearer {other}"})).json()
    ours = (await gateway.http.get("/v1/models")).json()
    assert [entry["id"] for entry in theirs["data"]][3:] == ["gpt-4o"]
    assert [entry["id"] for entry in ours["data"]][3:] == ["double"]


async def test_without_a_machine_the_aliases_remain(tmp_path: Path, unused_tcp_port: int):
    async with box(tmp_path / "state", f"http://127.0.0.1:{unused_tcp_port}") as gateway:
        said = (await gateway.http.get("/v1/models")).json()
    assert [entry["id"] for entry in said["data"]] == ["pulse-auto", "pulse-sensitive", "pulse-agent"]


async def test_one_model(gateway: Box):
    await gateway.admin.set_model("full", "hf.co/office/model:Q4")
    for model in ("pulse-auto", "hf.co/office/model:Q4"):
        assert (await gateway.http.get(f"/v1/models/{model}")).json()["id"] == model


@pytest.mark.parametrize("model", ["gpt-4o", "agent:nobody", "pulse-auto+cortex", "Pulse-Auto"])
async def test_ids_that_are_not_listed_are_404(gateway: Box, model: str):
    answer = await gateway.http.get(f"/v1/models/{model}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")


async def test_the_official_client_reads_both(gateway: Box):
    async with openai.AsyncOpenAI(
        base_url=gateway.url + "/v1", api_key=gateway.key, http_client=gateway.http
    ) as client:
        listed = [model.id async for model in await client.models.list()]
        assert listed[0] == "pulse-auto"
        assert (await client.models.retrieve("pulse-agent")).owned_by == "pulse-gateway"
