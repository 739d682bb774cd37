"""The double of Anthropic speaks as documented, and the dialect reads it as such ("Streaming messages", "Errors")."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from appliance.dialects.anthropic.body import written
from appliance.dialects.chat import Chat, Finish, Message, Text, TextDelta, ToolCallDelta, Usage
from tests.upstreams.anthropic import (
    BROKEN,
    INVALID_KEY,
    KEY,
    OVERLOADED,
    RATE_LIMITED,
    TOO_LARGE,
    TOO_LONG,
    AnthropicDouble,
    Script,
    after,
    answers,
    anthropic_double,
    calls,
    echoes,
    says,
)
from tests.upstreams.anthropic_events import end, error, parsed, start, text, thinking, tool_use
from tests.waiting import until

HI = Chat((Message("user", (Text("hi"),)),))


async def post(double: AnthropicDouble, body: bytes, **headers: str) -> tuple[int, Any, bytes]:
    """Status, headers and body of a call."""
    sent = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": KEY, **headers}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{double.url}/v1/messages", data=body, headers=sent) as response,
    ):
        return response.status, response.headers, await response.read()


def hi(**more: Any) -> bytes:
    return json.dumps(
        {"model": "claude-double", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], **more}
    ).encode()


async def test_the_dialect_and_the_double_understand_each_other():
    async with anthropic_double() as double:
        double.scripts.append(calls(("f", ('{"a":', "1}")), ("g", ()), before="Looking."))
        made = written(HI, model="claude-double", new_id=lambda: "call_x")
        status, headers, body = await post(double, made.body, **made.headers)
        reader = made.reader()
        events = [one for name, data in parsed(body) for one in reader.read(name, data)]
        assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert events == [
            TextDelta("Looking."),
            ToolCallDelta(0, "call_x", "f", '{"a":1}'),
            ToolCallDelta(1, "call_x", "g", "{}"),
            Finish("tool_calls", Usage(7, 3)),
        ]
        assert double.received == [made.body]
        assert double.headers[0]["anthropic-version"] == "2023-06-01"


async def test_the_events_have_the_documented_order():
    async with anthropic_double() as double:
        _, _, body = await post(double, hi(stream=True))
    kinds = [name for name, _ in parsed(body)]
    assert kinds == [
        "message_start", "ping", "content_block_start", *["content_block_delta"] * 3, "content_block_stop",
        "message_delta", "message_stop",
    ]  # fmt: skip
    assert all(json.loads(data)["type"] == name for name, data in parsed(body))


async def test_without_a_stream_it_answers_with_one_message():
    async with anthropic_double() as double:
        double.scripts.append(
            says(start(), thinking("Hm", "."), text("a", "b", index=1), tool_use("f", "{}", index=2), end("tool_use"))
        )
        _, _, body = await post(double, hi())
    message = json.loads(body)
    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_use"]
    assert message["content"][1]["text"] == "ab"
    assert (message["stop_reason"], message["usage"]["output_tokens"]) == ("tool_use", 3)


async def test_it_echoes_every_text_that_it_was_sent():
    messages = [{"role": "user", "content": [{"type": "text", "text": "é x"}, {"type": "text", "text": "y"}]}]
    async with anthropic_double(default=echoes(2)) as double:
        _, _, body = await post(double, hi(system="S", messages=messages))
    assert json.loads(body)["content"] == [{"type": "text", "text": "S\né x\ny"}]


@pytest.mark.parametrize(
    ("script", "status", "kind"),
    [(INVALID_KEY, 401, "key"), (TOO_LONG, 400, "context"), (TOO_LARGE, 413, "size"), (RATE_LIMITED, 429, "busy"),
     (BROKEN, 500, "failed"), (OVERLOADED, 529, "busy")],
)  # fmt: skip
async def test_its_refusals_are_understood(script: Script, status: int, kind: str):
    made = written(HI, model="claude-double", new_id=str)
    async with anthropic_double(default=script) as double:
        given, headers, body = await post(double, made.body)
    assert (given, made.refusal(given, body).kind) == (status, kind)
    assert headers.get("retry-after") == ("2" if status == 429 else None)


@pytest.mark.parametrize(
    ("body", "headers", "status", "kind"),
    [
        (hi(), {"x-api-key": "sk-ant-wrong"}, 401, "key"),
        (hi(), {"x-api-key": ""}, 401, "key"),
        (hi(model="claude-none"), {}, 404, "model"),
        (b"{", {}, 400, "request"),
        (hi(messages=[]), {}, 400, "request"),
        (hi(), {"content-type": "application/octet-stream"}, 400, "request"),
    ],
)
async def test_it_refuses_by_itself_what_the_api_refuses(body: bytes, headers: dict[str, str], status: int, kind: str):
    async with anthropic_double() as double:
        given, _, told = await post(double, body, **headers)
    assert (given, written(HI, model="m", new_id=str).refusal(given, told).kind) == (status, kind)


async def test_a_key_may_come_as_a_bearer():
    async with anthropic_double() as double:
        status, _, _ = await post(double, hi(), **{"x-api-key": "", "authorization": f"Bearer {KEY}"})
    assert status == 200


@pytest.mark.parametrize("first", [(), (start(), text("a"))])
async def test_it_dies_and_ends_early_at_any_point(first: tuple[bytes, ...]):
    async with anthropic_double() as double:
        double.scripts += [says(*first, "die"), says(*first)]
        with pytest.raises(aiohttp.ClientError):
            await post(double, hi(stream=True))
        _, _, body = await post(double, hi(stream=True))
    assert body == b"".join(first)


async def test_it_fails_in_mid_stream():
    async with anthropic_double(default=says(start(), error("overloaded_error", "Overloaded"))) as double:
        status, _, body = await post(double, hi(stream=True))
    assert (status, parsed(body)[-1][0]) == (200, "error")


@pytest.mark.parametrize("late", [True, False])
async def test_it_holds_back_its_status_or_the_rest_and_sees_its_caller_leave(late: bool):
    go = asyncio.Event()
    script = after(go, answers("x")) if late else says(start(), go, text("a"), end())
    async with anthropic_double(default=script) as double:
        call = asyncio.create_task(post(double, hi(stream=True)))
        await until(lambda: double.active == 1)
        call.cancel()
        await until(lambda: double.left == 1)
    assert double.active == 0


async def test_it_counts_tokens_and_lists_its_models():
    headers = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
    async with anthropic_double() as double, aiohttp.ClientSession(double.url, headers=headers) as session:
        counted = {"model": "claude-double", "messages": [{"role": "user", "content": "hi"}]}
        async with session.post("/v1/messages/count_tokens", json=counted) as response:
            assert (await response.json())["input_tokens"] > 0
        async with session.get("/v1/models", params={"limit": "1"}) as response:
            listed = await response.json()
        async with session.get("/v1/models/claude-none") as response:
            assert response.status == 404
        async with session.get("/v2/nothing") as response:
            assert (await response.json())["error"]["message"] == "Not Found"
    assert [model["id"] for model in listed["data"]] == ["claude-double"]
    assert (listed["has_more"], listed["first_id"], listed["last_id"]) == (True, "claude-double", "claude-double")
