from pathlib import Path

import pytest

from appliance.calls.pipeline import Exchange
from appliance.store import certificates, log_entries
from tests.box import Box, box
from tests.upstreams.ollama import OllamaDouble, answers


async def test_the_intent_is_durable_before_the_machine_is_asked(gateway: Box, ollama: OllamaDouble):
    """proofs.md, "The log": intent first."""
    seen: list[int] = []

    async def script(request: object) -> object:
        with_intent = await gateway.read(lambda conn: len(certificates.open_intents(conn)))
        seen.append(with_intent)
        return await answers("Hello")(request)  # type: ignore[arg-type]  handed through

    ollama.default = script  # type: ignore[assignment]  handed through
    for stream in (False, True):
        assert (await gateway.chat(stream=stream)).status_code == 200
    assert seen == [1, 1]
    assert await gateway.read(lambda conn: certificates.open_intents(conn)) == []


async def test_every_call_has_an_intent_a_certificate_and_nothing_between(gateway: Box):
    before = await gateway.read(log_entries.next_index)
    answer = await gateway.chat()
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert (said["log"]["intent"], said["log"]["index"]) == (before, before + 1)
    assert await gateway.read(log_entries.next_index) == before + 2


async def test_a_call_ends_once(gateway: Box, monkeypatch: pytest.MonkeyPatch):
    exchanges: list[Exchange] = []
    really = Exchange.close

    async def twice(self: Exchange, ending: object, **fields: object) -> None:
        exchanges.append(self)
        await really(self, ending, **fields)  # type: ignore[arg-type]  handed through
        await really(self, "failed", status=500, response_sha256="0" * 64)

    monkeypatch.setattr(Exchange, "close", twice)
    answer = await gateway.chat()
    assert (await gateway.certificate(answer.headers["x-pulse-proof"]))["response"]["ending"] == "complete"
    assert len(exchanges) == 1


@pytest.mark.parametrize("mode", ["standard", "medical", "off"])
async def test_the_shields_mode_is_recorded(tmp_path: Path, ollama: OllamaDouble, mode: str):
    async with box(tmp_path / "state", ollama.url, SYNAPSE_SHIELD__MODE=mode) as gateway:
        answer = await gateway.chat()
        said = await gateway.certificate(answer.headers["x-pulse-proof"])
        assert said["egress"]["pii"] == {"mode": mode, "count": 0, "categories": []}
