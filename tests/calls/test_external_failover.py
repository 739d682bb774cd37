"""Who answers when Anthropic's stream fails before it has said anything, and what the ledger says of it.

Sources: routing.md ("Choice", 5); gateway.md ("Streaming": failover only before the first byte of content); Anthropic's
documentation ("Error events": `overloaded_error` may come as an event, where it would be a 529 otherwise).
"""

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from appliance.admin.ledger_wire import CallsQuestion, SumsQuestion, Which
from tests.box import Box, box
from tests.calls.outside import add
from tests.upstreams.anthropic import AnthropicDouble, Step, anthropic_double, says
from tests.upstreams.anthropic_events import error, event, ping, start, text
from tests.upstreams.ollama import OllamaDouble, refuses

OVERLOADED = error("overloaded_error", "Overloaded")


def opened(kind: str, **fields: object) -> bytes:
    return event("content_block_start", index=0, content_block={"type": kind, **fields})


SILENT: dict[str, tuple[Step, ...]] = {
    "overloaded at once": (OVERLOADED,),
    "overloaded": (start(), OVERLOADED),
    "overloaded after a ping": (start(), ping(), OVERLOADED),
    "overloaded in an empty text": (start(), opened("text", text=""), OVERLOADED),
    "overloaded after an empty text": (start(), text(), OVERLOADED),
    "overloaded in a call": (start(), opened("tool_use", id="toolu_1", name="f", input={}), OVERLOADED),
    "dies": (start(), ping(), "die"),
    "dies in an empty thought": (start(), opened("thinking", thinking="", signature=""), "die"),
    "ends": (start(), ping()),
}

Two = tuple[Box, AnthropicDouble, AnthropicDouble]


@pytest.fixture
async def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Two]:
    monkeypatch.setattr("appliance.lanes.retries.PAUSES", (0.0, 0.0))
    async with (
        anthropic_double() as first,
        anthropic_double() as second,
        box(tmp_path / "state", "http://127.0.0.1:1", APP_MODE="cloud") as gateway,
    ):
        await add(gateway, first, "anthropic", active=False)
        await add(gateway, second, "anthropic", name="rack", active=False)
        await gateway.admin.set_allow_list(("anthropic", "rack"))
        yield gateway, first, second


def body(stream: bool) -> bytes:
    said = [{"role": "user", "content": "Hi"}]
    return orjson.dumps({"model": "pulse-auto", "max_tokens": 50, "stream": stream, "messages": said})


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
@pytest.mark.parametrize("fault", SILENT)
async def test_the_next_one_answers(two: Two, fault: str, path: str, stream: bool):
    gateway, first, second = two
    first.default = says(*SILENT[fault])
    answer = await gateway.http.post(path, content=body(stream))
    assert answer.status_code == 200
    assert " there" in answer.text
    assert "error" not in answer.text
    # Whoever is busy is asked three times first, as where it says so by a status.
    asked = 3 if fault.startswith("overloaded") else 1
    assert (len(first.received), len(second.received)) == (asked, 1)
    assert answer.text.count("event: message_start") == int(stream and path == "/v1/messages")
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert said["routing"]["reason"].endswith("after anthropic/claude-double-small failed")


@pytest.mark.parametrize("fault", [OVERLOADED, "die"])
async def test_what_has_begun_ends_with_the_fault(two: Two, fault: Step):
    gateway, first, second = two
    first.default = says(start(), text("Hel"), fault)
    answer = await gateway.http.post("/v1/messages", content=body(True))
    assert "event: error" in answer.text
    assert "message_stop" not in answer.text
    assert second.received == []


class TestWhatLeftTheBuilding:
    """The ledger names who answered last, and tells all the same that a call was sent outside before, or after."""

    @pytest.fixture
    async def office(
        self, tmp_path: Path, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
    ) -> AsyncIterator[tuple[Box, AnthropicDouble]]:
        """A gateway with one provider and a machine of its own, which the policy lets follow each other."""
        monkeypatch.setattr("appliance.lanes.retries.PAUSES", (0.0, 0.0))
        async with anthropic_double() as double, box(tmp_path / "state", ollama.url) as gateway:
            await add(gateway, double, "anthropic", active=False)
            yield gateway, double

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
    @pytest.mark.parametrize("fault", SILENT)
    async def test_a_machine_answers_what_a_provider_was_sent(
        self, office: tuple[Box, AnthropicDouble], ollama: OllamaDouble, fault: str, stream: bool
    ):
        gateway, double = office
        await gateway.admin.set_allow_list(("anthropic", "ollama"))
        double.default = says(*SILENT[fault])
        answer = await gateway.http.post("/v1/messages", content=body(stream))
        assert (answer.status_code, len(ollama.received)) == (200, 1)
        assert b"Hi" in double.received[0]
        row = await gateway.ledger(answer.headers["x-pulse-proof"])
        assert (row.provider, row.ending, row.left_building) == ("ollama", "complete", 1)
        assert row.node is not None

    async def test_a_provider_answers_what_a_machine_did_not(
        self, office: tuple[Box, AnthropicDouble], ollama: OllamaDouble
    ):
        gateway, _ = office
        await gateway.admin.set_allow_list(("ollama", "anthropic"))
        ollama.default = refuses(500, "broken")
        answer = await gateway.chat(gateway.body("word " * 500))
        row = await gateway.ledger(answer.headers["x-pulse-proof"])
        assert (row.provider, row.left_building, len(ollama.received) > 0) == ("anthropic", 1, True)

    async def test_the_api_is_asked_for_it(self, office: tuple[Box, AnthropicDouble]):
        gateway, double = office
        await gateway.admin.set_allow_list(("anthropic", "ollama"))
        answered = [await gateway.chat()]
        double.default = says("die")
        answered += [await gateway.chat(), await gateway.chat(gateway.body(model="pulse-sensitive"))]
        outside, failed_over, stayed = (answer.headers["x-pulse-proof"] for answer in answered)
        left = (await gateway.admin.calls(CallsQuestion(Which(left=True)))).calls
        assert [(one.proof_id, one.provider) for one in left] == [(failed_over, "ollama"), (outside, "anthropic")]
        others = (await gateway.admin.calls(CallsQuestion(Which(left=False)))).calls
        assert [one.proof_id for one in others] == [stayed]
        sums = (await gateway.admin.sums(SumsQuestion(Which(), "left"))).sums
        assert [(one.group, one.calls) for one in sums] == [("stayed", 1), ("left", 2)]
