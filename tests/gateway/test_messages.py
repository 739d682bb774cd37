"""`POST /v1/messages` on the local lane, and `count_tokens`. Sources: gateway.md, dialects.md §1.2 and §1.4."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from appliance.gateway import serving
from tests.box import CHAT, Box, box, sha256
from tests.upstreams.ollama import OllamaDouble, answers, called, done, line, refuses, says
from tests.waiting import until

MESSAGES = "/v1/messages"
HI: list[Any] = [{"role": "user", "content": "Hi"}]
TOOL = {"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}


@pytest.fixture
async def able(tmp_path: Path, ollama: OllamaDouble):
    """A gateway whose one model can do everything."""
    ollama.capabilities = ["completion", "tools", "vision", "thinking"]
    async with box(tmp_path / "state", ollama.url) as made:
        yield made


async def ask(gateway: Box, path: str = MESSAGES, **fields: Any) -> httpx.Response:
    body = {"model": "pulse-auto", "max_tokens": 20, "messages": HI, **fields}
    return await gateway.http.post(path, content=orjson.dumps({k: v for k, v in body.items() if v is not None}))


def events(text: str) -> list[dict[str, Any]]:
    """The data of each event, whose name is its type."""
    read: list[dict[str, Any]] = []
    for event in filter(None, text.split("\n\n")):
        name, data = event.split("\n")
        read.append(orjson.loads(data.removeprefix("data: ")))
        assert name == f"event: {read[-1]['type']}"
    return read


def told(text: str) -> list[str]:
    """The types of the events that are no sign of life."""
    return [event["type"] for event in events(text) if event["type"] != "ping"]


async def test_a_whole_answer(gateway: Box):
    answer = await ask(gateway)
    assert answer.status_code == 200
    proof_id = answer.headers["x-pulse-proof"]
    assert answer.json() == {
        "id": proof_id.replace("prf_", "msg_"),
        "type": "message",
        "role": "assistant",
        "model": "double",
        "content": [{"type": "text", "text": "Hello there."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 3},
    }
    assert (answer.headers["x-pulse-provider"], answer.headers["x-pulse-pii-masked"]) == ("ollama", "0")
    assert answer.headers["request-id"] == answer.headers["x-request-id"]


async def test_its_certificate_and_ledger_row(gateway: Box, ollama: OllamaDouble):
    body = orjson.dumps({"model": "gpt-4o+cortex", "max_tokens": 5, "messages": HI})
    answer = await gateway.http.post(f"{MESSAGES}?beta=true", content=body)
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert said["request"] == {
        "endpoint": MESSAGES,
        "model": "gpt-4o+cortex",
        "sha256": sha256(body),
        "bytes": len(body),
        "stream": False,
    }
    assert said["address"] == {"kind": "auto", "cortex": True}
    assert said["egress"]["sha256"] == sha256(ollama.received[0])
    assert said["response"]["sha256"] == sha256(answer.content)
    assert said["response"]["textSha256"] == sha256("Hello there.")
    row = await gateway.ledger(answer.headers["x-pulse-proof"])
    assert (row.dialect, row.address, row.ending) == ("anthropic", "gpt-4o+cortex", "complete")


async def test_a_streamed_answer_event_by_event(gateway: Box):
    answer = await ask(gateway, model="claude-sonnet-4-6", stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    start, ping, *rest = events(answer.text)
    assert start["message"] == {
        "id": answer.headers["x-pulse-proof"].replace("prf_", "msg_"),
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},  # "Hi" is a quarter of four characters, rounded up
    }
    assert ping == {"type": "ping"}
    assert rest == [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
            for piece in ("Hello", " there", ".")
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"input_tokens": 7, "output_tokens": 3},
        },
        {"type": "message_stop"},
    ]
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert said["response"]["sha256"] == sha256(answer.content)


async def test_a_missing_model_is_pulse_auto(gateway: Box):
    answer = await ask(gateway, model=None, stream=True)
    assert events(answer.text)[0]["message"]["model"] == "pulse-auto"
    assert (await gateway.certificate(answer.headers["x-pulse-proof"]))["request"]["model"] == ""


async def test_thoughts_text_and_calls_are_blocks_of_their_own(able: Box, ollama: OllamaDouble):
    calls = [called("look", {"a": 1}), called("look", {})]
    ollama.default = says(line(thinking="Hm. "), line(thinking="So."), line("I look."), done(tool_calls=calls))
    asked = {"tools": [TOOL], "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}
    whole = (await ask(able, **asked)).json()
    thought, text, first, second = whole["content"]
    assert thought == {"type": "thinking", "thinking": "Hm. So.", "signature": ""}
    assert text == {"type": "text", "text": "I look."}
    assert [(one["type"], one["name"], one["input"]) for one in (first, second)] == [
        ("tool_use", "look", {"a": 1}),
        ("tool_use", "look", {}),
    ]
    assert first["id"] != second["id"]
    assert whole["stop_reason"] == "tool_use"
    assert orjson.loads(ollama.received[0])["think"] == "high"
    streamed = events((await ask(able, stream=True, **asked)).text)
    assert [one["content_block"]["type"] for one in streamed if one["type"] == "content_block_start"] == [
        "thinking",
        "text",
        "tool_use",
        "tool_use",
    ]


async def test_what_the_machine_is_sent(able: Box, ollama: OllamaDouble):
    turns = [
        {"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": "text", "text": "Now."}]},
        {"role": "system", "content": "Be careful."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": ""},
                {"type": "text", "text": "I do."},
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "x"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "And?"},
                {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "nothing there"},
            ],
        },
    ]
    billing = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=1;"}
    system = [billing, {"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    answer = await ask(
        able,
        system=system,
        messages=turns,
        tools=[TOOL],
        temperature=0.5,
        top_p=0.9,
        top_k=40,
        stop_sequences=["END"],
        metadata={"user_id": "somebody"},
        context_management={"edits": []},
        some_unknown_field=1,
    )
    assert answer.status_code == 200, answer.text
    sent = orjson.loads(ollama.received[0])
    reminded = "Look.\nNow.\n<system-reminder>\nBe careful.\n</system-reminder>"
    arguments = {"index": 0, "name": "look", "arguments": {"at": "x"}}
    assert sent["messages"] == [
        {"role": "system", "content": "One.\nTwo."},
        {"role": "user", "content": reminded},
        {
            "role": "assistant",
            "content": "I do.",
            "thinking": "Hm.",
            "tool_calls": [{"id": "toolu_1", "function": arguments}],
        },
        {"role": "tool", "content": "Error: nothing there", "tool_name": "look", "tool_call_id": "toolu_1"},
        {"role": "user", "content": "And?"},
    ]
    assert sent["options"] == {
        "num_ctx": 8192, "num_predict": 20, "stop": ["END"], "temperature": 0.5, "top_p": 0.9, "top_k": 40,
    }  # fmt: skip


NAMED: dict[str, tuple[dict[str, Any], str]] = {
    "no max_tokens": ({"max_tokens": None}, "max_tokens"),
    "max_tokens of none": ({"max_tokens": 0}, "max_tokens"),
    "no messages": ({"messages": []}, "messages"),
    "a role": ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
    "a block": ({"messages": [{"role": "user", "content": [{"type": "zap"}]}]}, "'zap'"),
    "a picture's address": (
        {"messages": [{"role": "user", "content": [
            {"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/x.png"}}]}]},
        "messages[0].content[0].source.url",
    ),
    "a picture that names a file": (
        {"messages": [{"role": "user", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "/etc/passwd"}}]}]},
        "messages[0].content[0].source.data",
    ),
    "a document of pages": (
        {"messages": [{"role": "user", "content": [
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}]}]},
        "'application/pdf'",
    ),
    "a tool of the provider's": ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search_2025"),
    "a temperature": ({"temperature": 1.5}, "temperature"),
    "an effort": ({"output_config": {"effort": "huge"}}, "output_config.effort"),
    "a form": ({"output_config": {"format": {"type": "xml"}}}, "output_config.format.type"),
    "a choice without tools": ({"tool_choice": {"type": "any"}}, "tool_choice"),
    "a choice of none of the tools": ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "x"}}, "tool_choice"),
}  # fmt: skip


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", NAMED)
async def test_what_cannot_be_had_is_named(able: Box, ollama: OllamaDouble, name: str, stream: bool):
    asked, word = NAMED[name]
    answer = await ask(able, stream=stream, **asked)
    assert answer.status_code == 400, answer.text
    said = answer.json()
    assert (said["type"], said["error"]["type"]) == ("error", "invalid_request_error")
    assert word in said["error"]["message"]
    assert said["request_id"] == answer.headers["request-id"]
    assert ollama.received == []


async def test_a_prompt_that_is_too_long_is_told_in_the_words_that_clients_read(gateway: Box, ollama: OllamaDouble):
    answer = await ask(gateway, messages=[{"role": "user", "content": "word " * 80_000}])
    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "type": "invalid_request_error",
        "message": "prompt is too long: 100000 tokens > 8192 maximum",
    }
    ollama.scripts.append(
        refuses(400, "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it")
    )
    answer = await ask(gateway)
    assert answer.json()["error"]["message"] == "prompt is too long: 9000 tokens > 8192 maximum"


async def test_errors_of_the_gateway_speak_the_dialect(gateway: Box, ollama: OllamaDouble):
    unknown = await gateway.http.post(MESSAGES, content=b"{}", headers={"authorization": "Bearer sk_live_no"})
    assert (unknown.status_code, unknown.json()["error"]["type"]) == (401, "authentication_error")
    lost = await gateway.http.post(f"{MESSAGES}/batches", content=b"{}")
    assert (lost.status_code, lost.json()["error"]["type"]) == (404, "not_found_error")
    assert (await ask(gateway, path="/v1/v1/messages")).status_code == 200
    ollama.scripts.append(refuses(500, "the runner died"))
    failed = await ask(gateway)
    assert (failed.status_code, failed.json()["error"]["type"]) == (502, "api_error")
    assert (await gateway.certificate(failed.headers["x-pulse-proof"]))["response"]["ending"] == "failed"


async def test_a_stream_that_breaks_ends_with_an_error(gateway: Box, ollama: OllamaDouble):
    ollama.scripts.append(says(line("Hel"), "die"))
    answer = await ask(gateway, stream=True)
    assert told(answer.text) == ["message_start", "content_block_start", "content_block_delta", "error"]
    error = events(answer.text)[-1]
    assert error["error"]["type"] == "api_error"
    assert error["request_id"] == answer.headers["request-id"]
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert (said["response"]["ending"], said["response"]["sha256"]) == ("failed", sha256(answer.content))


async def test_a_silent_model_is_waited_for_with_pings_and_then_with_content(
    gateway: Box, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
):
    # gateway.md, "Streaming": headers and a ping every 10 s; after 200 s an open text block with empty deltas. Here a
    # pause counts 100 s, so that it is two pings and then content.
    monkeypatch.setattr(serving, "KEEP_ALIVE_SECONDS", 0.02)
    monkeypatch.setattr("appliance.dialects.anthropic.answer.CONTENT_AFTER_SECONDS", 0.05)
    go_on = asyncio.Event()
    ollama.scripts.append(says(go_on, line(thinking="Hm."), line("Hello"), done()))
    async with gateway.http.stream(
        "POST", MESSAGES, content=orjson.dumps({"max_tokens": 9, "messages": HI, "stream": True})
    ) as answer:
        text = ""
        async for piece in answer.aiter_text():
            text += piece
            if text.count('"text_delta","text":""') > 1:
                go_on.set()
    start, *rest = events(text)
    assert start["type"] == "message_start"
    assert [one["type"] for one in rest[:3]] == ["ping", "ping", "ping"]
    blocks = [one["content_block"]["type"] for one in rest if one["type"] == "content_block_start"]
    assert blocks == ["text", "thinking", "text"]
    assert [one["index"] for one in rest if one["type"] == "content_block_stop"] == [0, 1, 2]
    assert told(text)[-2:] == ["message_delta", "message_stop"]


async def test_a_client_that_leaves_ends_the_work(gateway: Box, ollama: OllamaDouble):
    ollama.scripts.append(says(line("Hel"), asyncio.Event()))
    body = orjson.dumps({"max_tokens": 9, "messages": HI, "stream": True})
    async with gateway.http.stream("POST", MESSAGES, content=body) as answer:
        proof_id = answer.headers["x-pulse-proof"]
        await anext(answer.aiter_bytes())
    await until(lambda: ollama.left == 1)
    async with asyncio.timeout(5):
        while (await gateway.http.get(f"/v1/proofs/{proof_id}")).status_code == 404:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert (await gateway.certificate(proof_id))["response"]["ending"] == "cancelled"


class TestCounting:
    """routing.md ("Auto-classify"): a quarter of the characters of the caller's own text, rounded up."""

    async def count(self, gateway: Box, **fields: Any) -> int:
        answer = await gateway.http.post(f"{MESSAGES}/count_tokens?beta=true", content=orjson.dumps(fields))
        assert answer.status_code == 200, answer.text
        (number,) = answer.json().values()
        return number

    async def test_text_of_all_kinds(self, gateway: Box):
        turns = [
            {"role": "user", "content": "é" * 10},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {"a": [1, "b"]}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x" * 7}]},
        ]
        characters = len("Be brief.") + 10 + len('{"a":[1,"b"]}') + 7
        assert await self.count(gateway, system="Be brief.", messages=turns) == -(-characters // 4)

    async def test_each_tool_is_its_compact_json(self, gateway: Box):
        written = orjson.dumps(TOOL).decode()
        assert await self.count(gateway, messages=HI, tools=[TOOL, TOOL]) == -(-(2 + 2 * len(written)) // 4)

    async def test_it_is_what_routing_goes_by(self, gateway: Box):
        long = [{"role": "user", "content": "x" * 1997}]
        assert await self.count(gateway, messages=long) == 500
        task = await gateway.certificate((await ask(gateway, messages=long)).headers["x-pulse-proof"])
        assert task["routing"]["taskType"] == "complex"
        short = [{"role": "user", "content": "x" * 1996}]
        assert await self.count(gateway, messages=short) == 499
        task = await gateway.certificate((await ask(gateway, messages=short)).headers["x-pulse-proof"])
        assert task["routing"]["taskType"] == "simple"

    async def test_nobody_is_asked_and_nothing_is_written_down(self, gateway: Box, ollama: OllamaDouble):
        before = await gateway.read(lambda conn: conn.execute("SELECT count(*) FROM log_entries").fetchone())
        counts = await asyncio.gather(*(self.count(gateway, messages=HI) for _ in range(14)))
        assert counts == [1] * 14
        assert ollama.received == []
        assert await gateway.read(lambda conn: conn.execute("SELECT count(*) FROM log_entries").fetchone()) == before

    async def test_what_is_no_body_is_refused(self, gateway: Box):
        answer = await gateway.http.post(f"{MESSAGES}/count_tokens", content=b'{"messages": 1}')
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


async def test_the_same_key_in_either_header(gateway: Box):
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http:
        body = orjson.dumps({"max_tokens": 9, "messages": HI})
        for headers in ({"x-api-key": gateway.key}, {"authorization": f"Bearer {gateway.key}"}):
            assert (await http.post(MESSAGES, content=body, headers=headers)).status_code == 200


async def test_an_empty_list_of_calls_is_none(able: Box, ollama: OllamaDouble):
    ollama.default = says(line("Hello", tool_calls=[]), done(tool_calls=[]))
    answer = (await ask(able, tools=[TOOL])).json()
    assert (answer["content"], answer["stop_reason"]) == ([{"type": "text", "text": "Hello"}], "end_turn")


async def test_a_call_before_the_machine_is_done_ends_to_be_answered(able: Box, ollama: OllamaDouble):
    # dialects.md §4, 4 and 6: what says `stop` behind a call is the end of a call all the same.
    ollama.default = says(line(tool_calls=[called("look", {})]), done("stop"))
    assert (await ask(able, tools=[TOOL])).json()["stop_reason"] == "tool_use"
    streamed = events((await ask(able, tools=[TOOL], stream=True)).text)
    assert streamed[-2]["delta"]["stop_reason"] == "tool_use"


async def test_the_answer_of_a_call_that_is_cut(gateway: Box, ollama: OllamaDouble):
    ollama.scripts.append(answers("Hel", reason="length"))
    assert (await ask(gateway)).json()["stop_reason"] == "max_tokens"


async def test_the_other_dialect_is_what_it_was(gateway: Box):
    answer = await gateway.http.post(CHAT, content=gateway.body(), headers={"anthropic-version": "2023-06-01"})
    assert answer.json()["object"] == "chat.completion"
