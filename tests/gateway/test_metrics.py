"""What `GET /metrics` tells, and whom. Source: gateway.md, "Routes": loopback, or a key with the scope `metrics`."""

import asyncio
import sqlite3
import threading
from pathlib import Path

import httpx
import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families

from appliance.admin import wire
from appliance.calls import backlog
from appliance.errors import StorageUnavailable
from appliance.gateway import metrics as module
from appliance.gateway.metrics import is_loopback
from appliance.metering.metrics import CONTENT_TYPE, Metrics
from appliance.store import ledger, log_entries
from appliance.store.database import Database
from appliance.store.ledger import LedgerRow
from tests.box import Box
from tests.calls.leaks import VALUES, listen
from tests.calls.outside import outside
from tests.upstreams.ollama import OllamaDouble, answers, done, line, refuses, says
from tests.waiting import until

MESSAGES = "/v1/messages"
OFFICE = ("192.168.1.20", 50_000)
SAID = " and ".join(VALUES[category][0] for category in ("EMAIL", "IBAN")) + " and bob@example.net"

Found = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def scrape(gateway: Box, **headers: str) -> httpx.Response:
    """From loopback, without a key unless one is given."""
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http:
        return await http.get("/metrics", headers=headers)


async def office(gateway: Box, client: tuple[str, int] = OFFICE, **headers: str) -> httpx.Response:
    """From another machine."""
    transport = httpx.ASGITransport(gateway.app.gateway, client=client)
    async with httpx.AsyncClient(transport=transport, base_url=gateway.url) as http:
        return await http.get("/metrics", headers=headers)


async def found(gateway: Box) -> Found:
    answer = await scrape(gateway)
    assert (answer.status_code, answer.headers["content-type"]) == (200, CONTENT_TYPE)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def total(samples: Found, name: str, **labels: str) -> float:
    """Of all series of that name that have these labels."""
    wanted = labels.items()
    return sum(value for (each, has), value in samples.items() if each == name and wanted <= dict(has).items())


async def message(gateway: Box, text: str = "Hi", **fields: object) -> httpx.Response:
    body = {"model": "pulse-auto", "max_tokens": 99, "messages": [{"role": "user", "content": text}], **fields}
    return await gateway.http.post(MESSAGES, content=orjson.dumps(body))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_a_local_call_is_counted_with_its_machine(gateway: Box, ollama: OllamaDouble, dialect: str, stream: bool):
    ollama.default = answers("Hel", "lo")
    ask = gateway.chat if dialect == "openai" else lambda **fields: message(gateway, **fields)
    assert (await ask(stream=stream)).status_code == 200
    (machine,) = gateway.app.registry.snapshot()
    samples = await found(gateway)
    assert total(samples, "synapse_calls_total") == 1
    labels = {"task": "simple", "tier": "fast", "provider": "ollama", "node": machine.id}
    assert total(samples, "synapse_calls_total", dialect=dialect, ending="complete", **labels) == 1
    assert total(samples, "synapse_tokens_total", provider="ollama", direction="prompt") == 7
    assert total(samples, "synapse_tokens_total", provider="ollama", direction="completion") == 2
    assert total(samples, "synapse_questions_total") == 0.25
    assert total(samples, "synapse_first_token_seconds_count", provider="ollama") == 1
    assert total(samples, "synapse_call_duration_seconds_count", provider="ollama") == 1
    assert total(samples, "synapse_certificate_log_entries") == await gateway.read(log_entries.next_index) > 2
    assert total(samples, "synapse_calls_in_flight") == 0


async def test_a_failed_call_is_counted_as_failed_and_free(gateway: Box, ollama: OllamaDouble):
    ollama.default = refuses(500, "broken")
    assert (await gateway.chat()).status_code == 502
    samples = await found(gateway)
    assert total(samples, "synapse_calls_total", ending="failed", provider="ollama") == 1
    assert total(samples, "synapse_questions_total") == 0
    assert total(samples, "synapse_first_token_seconds_count") == 0
    assert total(samples, "synapse_call_duration_seconds_count") == 1


async def test_a_call_that_asked_nobody_has_no_provider(gateway: Box):
    await gateway.admin.set_model("full", "absent")
    assert (await gateway.chat()).status_code == 503
    samples = await found(gateway)
    assert total(samples, "synapse_calls_total", ending="refused", provider="-", node="-") == 1
    assert total(samples, "synapse_call_duration_seconds_count") == 0


async def test_a_call_is_in_flight_and_then_cancelled(gateway: Box, ollama: OllamaDouble):
    ollama.default = says(line("Hel"), 60.0, done())
    async with gateway.http.stream("POST", "/v1/chat/completions", content=gateway.body(stream=True)) as answer:
        chunks = answer.aiter_raw()  # one that nobody holds on to is closed, and the call with it
        await anext(chunks)
        assert total(await found(gateway), "synapse_calls_in_flight") == 1
    await until(lambda: not gateway.app.drain.in_flight)
    samples = await found(gateway)
    assert total(samples, "synapse_calls_in_flight") == 0
    assert total(samples, "synapse_calls_total", ending="cancelled") == total(samples, "synapse_calls_total") == 1


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_masked_call_is_counted_without_a_word_of_it(tmp_path: Path, kind: str, dialect: str, stream: bool):
    async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
        listen(double)
        text = f"Write to {SAID}."
        ask = gateway.chat(text=text, stream=stream) if dialect == "openai" else message(gateway, text, stream=stream)
        answer = await ask
        assert (answer.status_code, "bob@example.net" in answer.text) == (200, True)
        samples = await found(gateway)
        assert total(samples, "synapse_calls_total", dialect=dialect, provider=kind, node="-", ending="complete") == 1
        masked = {dict(has)["category"]: n for (name, has), n in samples.items() if name.startswith("synapse_masked")}
        assert masked == {"EMAIL": 2, "IBAN": 1}
        row = await gateway.ledger(answer.headers["x-pulse-proof"])
        assert sum(masked.values()) == row.masked
        assert total(samples, "synapse_questions_total", provider=kind) == row.questions_milli / 1000 > 0
        told = (await scrape(gateway)).text
        row_said = [row.proof_id, row.model or "", "pulse-auto", gateway.key, double.url, "127.0.0.1"]
        for secret in [*SAID.split(" and "), *row_said, "key_", "usr_", "ws_"]:
            assert secret not in told, secret


async def test_what_a_caller_writes_makes_no_series(gateway: Box):
    await gateway.chat()
    before = {series for series in await found(gateway) if not series[0].endswith("_bucket")}
    for start in range(0, 200, 20):
        asked = (gateway.chat(model=f"model-{n}", user=f"user-{n}") for n in range(start, start + 20))
        assert {answer.status_code for answer in await asyncio.gather(*asked)} == {200}
    samples = await found(gateway)
    assert {series for series in samples if not series[0].endswith("_bucket")} == before
    assert total(samples, "synapse_calls_total") == 201


async def test_an_ending_that_waits_is_told_and_counted_when_it_is_written(
    gateway: Box, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(backlog, "RETRY_SECONDS", 0.01)
    really, full = Database.write, [False]

    async def unwilling(self: Database, job: object) -> object:
        if full[0]:
            raise StorageUnavailable("The call could not be recorded.", advice="Free disk space.")
        full[0] = getattr(job, "__name__", "") == "<lambda>"  # from the intent on
        return await really(self, job)  # type: ignore[arg-type]  handed through

    monkeypatch.setattr(Database, "write", unwilling)
    assert (await gateway.chat()).status_code == 503
    samples = await found(gateway)
    assert total(samples, "synapse_writer_backlog", kind="endings") == 1
    assert total(samples, "synapse_calls_total") == 0
    monkeypatch.setattr(Database, "write", really)
    async with asyncio.timeout(5):
        while not total(samples, "synapse_calls_total"):
            samples = await found(gateway)
    samples = await found(gateway)
    assert total(samples, "synapse_calls_total", ending="failed") == 1
    assert total(samples, "synapse_writer_backlog") == 0


@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_whose_client_leaves_while_its_ending_is_written_counts_once(
    gateway: Box, monkeypatch: pytest.MonkeyPatch, stream: bool
):
    begun, go = threading.Event(), threading.Event()
    really = ledger.insert

    def slow(conn: sqlite3.Connection, row: LedgerRow) -> None:
        begun.set()
        go.wait(5)
        really(conn, row)

    monkeypatch.setattr(ledger, "insert", slow)
    asking = asyncio.ensure_future(gateway.chat(stream=stream))
    await until(begun.is_set)
    asking.cancel()
    await asyncio.wait([asking])
    await until(lambda: not gateway.app.drain.in_flight)
    go.set()
    async with asyncio.timeout(5):
        while not (rows := await gateway.read(lambda conn: ledger.newest(conn, 9))):
            pass
    samples = await found(gateway)
    assert total(samples, "synapse_calls_total") == len(rows) == 1
    assert total(samples, "synapse_calls_total", ending=rows[0].ending) == 1


async def test_metrics_that_fail_fail_no_call(gateway: Box, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(Metrics, "_count", broken)
    answer = await gateway.chat()
    assert answer.status_code == 200
    assert (await gateway.certificate(answer.headers["x-pulse-proof"]))["response"]["ending"] == "complete"
    assert (await scrape(gateway)).status_code == 200


class TestWhoMayRead:
    async def test_without_a_key_the_machine_itself_and_nobody_else(self, gateway: Box):
        assert (await scrape(gateway)).status_code == 200
        refused = await office(gateway)
        assert refused.status_code == 401
        assert refused.json()["error"].startswith("No API key was sent.")

    @pytest.mark.parametrize(
        "header",
        [
            {"x-forwarded-for": "127.0.0.1"},
            {"X-Forwarded-Host": "box"},
            {"forwarded": "for=127.0.0.1"},
            {"via": "1.1 proxy"},
            {"x-real-ip": "127.0.0.1"},
            # A page in a browser on the machine, led here by a name of its own.
            {"origin": "http://evil.example"},
            {"host": "evil.example:8787"},
            {"host": "127.0.0.1.evil.example"},
            {"host": "[::1"},
            {"host": "a@127.0.0.1"},
        ],
    )
    async def test_behind_a_proxy_a_key_is_needed(self, gateway: Box, header: dict[str, str]):
        assert (await scrape(gateway, **header)).status_code == 401
        key = (await gateway.admin.create_key(wire.NewKey("prometheus", scopes=("metrics",)))).secret
        assert (await scrape(gateway, **header, authorization=f"Bearer {key}")).status_code == 200

    @pytest.mark.parametrize("host", ["localhost:8787", "127.0.0.1", "127.0.0.9:1", "[::1]:8787"])
    async def test_however_the_machine_calls_itself(self, gateway: Box, host: str):
        assert (await scrape(gateway, host=host)).status_code == 200

    @pytest.mark.parametrize("client", [OFFICE, ("127.0.0.1", 50_000)])
    async def test_a_key_that_is_sent_is_checked(self, gateway: Box, client: tuple[str, int]):
        refused = await office(gateway, client, authorization=f"Bearer {gateway.key}")
        assert (refused.status_code, refused.json()["code"]) == (403, "scope_denied")
        for headers in (
            {"authorization": "Bearer sk_live_wrong"},
            {"x-api-key": "no"},
            {"authorization": "Basic eA=="},
        ):
            refused = await office(gateway, client, **headers)
            assert (refused.status_code, refused.json().keys()) == (401, {"error"})
        key = (await gateway.admin.create_key(wire.NewKey("prometheus", scopes=("metrics",)))).secret
        for headers in ({"authorization": f"Bearer {key}"}, {"x-api-key": key}):
            assert (await office(gateway, client, **headers)).status_code == 200
        await gateway.admin.revoke_key("prometheus")
        assert (await office(gateway, client, **headers)).status_code == 401

    async def test_a_keys_limit_of_requests_holds_here_too(self, gateway: Box):
        new = wire.NewKey("prometheus", scopes=("metrics",), requests_per_minute=1)
        key = (await gateway.admin.create_key(new)).secret
        answers = [await scrape(gateway, authorization=f"Bearer {key}") for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 429]

    @pytest.mark.parametrize(
        ("host", "loopback"),
        [
            ("127.0.0.1", True),
            ("127.9.9.9", True),
            ("::1", True),
            ("::ffff:127.0.0.1", True),
            ("::ffff:192.168.1.20", False),
            ("192.168.1.20", False),
            ("0.0.0.0", False),
            ("::", False),
            ("fe80::1%eth0", False),
            ("localhost", False),
            ("", False),
        ],
    )
    def test_loopback(self, host: str, loopback: bool):
        assert is_loopback(host) is loopback

    async def test_whose_address_is_unknown_needs_a_key(self, gateway: Box):
        transport = httpx.ASGITransport(gateway.app.gateway, client=None)  # type: ignore[arg-type]  as ASGI allows
        async with httpx.AsyncClient(transport=transport, base_url=gateway.url) as http:
            assert (await http.get("/metrics")).status_code == 401


class TestTheDatabase:
    async def test_where_it_cannot_be_read_the_rest_is_told(self, gateway: Box, monkeypatch: pytest.MonkeyPatch):
        def broken(_: sqlite3.Connection) -> int:
            raise sqlite3.OperationalError("disk I/O error")

        await gateway.chat()
        monkeypatch.setattr(log_entries, "next_index", broken)
        samples = await found(gateway)
        assert total(samples, "synapse_calls_total") == 1
        assert "synapse_certificate_log_entries" not in {name for name, _ in samples}

    async def test_it_is_not_waited_for_without_end(self, gateway: Box, monkeypatch: pytest.MonkeyPatch):
        async def slow(self: Database, _: object) -> int:
            await asyncio.sleep(3600)
            return 0

        monkeypatch.setattr(module, "READ_SECONDS", 0.05)
        monkeypatch.setattr(Database, "read", slow)
        samples = await found(gateway)
        assert "synapse_certificate_log_entries" not in {name for name, _ in samples}


async def test_errors_are_counted_by_their_code(gateway: Box):
    key = (await gateway.admin.create_key(wire.NewKey("limited", scopes=("engine",), ceiling_milli=0))).secret
    rare = (await gateway.admin.create_key(wire.NewKey("rare", scopes=("engine",), requests_per_minute=1))).secret
    for bearer, calls in ((key, 2), (rare, 3), ("sk_live_wrong", 4)):
        for _ in range(calls):
            await gateway.http.get("/v1/models", headers={"authorization": f"Bearer {bearer}"})
    for _ in range(2):
        headers = {"authorization": f"Bearer {key}"}
        await gateway.http.post("/v1/chat/completions", content=gateway.body(), headers=headers)
    samples = await found(gateway)
    told = {"API_KEY_BUDGET_EXCEEDED": 2, "rate_limited": 2, "invalid_api_key": 4}
    assert {code: total(samples, "synapse_errors_total", code=code) for code in told} == told


async def test_the_loop_is_watched(gateway: Box):
    before = total(await found(gateway), "synapse_event_loop_stall_seconds_count")
    async with asyncio.timeout(5):
        while total(await found(gateway), "synapse_event_loop_stall_seconds_count") <= before:
            pass
