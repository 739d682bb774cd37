import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from appliance.admin import wire
from appliance.admin.ledger_wire import SumsQuestion, Which
from appliance.calls import backlog, pipeline
from appliance.calls.costs import Costs
from appliance.calls.pipeline import Exchange
from appliance.proofs.notary import Notary
from appliance.store import certificates, ledger, log_entries
from tests.box import CHAT, Box, box
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


@pytest.mark.parametrize("fails", [False, True], ids=["written", "refused"])
async def test_an_ending_that_nobody_waits_for_any_more_is_written_all_the_same(
    gateway: Box, monkeypatch: pytest.MonkeyPatch, fails: bool
):
    really, notary = Exchange.close, Notary.close
    refusals = [sqlite3.OperationalError("database or disk is full")] if fails else []

    def close(self: Notary, *arguments: Any, **fields: Any) -> Any:
        if refusals:
            raise refusals.pop()
        return notary(self, *arguments, **fields)

    async def left(self: Exchange, ending: Any, **fields: Any) -> None:
        closing = asyncio.ensure_future(really(self, ending, **fields))
        await asyncio.sleep(0)
        closing.cancel()
        await closing

    monkeypatch.setattr(Notary, "close", close)
    monkeypatch.setattr(Exchange, "close", left)
    monkeypatch.setattr(backlog, "RETRY_SECONDS", 0.01)
    key = (await gateway.admin.create_key(wire.NewKey("limited", scopes=("engine",), ceiling_milli=250))).secret
    with suppress(httpx.HTTPError):  # whether the client reads an answer is not the point
        await gateway.http.post(CHAT, content=gateway.body(), headers={"authorization": f"Bearer {key}"}, timeout=2)
    await eventually(lambda: gateway.read(lambda conn: not certificates.open_intents(conn)))
    monkeypatch.setattr(Exchange, "close", really)
    # It counts, and holds no more than it has used.
    assert await gateway.read(lambda conn: [row.questions_milli for row in ledger.newest(conn, 9)]) == [250]
    refused = await gateway.http.post(CHAT, content=gateway.body(), headers={"authorization": f"Bearer {key}"})
    assert refused.status_code == 402


async def eventually(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(10):
        while not await true():  # noqa: ASYNC110  the database tells nobody
            await asyncio.sleep(0.01)


async def test_a_fault_of_ours_at_the_end_holds_no_questions_for_ever(gateway: Box, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    key = (await gateway.admin.create_key(wire.NewKey("limited", scopes=("engine",), ceiling_milli=500))).secret
    headers = {"authorization": f"Bearer {key}"}
    with monkeypatch.context() as patched:
        patched.setattr(Notary, "close", broken)
        with suppress(httpx.HTTPError):
            assert (await gateway.http.post(CHAT, content=gateway.body(), headers=headers)).status_code == 500
    # What the broken one has used counts, and it holds nothing beside.
    statuses = [(await gateway.http.post(CHAT, content=gateway.body(), headers=headers)).status_code for _ in range(2)]
    assert statuses == [200, 402]


class TestAccounting:
    """synapse.md, "Charged after the fact": an accounting failure is logged and never fails a call."""

    async def test_a_row_that_cannot_be_written(
        self, gateway: Box, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ):
        insert = ledger.insert

        def broken(conn: sqlite3.Connection, row: ledger.LedgerRow) -> None:
            insert(conn, row)
            raise OverflowError

        monkeypatch.setattr(ledger, "insert", broken)
        answer = await gateway.chat()
        assert answer.status_code == 200
        proof_id = answer.headers["x-pulse-proof"]
        assert (await gateway.certificate(proof_id))["response"]["ending"] == "complete"
        assert await gateway.read(lambda conn: ledger.get(conn, proof_id)) is None
        assert f"the call {proof_id} is not in the ledger: OverflowError" in caplog.text
        # Half of what was written is in no sum either.
        assert (await gateway.admin.sums(SumsQuestion(Which()))).sums[0].calls == 0

    async def test_a_price_that_is_not_found(self, gateway: Box, monkeypatch: pytest.MonkeyPatch):
        def broken(*_: object) -> Costs:
            raise ZeroDivisionError

        monkeypatch.setattr(pipeline, "costs", broken)
        answer = await gateway.chat()
        assert answer.status_code == 200
        assert (await gateway.ledger(answer.headers["x-pulse-proof"])).cost_micro is None
