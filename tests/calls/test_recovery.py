import asyncio
from pathlib import Path

import pytest

from appliance.calls.pipeline import Exchange, Pipeline
from tests.box import Box, box, sha256
from tests.calls.outside import add
from tests.upstreams.ollama import OllamaDouble
from tests.upstreams.openai import openai_double


async def open_and_die(gateway: Box, monkeypatch: pytest.MonkeyPatch, body: bytes) -> str:
    """What is left of a call whose process died in the middle of it: its intent. Its proof id."""
    opened: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    really = Pipeline.open

    async def open_only(self: Pipeline, call: object) -> Exchange:
        exchange = await really(self, call)  # type: ignore[arg-type]  handed through
        opened.set_result(exchange.proof_id)
        raise RuntimeError("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr(Pipeline, "open", open_only)
        await gateway.chat(body)
    return await opened


async def test_a_call_left_open_is_closed_as_failed_at_the_next_start(
    tmp_path: Path, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
):
    async with box(tmp_path / "state", ollama.url) as gateway:
        finished = (await gateway.chat()).headers["x-pulse-proof"]
        body = gateway.body("cut off", model="gpt-4o+cortex", stream=True)
        opened = await open_and_die(gateway, monkeypatch, body)
        assert (await gateway.http.get(f"/v1/proofs/{opened}")).status_code == 404
    async with box(tmp_path / "state", ollama.url) as gateway:
        said = await gateway.certificate(opened)
        assert said["recovered"] is True
        assert said["response"] == {"ending": "failed"}
        assert said["request"] == {
            "endpoint": "/v1/chat/completions",
            "model": "gpt-4o+cortex",
            "sha256": sha256(body),
            "bytes": len(body),
            "stream": True,
        }
        assert said["address"] == {"kind": "auto", "cortex": True}
        assert "routing" not in said
        row = await gateway.ledger(opened)
        assert (row.ending, row.address, row.questions_milli, row.provider) == ("failed", "gpt-4o+cortex", 0, None)
        assert row.left_building == 0
        assert (await gateway.certificate(finished))["response"]["ending"] == "complete"
    async with box(tmp_path / "state", ollama.url) as gateway:
        assert [one.id for one in (await gateway.admin.proofs()).proofs].count(opened) == 1


@pytest.mark.parametrize(
    ("allow", "model", "left"),
    [
        (("ollama",), "pulse-auto", 0),
        (("openai",), "pulse-auto", 1),
        (("ollama", "openai"), "pulse-auto", 1),
        (("ollama", "openai"), "pulse-sensitive", 0),
    ],
)
async def test_a_call_left_open_has_left_where_it_could_have(
    tmp_path: Path,
    ollama: OllamaDouble,
    monkeypatch: pytest.MonkeyPatch,
    allow: tuple[str, ...],
    model: str,
    left: int,
):
    async with openai_double() as double, box(tmp_path / "state", ollama.url) as gateway:
        await add(gateway, double, "openai", active=False)
        await gateway.admin.set_allow_list(allow)
        opened = await open_and_die(gateway, monkeypatch, gateway.body(model=model))
    async with box(tmp_path / "state", ollama.url) as gateway:
        assert (await gateway.ledger(opened)).left_building == left


async def test_a_policy_that_is_not_that_of_the_call_proves_nothing(
    tmp_path: Path, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
):
    async with openai_double() as double, box(tmp_path / "state", ollama.url) as gateway:
        await add(gateway, double, "openai")
        opened = await open_and_die(gateway, monkeypatch, gateway.body())
        await gateway.admin.set_active("ollama")
    async with box(tmp_path / "state", ollama.url) as gateway:
        assert (await gateway.ledger(opened)).left_building == 1
