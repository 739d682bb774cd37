import httpx
import orjson
import pytest

from tests.box import CHAT, Box, sha256
from tests.upstreams.ollama import OllamaDouble, answers


def events(text: str) -> list[str]:
    return [event.removeprefix("data: ") for event in text.split("\n\n") if event]


async def test_a_whole_answer(gateway: Box, ollama: OllamaDouble):
    body = gateway.body("Hi")
    answer = await gateway.chat(body)
    said = answer.json()
    assert answer.status_code == 200
    assert said["object"] == "chat.completion"
    assert said["model"] == "double"
    assert said["choices"][0]["message"] == {"role": "assistant", "content": "Hello there.", "refusal": None}
    assert said["choices"][0]["finish_reason"] == "stop"
    assert said["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    # gateway.md, "Headers and body additions"
    assert said["pulse"] == {"provider": "ollama", "task": "simple", "pii_masked": 0}
    assert answer.headers["x-pulse-provider"] == "ollama"
    assert answer.headers["x-pulse-pii-masked"] == "0"
    assert answer.headers["x-request-id"].startswith("req_")


async def test_its_certificate_and_ledger_row(gateway: Box, ollama: OllamaDouble):
    body = gateway.body("Hi", temperature=0)
    answer = await gateway.chat(body)
    proof_id = answer.headers["x-pulse-proof"]
    said = await gateway.certificate(proof_id)
    assert said["id"] == proof_id
    assert said["request"] == {
        "endpoint": CHAT,
        "model": "pulse-auto",
        "sha256": sha256(body),
        "bytes": len(body),
        "stream": False,
    }
    assert said["address"] == {"kind": "auto"}
    assert said["routing"] == {
        "taskType": "simple",
        "tier": "fast",
        "reason": "task=simple -> fast model (ollama/double)",
    }
    egress = said["egress"]
    assert (egress["provider"], egress["model"], egress["local"], egress["attempts"]) == ("ollama", "double", True, 1)
    assert egress["sha256"] == sha256(ollama.received[0])
    assert (egress["node"]["engine"], egress["node"]["trust"]) == ("ollama/0.32.15", "loopback")
    assert egress["pii"] == {"mode": "standard", "count": 0, "categories": []}
    assert said["response"] == {
        "status": 200,
        "ending": "complete",
        "sha256": sha256(answer.content),
        "textSha256": sha256("Hello there."),
    }
    assert said["usage"] == {"promptTokens": 7, "completionTokens": 3}
    row = await gateway.ledger(proof_id)
    assert (row.dialect, row.address, row.task, row.tier) == ("openai", "pulse-auto", "simple", "fast")
    assert (row.provider, row.model, row.ending) == ("ollama", "double", "complete")
    assert (row.prompt_tokens, row.completion_tokens, row.questions_milli, row.cost_micro) == (7, 3, 250, 0)
    assert row.first_token_ms is not None
    assert 0 <= row.first_token_ms <= row.total_ms


async def test_a_streamed_answer_event_by_event(gateway: Box):
    answer = await gateway.chat(stream=True, model="gpt-4o")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert "x-pulse-provider" not in answer.headers
    *chunks, last = events(answer.text)
    assert last == "[DONE]"
    parsed = [orjson.loads(chunk) for chunk in chunks]
    assert {(one["id"], one["model"], one["object"]) for one in parsed} == {
        (parsed[0]["id"], "gpt-4o", "chat.completion.chunk")
    }
    deltas = [(one["choices"][0]["delta"], one["choices"][0]["finish_reason"]) for one in parsed]
    assert deltas == [
        ({"role": "assistant", "content": ""}, None),
        ({"content": "Hello"}, None),
        ({"content": " there"}, None),
        ({"content": "."}, None),
        ({}, "stop"),
    ]
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert said["request"]["stream"] is True
    assert said["response"]["sha256"] == sha256(answer.content)
    assert said["response"]["textSha256"] == sha256("Hello there.")


async def test_usage_is_streamed_only_when_asked_for(gateway: Box):
    asked = await gateway.chat(stream=True, stream_options={"include_usage": True})
    usage = orjson.loads(events(asked.text)[-2])
    assert usage["choices"] == []
    assert usage["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    unasked = await gateway.chat(stream=True)
    assert '"usage"' not in unasked.text


async def test_what_the_machine_is_sent(gateway: Box, ollama: OllamaDouble):
    await gateway.chat(
        gateway.body(
            "ignored",
            messages=[{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
            temperature=0.5,
            top_p=0.9,
            seed=7,
            stop=["END"],
            max_completion_tokens=5,
            max_tokens=99,
            presence_penalty=1,
            frequency_penalty=-1,
            user="somebody",
            some_unknown_field={"kept": False},
        )
    )
    assert orjson.loads(ollama.received[0]) == {
        "model": "double",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "truncate": False,
        "options": {
            "num_ctx": 8192,
            "num_predict": 5,
            "stop": ["END"],
            "temperature": 0.5,
            "top_p": 0.9,
            "seed": 7,
            "frequency_penalty": -1,
            "presence_penalty": 1,
        },
    }


async def test_the_output_ceiling_ends_as_length(gateway: Box, ollama: OllamaDouble):
    ollama.scripts.append(answers("Hel", reason="length"))
    answer = await gateway.chat()
    assert answer.json()["choices"][0]["finish_reason"] == "length"
    assert (await gateway.certificate(answer.headers["x-pulse-proof"]))["response"]["ending"] == "length"


# model-addressing.md: an unknown model name is no error, and the string is recorded verbatim.
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-6", " pulse-auto+cortx ", "modèle-é", None, ""])
async def test_any_model_name_is_served_and_recorded(gateway: Box, model: str | None):
    answer = await gateway.chat(model=model)
    assert answer.status_code == 200
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert said["request"]["model"] == (model or "")


async def test_an_address_without_effect_yet_runs_and_is_recorded(gateway: Box):
    answer = await gateway.chat(model="pulse-auto+cortex")
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert said["address"] == {"kind": "auto", "cortex": True}
    assert "grounding" not in said


@pytest.mark.parametrize(
    ("model", "task", "tier", "reason"),
    [
        ("pulse-sensitive", "sensitive", "local", "sensitive=true -> local Ollama (data never leaves machine)"),
        ("pulse-agent", "agent", "full", "task=agent -> configured model (ollama/double)"),
        ("gpt-4o+agent", "agent", "full", "task=agent -> configured model (ollama/double)"),
    ],
)
async def test_intent_in_the_address(gateway: Box, model: str, task: str, tier: str, reason: str):
    answer = await gateway.chat(model=model)
    assert answer.json()["pulse"]["task"] == task
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert said["routing"] == {"taskType": task, "tier": tier, "reason": reason}


@pytest.mark.parametrize(
    ("model", "status", "code"),
    [
        ("agent:nobody", 404, "model_not_found"),
        ("debate:board", 501, "address_not_supported"),
        ("x" * 1025, 400, "invalid_request_error"),
        ("a\x7fb", 400, "invalid_request_error"),
    ],
)
async def test_addresses_that_fail_get_no_certificate(gateway: Box, model: str, status: int, code: str):
    answer = await gateway.chat(model=model)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert "x-pulse-proof" not in answer.headers


async def test_the_reserved_form_is_answered_in_the_documented_words(gateway: Box):
    answer = await gateway.chat(model="debate:board")
    assert "debate: addresses are reserved and not served by this installation" in answer.json()["error"]["message"]


async def test_headers_of_both_kinds_carry_a_key(gateway: Box):
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http:
        for headers in ({"x-api-key": gateway.key}, {"authorization": f"bearer {gateway.key}"}):
            assert (await http.post(CHAT, content=gateway.body(), headers=headers)).status_code == 200
