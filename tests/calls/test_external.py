"""Calls that leave: where they may go, what a certificate says of them, and every fault of a provider."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from appliance.admin import wire
from appliance.admin.policy_wire import NewProvider
from tests.box import Box, box, sha256
from tests.calls.outside import KEY, TOKEN, add, answer_text, last_body, outside
from tests.upstreams import openai as upstream
from tests.upstreams.anthropic import TOO_LARGE, AnthropicDouble
from tests.upstreams.ollama import OllamaDouble, ollama_double
from tests.upstreams.ollama import says as ollama_says
from tests.upstreams.openai import OpenAIDouble, openai_double
from tests.waiting import until

MAIL = "jane.roe@example.org"
SAID = f"Write to {MAIL}."
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


@pytest.fixture
async def cloud(tmp_path: Path) -> AsyncIterator[tuple[Box, OpenAIDouble]]:
    """An installation without a local lane, whose one provider is OpenAI's double."""
    async with outside(tmp_path / "state", "openai", mode="cloud", shield="standard") as (gateway, double):
        assert isinstance(double, OpenAIDouble)
        yield gateway, double


@pytest.fixture
async def office(tmp_path: Path, ollama: OllamaDouble) -> AsyncIterator[tuple[Box, OpenAIDouble]]:
    """An office with a machine of its own, whose calls go to OpenAI's double."""
    async with outside(tmp_path / "state", "openai", ollama.url, shield="standard") as (gateway, double):
        assert isinstance(double, OpenAIDouble)
        ollama.capabilities = ["completion", "tools", "vision"]
        yield gateway, double


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A passing fault is tried again at once. How long the pauses are is for the tests of the lane."""
    monkeypatch.setattr("appliance.lanes.retries.PAUSES", (0.0, 0.0))


def refused(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


class TestWhatIsSaidOfACall:
    async def test_certificate_headers_and_ledger(self, cloud: tuple[Box, OpenAIDouble]):
        gateway, double = cloud
        double.default = upstream.echoes()
        answer = await gateway.chat(gateway.body(f"{SAID} Or {MAIL}, or 06 12 34 56 78."))
        assert answer.json()["choices"][0]["message"]["content"] == f"{SAID} Or {MAIL}, or 06 12 34 56 78."
        assert answer.json()["pulse"] == {"provider": "openai", "task": "simple", "pii_masked": 2}
        assert answer.headers["x-pulse-provider"] == "openai"
        assert answer.headers["x-pulse-pii-masked"] == "2"
        said = await gateway.certificate(answer.headers["x-pulse-proof"])
        (sent,) = double.received
        assert said["egress"]["sha256"] == sha256(sent.body)
        assert (said["egress"]["provider"], said["egress"]["local"]) == ("openai", False)
        assert said["egress"]["pii"] == {"mode": "standard", "count": 2, "categories": ["EMAIL", "PHONE"]}
        assert "node" not in said["egress"]
        assert said["response"]["textSha256"] == sha256(f"{SAID} Or {MAIL}, or 06 12 34 56 78.")
        assert said["routing"]["reason"] == f"task=simple -> fast model (openai/{answer.json()['model']})"
        row = await gateway.ledger(answer.headers["x-pulse-proof"])
        assert (row.provider, row.model, row.node, row.masked) == ("openai", "gpt-double-mini", None, 2)
        assert (row.questions_milli, row.ending) == (1000, "complete")

    async def test_the_body_is_the_callers_own(self, cloud: tuple[Box, OpenAIDouble]):
        gateway, double = cloud
        body = (
            b'{"model": "gpt-4o",  "messages":[{"role":"user","content":"to ' + MAIL.encode() + b'"}],'
            b' "x_unknown": {"b":1.0,"a":[ ]}, "temperature":5e-1}'
        )
        assert (await gateway.chat(body)).status_code == 200
        sent = double.bodies[0].decode()
        token = TOKEN.search(sent)
        assert token is not None
        expected = body.decode().replace('"gpt-4o"', '"gpt-double-mini"').replace(MAIL, token[0])
        assert sent.startswith(expected.removesuffix("}"))
        assert orjson.loads(sent)["stream_options"] == {"include_usage": True}

    async def test_the_same_value_of_two_callers_at_once_is_each_ones_own(self, cloud: tuple[Box, OpenAIDouble]):
        gateway, double = cloud
        double.default = upstream.echoes()
        texts = [f"{n}: {MAIL}, {n}@example.org" for n in range(20)]
        bodies = [gateway.body(text, stream=n % 2 == 0) for n, text in enumerate(texts)]
        answers = await asyncio.gather(*(gateway.chat(body) for body in bodies))
        assert [answer_text(answer) for answer in answers] == texts
        assert MAIL.encode() not in double.raw

    async def test_a_full_answer_counts_four_questions(self, cloud: tuple[Box, OpenAIDouble]):
        gateway, _ = cloud
        answer = await gateway.chat(gateway.body("word " * 500))
        row = await gateway.ledger(answer.headers["x-pulse-proof"])
        assert (row.model, row.tier, row.questions_milli) == ("gpt-double", "full", 4000)


class TestResidency:
    """synapse.md, "Sensitive calls": what is sensitive stays, with its own text."""

    @pytest.mark.parametrize(
        "fields",
        [
            {"model": "pulse-sensitive"},
            {"model": "pulse-auto+sensitive"},
            {"model": "gpt-4o+sensitive", "stream": True},
            {"model": "pulse-auto"},  # found by the shield
        ],
    )
    async def test_it_stays_inside_with_the_original_text(
        self, office: tuple[Box, OpenAIDouble], ollama: OllamaDouble, fields: dict[str, Any]
    ):
        gateway, double = office
        answer = await gateway.chat(orjson.dumps({"messages": [{"role": "user", "content": SAID}], **fields}))
        assert answer.status_code == 200
        assert SAID.encode() in ollama.received[0]
        assert double.raw == b""
        said = await gateway.certificate(answer.headers["x-pulse-proof"])
        assert (said["egress"]["local"], said["egress"]["pii"]["count"]) == (True, 0)
        assert said["routing"]["reason"] == "sensitive=true -> local Ollama (data never leaves machine)"

    @pytest.mark.parametrize("model", ["pulse-sensitive", "pulse-auto+sensitive", "pulse-auto"])
    @pytest.mark.parametrize("stream", [False, True])
    async def test_without_a_machine_it_is_refused_and_nothing_leaves(self, tmp_path: Path, model: str, stream: bool):
        async with outside(tmp_path / "state", "openai", shield="standard") as (gateway, double):
            answer = await gateway.chat(
                orjson.dumps({"model": model, "stream": stream, "messages": [{"role": "user", "content": SAID}]})
            )
            assert refused(answer) == (503, "local_lane_unavailable")
            assert isinstance(double, OpenAIDouble)
            assert double.raw == b""

    async def test_what_is_not_personal_leaves(self, office: tuple[Box, OpenAIDouble], ollama: OllamaDouble):
        gateway, double = office
        assert (await gateway.chat()).json()["pulse"]["provider"] == "openai"
        assert (len(double.received), ollama.received) == (1, [])

    async def test_an_agents_call_is_masked_and_leaves(self, office: tuple[Box, OpenAIDouble], ollama: OllamaDouble):
        gateway, double = office
        answer = await gateway.chat(gateway.body(SAID, tools=[TOOL]))
        assert answer.json()["pulse"] == {"provider": "openai", "task": "agent", "pii_masked": 1}
        assert MAIL.encode() not in double.raw
        assert ollama.received == []

    async def test_with_the_shield_off_nothing_is_looked_for(self, tmp_path: Path, ollama: OllamaDouble):
        async with outside(tmp_path / "state", "openai", ollama.url, shield="off") as (gateway, double):
            answer = await gateway.chat(gateway.body(SAID))
            assert answer.json()["pulse"]["provider"] == "openai"
            assert last_body(double)["messages"][0]["content"] == SAID


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}]}]


class TestChangesInMidCall:
    @pytest.mark.parametrize("model", ["pulse-auto", "pulse-agent"])
    async def test_a_call_keeps_the_shield_that_it_began_with(self, tmp_path: Path, ollama: OllamaDouble, model: str):
        environ = {"SYNAPSE_TIMEOUTS__FIRST_BYTE": "0.5"}
        async with openai_double(key=KEY) as double, box(tmp_path / "state", ollama.url, **environ) as gateway:
            await add(gateway, double, "openai", active=False)
            await gateway.admin.set_allow_list(("ollama", "openai"))
            ollama.default = ollama_says(asyncio.Event())
            call = asyncio.create_task(gateway.chat(gateway.body(SAID, model=model)))
            await until(lambda: ollama.active == 1)
            await gateway.admin.set_shield_mode("off")
            answer = await call
            assert MAIL.encode() not in double.raw
            said = await gateway.certificate(answer.headers["x-pulse-proof"])
            assert said["egress"]["pii"]["mode"] == "standard"


class TestPictures:
    async def test_they_do_not_leave_unless_that_was_allowed(self, cloud: tuple[Box, OpenAIDouble]):
        gateway, double = cloud
        answer = await gateway.chat(gateway.body(messages=PICTURE))
        assert refused(answer) == (422, "unscannable_content")
        assert double.raw == b""
        assert (await gateway.certificate(answer.headers["x-pulse-proof"]))["response"]["ending"] == "refused"
        await gateway.admin.set_unscannable("allow")
        assert (await gateway.chat(gateway.body(messages=PICTURE))).status_code == 200
        assert last_body(double)["messages"][0]["content"][0]["image_url"]["url"].endswith(PNG)

    async def test_they_stay_inside_as_they_are(self, office: tuple[Box, OpenAIDouble], ollama: OllamaDouble):
        gateway, _ = office
        answer = await gateway.chat(gateway.body(model="pulse-sensitive", messages=PICTURE))
        assert answer.status_code in (200, 400)  # the double's model may not see
        assert answer.json().get("error", {}).get("code") != "unscannable_content"


FAULTS: dict[str, tuple[Any, int, str, str, int]] = {
    # script, status, code, ending, calls that the provider got: a passing fault is tried three times
    "429": (upstream.busy("0"), 503, "overloaded", "refused", 3),
    "500": (upstream.refuses(500, upstream.error("broken")), 502, "upstream_error", "failed", 3),
    "529": (upstream.refuses(529, upstream.error("overloaded")), 503, "overloaded", "refused", 3),
    "wrong key": (upstream.wrong_key(), 502, "upstream_error", "failed", 1),
    "unknown model": (upstream.model_missing(), 502, "upstream_error", "failed", 1),
    "too long": (upstream.too_long(), 400, "context_length_exceeded", "refused", 1),
    "malformed JSON": (upstream.says(b"data: {oops\n\n"), 502, "upstream_error", "failed", 1),
    "ends without an end": (upstream.says(upstream.chunk({"role": "assistant"})), 502, "upstream_error", "failed", 1),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_request_that_is_too_large_for_anthropic_is_told_as_such_in_both_dialects(tmp_path: Path, stream: bool):
    async with outside(tmp_path / "state", "anthropic", mode="cloud") as (gateway, double):
        assert isinstance(double, AnthropicDouble)
        double.default = TOO_LARGE
        own = await gateway.http.post("/v1/messages", content=gateway.body(max_tokens=20, stream=stream))
        assert (own.status_code, own.json()["error"]["type"]) == (413, "request_too_large")
        other = await gateway.chat(stream=stream)
        assert refused(other) == (413, "request_too_large")
        for answer in (own, other):
            assert "does not take a request of this size" in answer.json()["error"]["message"]
            assert "connection" not in answer.headers
            said = await gateway.certificate(answer.headers["x-pulse-proof"])
            assert said["response"]["ending"] == "refused"


class TestFaults:
    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
    @pytest.mark.parametrize("name", FAULTS)
    async def test_before_any_content(self, cloud: tuple[Box, OpenAIDouble], name: str, stream: bool):
        gateway, double = cloud
        script, status, code, ending, asked = FAULTS[name]
        double.default = script
        answer = await gateway.chat(gateway.body(SAID, stream=stream))
        assert refused(answer) == (status, code)
        assert KEY not in answer.text
        assert len(double.received) == asked
        await self.check(gateway, answer, ending, attempts=asked)

    @pytest.mark.parametrize(
        "script",
        [
            upstream.refuses(400, upstream.error("It is wrong.", param=KEY)),
            upstream.refuses(400, upstream.error("x" * 490 + KEY)),
            upstream.refuses(500, "x" * 490 + KEY),
            upstream.refuses(302, "", Location=f"http://{KEY}.example/"),
        ],
        ids=["field", "cut", "cut raw", "redirect"],
    )
    async def test_no_piece_of_the_key_reaches_the_caller(self, cloud: tuple[Box, OpenAIDouble], script: Any):
        gateway, double = cloud
        double.default = script
        answer = await gateway.chat()
        assert answer.status_code >= 400
        assert KEY[:6] not in answer.text

    async def check(self, gateway: Box, answer: httpx.Response, ending: str, *, attempts: int) -> None:
        """Certificate and ledger say the same, and nothing is left running."""
        proof_id = answer.headers["x-pulse-proof"]
        said = await gateway.certificate(proof_id)
        assert (said["response"]["ending"], said["egress"]["attempts"]) == (ending, attempts)
        assert KEY not in orjson.dumps(said).decode()
        assert (await gateway.ledger(proof_id)).ending == ending
        assert gateway.app.drain.in_flight == 0

    @pytest.mark.parametrize("fault", ["dies", "error event", "malformed"])
    async def test_in_mid_stream_it_is_an_error_event_and_no_done(self, cloud: tuple[Box, OpenAIDouble], fault: str):
        gateway, double = cloud
        begin = upstream.text("Hel")
        broken = {
            "dies": upstream.says(begin),
            "error event": upstream.says(
                begin, upstream.data(upstream.error("The server had an error", kind="server_error"))
            ),
            "malformed": upstream.says(begin, b"data: {\n\n"),
        }
        double.default = broken[fault]
        answer = await gateway.chat(gateway.body(SAID, stream=True))
        assert '"error"' in answer.text
        assert "[DONE]" not in answer.text
        assert len(double.received) == 1
        await self.check(gateway, answer, "failed", attempts=1)

    @pytest.mark.parametrize("limit", ["FIRST_BYTE", "IDLE", "TOTAL"])
    async def test_a_slow_provider_runs_into_the_limit_that_names_itself(self, tmp_path: Path, limit: str):
        environ = {"APP_MODE": "cloud", f"SYNAPSE_TIMEOUTS__{limit}": "0.2"}
        stalls = asyncio.Event()
        async with openai_double(key=KEY) as double, box(tmp_path / "s", "http://127.0.0.1:1", **environ) as gateway:
            await add(gateway, double, "openai")
            begin = () if limit == "FIRST_BYTE" else (upstream.text("Hel"),)
            double.default = upstream.says(*begin, stalls)
            answer = await gateway.chat(SAID_BODY)
            assert refused(answer) == (504, "upstream_timeout")
            assert f"`{limit.lower()}`" in answer.text
            await until(lambda: double.active == 0)
            await self.check(gateway, answer, "failed", attempts=1)

    @pytest.mark.parametrize(
        ("url", "word"),
        [
            ("http://127.0.0.1:9", "connect"),
            ("https://nobody.invalid/v1", "name"),
            ("https://127.0.0.1:{port}/v1", "TLS"),
        ],
        ids=["down", "DNS", "TLS"],
    )
    async def test_a_provider_that_cannot_be_reached(self, cloud: tuple[Box, OpenAIDouble], url: str, word: str):
        gateway, double = cloud
        port = double.url.removesuffix("/v1").rpartition(":")[2]
        await gateway.admin.put_provider(
            NewProvider("gone", "openai-compatible", url.format(port=port), KEY, "m", None)
        )
        await gateway.admin.set_active("gone")
        answer = await gateway.chat(SAID_BODY)
        assert refused(answer) == (502, "upstream_error")
        assert word.lower() in answer.json()["error"]["message"].lower()
        await self.check(gateway, answer, "failed", attempts=3 if word == "connect" else 1)

    @pytest.mark.parametrize("phase", ["before the first byte", "in mid-stream"])
    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
    async def test_a_client_that_leaves(self, cloud: tuple[Box, OpenAIDouble], phase: str, stream: bool):
        gateway, double = cloud
        stalls = asyncio.Event()
        begin = () if phase == "before the first byte" else (upstream.text("Hel"),)
        double.default = upstream.says(*begin, stalls)
        call = asyncio.create_task(gateway.chat(gateway.body(SAID, stream=stream)))
        await until(lambda: double.active == 1)
        call.cancel()
        await asyncio.wait([call])
        await until(lambda: double.left == 1, 1)  # gateway.md: within 1 s
        await until(lambda: gateway.app.drain.in_flight == 0)
        (proof_id,) = await gateway.read(lambda conn: [row[0] for row in conn.execute("SELECT proof_id FROM ledger")])
        assert (await gateway.certificate(proof_id))["response"]["ending"] == "cancelled"
        assert (await gateway.ledger(proof_id)).ending == "cancelled"


SAID_BODY = orjson.dumps({"model": "pulse-auto", "messages": [{"role": "user", "content": "Hi"}]})


class TestAllowLists:
    """routing.md, "Choice": each row with the sentence of its reason."""

    @pytest.fixture
    async def two(self, tmp_path: Path) -> AsyncIterator[tuple[Box, OpenAIDouble, OpenAIDouble, OllamaDouble]]:
        async with (
            ollama_double() as machine,
            openai_double(key=KEY) as first,
            openai_double(key=KEY) as second,
            box(tmp_path / "state", machine.url) as gateway,
        ):
            await add(gateway, first, "openai", active=False)
            await add(gateway, second, "openai-compatible", name="rack", active=False)
            yield gateway, first, second, machine

    async def reason(self, gateway: Box, text: str = "word " * 500) -> str:
        answer = await gateway.chat(gateway.body(text))
        assert answer.status_code == 200, answer.text
        return (await gateway.certificate(answer.headers["x-pulse-proof"]))["routing"]["reason"]

    async def test_unset(self, two: tuple[Box, OpenAIDouble, OpenAIDouble, OllamaDouble]):
        gateway, *_ = two
        assert await self.reason(gateway) == "task=complex -> configured model (ollama/double)"

    async def test_one(self, two: tuple[Box, OpenAIDouble, OpenAIDouble, OllamaDouble]):
        gateway, first, *_ = two
        await gateway.admin.set_allow_list(("openai",))
        assert await self.reason(gateway) == "task=complex -> configured model (openai/gpt-double)"
        assert len(first.received) == 1

    async def test_several_in_order(self, two: tuple[Box, OpenAIDouble, OpenAIDouble, OllamaDouble]):
        gateway, first, second, machine = two
        await gateway.admin.set_allow_list(("rack", "openai", "ollama"))
        assert await self.reason(gateway) == "task=complex -> configured model (rack/gpt-double)"
        assert (len(first.received), len(second.received), len(machine.received)) == (0, 1, 0)

    async def test_the_preferred_one_failing(self, two: tuple[Box, OpenAIDouble, OpenAIDouble, OllamaDouble]):
        gateway, first, second, _ = two
        await gateway.admin.set_allow_list(("rack", "openai"))
        second.default = upstream.refuses(500, upstream.error("broken"))
        assert await self.reason(gateway) == (
            "task=complex -> configured model (openai/gpt-double) after rack/gpt-double failed"
        )
        assert (len(first.received), len(second.received)) == (1, 3)

    async def test_from_the_own_machines_to_a_listed_provider_only_masked(
        self, two: tuple[Box, OpenAIDouble, OpenAIDouble, OllamaDouble]
    ):
        gateway, first, _, machine = two
        await gateway.admin.set_allow_list(("ollama", "openai"))
        await machine.stop()
        answer = await gateway.chat(gateway.body(SAID, model="pulse-agent"))
        assert answer.status_code == 200, answer.text
        assert len(first.received) == 1
        assert MAIL.encode() not in first.raw

    async def test_none_usable(self, two: tuple[Box, OpenAIDouble, OpenAIDouble, OllamaDouble]):
        gateway, first, second, _ = two
        await gateway.admin.set_allow_list(("rack",))
        await gateway.admin.remove_provider("rack")
        answer = await gateway.chat()
        assert refused(answer) == (403, "provider_not_allowed")
        assert first.raw + second.raw == b""

    async def test_a_list_holds_for_its_workspace_alone(
        self, two: tuple[Box, OpenAIDouble, OpenAIDouble, OllamaDouble]
    ):
        gateway, first, *_ = two
        await gateway.admin.create_workspace("legal")
        await gateway.admin.set_allow_list(("openai",), "legal")
        key = (await gateway.admin.create_key(wire.NewKey("k", workspace="legal"))).secret
        assert (await gateway.chat()).json()["pulse"]["provider"] == "ollama"
        answer = await gateway.http.post(
            "/v1/chat/completions", content=SAID_BODY, headers={"authorization": f"Bearer {key}"}
        )
        assert answer.json()["pulse"]["provider"] == "openai"
        assert len(first.received) == 1
