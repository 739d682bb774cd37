"""What keys and workspaces may use, on the wire: in both dialects, whole and streamed.

Source: synapse.md ("Metering and cost"); gateway.md ("Errors", the table); routing.md ("Metering").
"""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from appliance.admin import wire
from tests.box import CHAT, Box, box
from tests.calls.outside import outside
from tests.upstreams.ollama import OllamaDouble, done, line, refuses, says
from tests.waiting import until

PATHS = {"openai": CHAT, "anthropic": "/v1/messages"}
KINDS = [(dialect, stream) for dialect in PATHS for stream in (False, True)]


async def ask(gateway: Box, dialect: str, key: str = "", *, stream: bool = False, **fields: Any) -> httpx.Response:
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], "stream": stream, **fields}
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return await gateway.http.post(PATHS[dialect], content=orjson.dumps(body), headers=headers)


async def new_key(gateway: Box, **fields: Any) -> str:
    return (await gateway.admin.create_key(wire.NewKey("limited", scopes=("engine",), **fields))).secret


async def used(gateway: Box) -> int:
    return await gateway.read(lambda conn: conn.execute("SELECT sum(questions_milli) FROM ledger").fetchone()[0])


def check(answer: httpx.Response, dialect: str, status: int, kind: str, code: str) -> None:
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (status, kind)
    assert answer.headers.get("x-should-retry") == "false"
    assert "retry-after" not in answer.headers
    if dialect == "openai":
        assert error["code"] == code
    elif status == 402:
        assert code in error["message"]


@pytest.mark.parametrize(("dialect", "stream"), KINDS)
async def test_of_200_calls_at_once_as_many_are_served_as_fit(
    gateway: Box, ollama: OllamaDouble, dialect: str, stream: bool
):
    key = await new_key(gateway, ceiling_milli=50 * 250)
    answers = await asyncio.gather(*(ask(gateway, dialect, key, stream=stream) for _ in range(200)))
    assert sorted(answer.status_code for answer in answers) == [200] * 50 + [402] * 150
    assert len(ollama.received) == 50  # who is refused reaches no machine
    assert await used(gateway) == 50 * 250
    check(await ask(gateway, dialect, key, stream=stream), dialect, 402, TYPES[dialect], "API_KEY_BUDGET_EXCEEDED")
    # Another key of the same workspace has a budget of its own.
    assert (await ask(gateway, dialect, stream=stream)).status_code == 200


TYPES = {"openai": "insufficient_quota", "anthropic": "billing_error"}


@pytest.mark.parametrize(("dialect", "stream"), KINDS)
async def test_an_allowance_that_is_used_up(tmp_path: Path, ollama: OllamaDouble, dialect: str, stream: bool):
    async with box(tmp_path / "cloud", ollama.url, APP_MODE="cloud") as gateway:
        await gateway.admin.set_allowance("default", 500)
        served = [(await ask(gateway, dialect, stream=stream)).status_code for _ in range(2)]
        refused = await ask(gateway, dialect, stream=stream)
        assert served == [200, 200]
        status, kind = (402, "insufficient_quota") if dialect == "openai" else (429, "rate_limit_error")
        check(refused, dialect, status, kind, "insufficient_quota")
        assert len(ollama.received) == 2
        assert "allowance is 0.5 questions a month, and 0.5 are used." in refused.json()["error"]["message"]
        # Raised, it is good from the next call on; taken away, it limits nothing.
        await gateway.admin.set_allowance("default", 750)
        assert [(await ask(gateway, dialect, stream=stream)).status_code for _ in range(2)] == [200, status]
        await gateway.admin.set_allowance("default", None)
        assert (await ask(gateway, dialect, stream=stream)).status_code == 200
        listed = (await gateway.admin.workspaces()).workspaces[0]
        assert (listed.allowance_milli, listed.used_milli) == (None, 1000)


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_local_installation_has_no_allowance(gateway: Box, dialect: str):
    await gateway.admin.set_allowance("default", 0)
    assert (await ask(gateway, dialect)).status_code == 200


@pytest.mark.parametrize("dialect", PATHS)
async def test_the_key_s_ceiling_speaks_before_the_allowance(tmp_path: Path, ollama: OllamaDouble, dialect: str):
    async with box(tmp_path / "cloud", ollama.url, APP_MODE="cloud") as gateway:
        await gateway.admin.set_allowance("default", 0)
        answer = await ask(gateway, dialect, await new_key(gateway, ceiling_milli=0))
        check(answer, dialect, 402, TYPES[dialect], "API_KEY_BUDGET_EXCEEDED")


async def test_a_refused_call_is_told_in_the_ledger_and_its_certificate(gateway: Box):
    answer = await ask(gateway, "openai", await new_key(gateway, ceiling_milli=249))
    proof_id = answer.headers["x-pulse-proof"]
    row = await gateway.ledger(proof_id)
    assert (answer.status_code, row.ending, row.questions_milli, row.provider) == (402, "refused", 0, None)
    assert (await gateway.certificate(proof_id))["response"]["status"] == 402


async def test_a_failed_call_is_free_and_gives_back_what_it_held(gateway: Box, ollama: OllamaDouble):
    key = await new_key(gateway, ceiling_milli=250)
    ollama.default, healthy = refuses(500, "broken"), ollama.default
    assert (await ask(gateway, "openai", key)).status_code == 502
    ollama.default = healthy
    assert [(await ask(gateway, "openai", key)).status_code for _ in range(2)] == [200, 402]


@pytest.mark.parametrize("dialect", PATHS)
async def test_an_answer_that_was_given_whole_counts_though_its_call_failed(
    gateway: Box, ollama: OllamaDouble, dialect: str
):
    # Else a caller could have any number of answers for nothing, by a format that each of them misses at its end.
    ollama.default = says(line('{"answer": 42'), done("stop"))
    schema = {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]}
    wanted: dict[str, Any] = (
        {"response_format": {"type": "json_object"}, "stop": ["}"]}
        if dialect == "openai"
        else {"output_config": {"format": {"type": "json_schema", "schema": schema}}, "stop_sequences": ["}"]}
    )
    key = await new_key(gateway, ceiling_milli=250)
    streamed = await ask(gateway, dialect, key, stream=True, **wanted)
    assert (streamed.status_code, "answer" in streamed.text, "error" in streamed.text) == (200, True, True)
    assert await used(gateway) == 250
    assert (await ask(gateway, dialect, key)).status_code == 402


async def test_one_that_fails_before_anything_was_given_is_free(gateway: Box, ollama: OllamaDouble):
    ollama.default, healthy = says(line('{"answer": 42'), done("stop")), ollama.default
    key = await new_key(gateway, ceiling_milli=250)
    whole = await ask(gateway, "openai", key, response_format={"type": "json_object"})
    assert (whole.status_code, await used(gateway)) == (502, 0)
    ollama.default = healthy
    assert (await ask(gateway, "openai", key)).status_code == 200


async def test_what_the_model_that_answered_counts_is_what_is_counted(tmp_path: Path):
    async with outside(tmp_path / "state", "openai", mode="cloud") as (gateway, _):
        key = await new_key(gateway, ceiling_milli=6000)
        assert (await ask(gateway, "openai", key, model="pulse-agent")).status_code == 200
        assert await used(gateway) == 4000
        # Not enough is left for the full model, but for two answers of the fast one.
        refused = await ask(gateway, "openai", key, model="pulse-agent")
        assert refused.status_code == 402
        assert "4 are used; the model that this call goes to counts 4." in refused.json()["error"]["message"]
        assert [(await ask(gateway, "openai", key)).status_code for _ in range(3)] == [200, 200, 402]
        assert await used(gateway) == 6000


async def test_each_answer_that_a_call_asks_for_counts(tmp_path: Path):
    async with outside(tmp_path / "state", "openai", mode="cloud") as (gateway, _):
        key = await new_key(gateway, ceiling_milli=2000)
        assert (await ask(gateway, "openai", key, n=3)).status_code == 402
        assert (await ask(gateway, "openai", key)).status_code == 200
        assert await used(gateway) == 1000


async def test_what_calls_that_still_run_hold_may_be_had_when_they_have_ended(gateway: Box, ollama: OllamaDouble):
    key = await new_key(gateway, ceiling_milli=250)
    going_on = asyncio.Event()
    ollama.scripts.append(says(line("Hel"), going_on, done("stop")))
    first = asyncio.ensure_future(ask(gateway, "openai", key))
    await until(lambda: bool(ollama.received))
    refused = await ask(gateway, "openai", key)
    assert (refused.status_code, refused.headers["retry-after"]) == (402, "5")
    assert "x-should-retry" not in refused.headers
    assert "calls that still run hold" in refused.json()["error"]["message"]
    ollama.default, healthy = refuses(500, "broken"), ollama.default
    going_on.set()
    assert (await first).status_code == 200
    ollama.default = healthy


class TestMonths:
    """Ceilings begin anew at midnight UTC, wherever the clock is set to."""

    @pytest.mark.parametrize(
        ("last", "first"),
        [
            (datetime(2026, 12, 31, 23, 59, 59, 999_000, UTC), datetime(2027, 1, 1, tzinfo=UTC)),
            (datetime(2027, 2, 28, 23, 59, 59, 999_000, UTC), datetime(2027, 3, 1, tzinfo=UTC)),
            (datetime(2028, 2, 29, 23, 59, 59, 999_000, UTC), datetime(2028, 3, 1, tzinfo=UTC)),
            (datetime(2026, 11, 30, 23, 59, 59, 999_000, UTC), datetime(2026, 12, 1, tzinfo=UTC)),
        ],
    )
    async def test_a_new_month(self, tmp_path: Path, ollama: OllamaDouble, last: datetime, first: datetime):
        now = last

        async def statuses(calls: int) -> list[int]:
            return [(await ask(gateway, "openai", key)).status_code for _ in range(calls)]

        async with box(tmp_path / "state", ollama.url, clock=lambda: now) as gateway:
            key = await new_key(gateway, ceiling_milli=500)
            assert await statuses(3) == [200, 200, 402]
            now = first
            assert await statuses(2) == [200, 200]
            # A clock that jumps back finds its month used up, and forward again the other too.
            now = last
            assert await statuses(1) == [402]
            now = first
            assert await statuses(1) == [402]
        # What was used is known again after a start, whichever month it is then.
        for now in (last, first):
            async with box(tmp_path / "state", ollama.url, clock=lambda: now) as gateway:  # noqa: B023
                assert await statuses(1) == [402]
                assert (await gateway.admin.workspaces()).workspaces[0].used_milli == 500

    async def test_a_call_counts_for_the_month_in_which_it_came(self, tmp_path: Path, ollama: OllamaDouble):
        now = datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC)
        going_on = asyncio.Event()
        async with box(tmp_path / "state", ollama.url, clock=lambda: now) as gateway:
            key = await new_key(gateway, ceiling_milli=250)
            ollama.scripts.append(says(line("Hel"), going_on, line("lo"), done("stop")))
            late = asyncio.ensure_future(ask(gateway, "openai", key))
            await until(lambda: bool(ollama.received))
            now = datetime(2027, 1, 1, tzinfo=UTC)
            assert (await ask(gateway, "openai", key)).status_code == 200
            going_on.set()
            assert (await late).status_code == 200
            assert (await ask(gateway, "openai", key)).status_code == 402


class TestRateLimits:
    @pytest.mark.parametrize(("dialect", "stream"), KINDS)
    async def test_a_key_s_own_limit(self, gateway: Box, ollama: OllamaDouble, dialect: str, stream: bool):
        key = await new_key(gateway, requests_per_minute=3)
        answers = [await ask(gateway, dialect, key, stream=stream) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        prefix = "x-ratelimit-{}-requests" if dialect == "openai" else "anthropic-ratelimit-requests-{}"
        assert [answer.headers[prefix.format("remaining")] for answer in answers] == ["2", "1", "0", "0"]
        assert {answer.headers[prefix.format("limit")] for answer in answers} == {"3"}
        refused = answers[-1]
        assert refused.json()["error"]["type"] == "rate_limit_error"
        assert 58 <= int(refused.headers["retry-after"]) <= 60
        assert "x-pulse-proof" not in refused.headers
        assert len(ollama.received) == 3

    async def test_every_route_that_takes_a_key_counts(self, gateway: Box):
        key = await new_key(gateway, requests_per_minute=3)
        headers = {"authorization": f"Bearer {key}"}
        assert (await gateway.http.get("/v1/models", headers=headers)).status_code == 200
        assert (await gateway.http.get("/v1/proofs", headers=headers)).status_code == 200
        counting = orjson.dumps({"messages": [{"role": "user", "content": "Hi"}]})
        counted = await gateway.http.post("/v1/messages/count_tokens", content=counting, headers=headers)
        assert counted.status_code == 200
        assert (await ask(gateway, "openai", key)).status_code == 429
        assert (await gateway.http.get("/v1/proofs", headers=headers)).status_code == 429

    async def test_an_address_that_is_not_served_is_told_first_and_a_budget_last(self, gateway: Box):
        # gateway.md, "Errors": 404/501 address, 429, 402.
        key = await new_key(gateway, requests_per_minute=1, ceiling_milli=0)
        assert (await ask(gateway, "openai", key, model="debate:x")).status_code == 501
        assert (await ask(gateway, "openai", key)).status_code == 402
        assert (await ask(gateway, "openai", key)).status_code == 429
        assert (await ask(gateway, "openai", key, model="debate:x")).status_code == 501

    async def test_what_cannot_be_read_is_told_first_and_does_not_count(self, gateway: Box):
        key = await new_key(gateway, requests_per_minute=1)
        headers = {"authorization": f"Bearer {key}"}
        for path in (*PATHS.values(), "/v1/messages/count_tokens"):
            assert (await gateway.http.post(path, content=b"{", headers=headers)).status_code == 400
        assert (await ask(gateway, "openai", key)).status_code == 200

    async def test_a_key_without_a_limit_says_nothing_of_one(self, gateway: Box):
        assert not [name for name in (await ask(gateway, "openai")).headers if "ratelimit" in name]
