"""Every category in every position to every provider, whole and streamed: nothing leaks and all is restored.

Generated; `leaks` says what is put where, and what each call asserts. This one comes in in OpenAI's dialect.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from tests.box import CHAT
from tests.calls.leaks import masked_and_restored, matrix, nested, saying, tokens_of
from tests.calls.outside import KINDS, answer_text, last_body, outside, received, spellings
from tests.upstreams import anthropic as anthropic_upstream
from tests.upstreams import openai as openai_upstream

CALLED = [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
TOOL = {"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}}
HI = {"role": "user", "content": "Hi"}


def in_call(text: str) -> list[Any]:
    return [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "look", "arguments": orjson.dumps({"q": text}).decode()},
        }
    ]


def in_result(content: str) -> list[Any]:
    return [
        HI,
        {"role": "assistant", "tool_calls": CALLED},
        {"role": "tool", "tool_call_id": "call_1", "content": content},
    ]


POSITIONS: dict[str, Callable[[str], dict[str, Any]]] = {
    "system": lambda text: {"messages": [{"role": "system", "content": text}, HI]},
    "developer": lambda text: {"messages": [{"role": "developer", "content": text}, HI]},
    "user": lambda text: {"messages": [{"role": "user", "content": text}]},
    "assistant": lambda text: {"messages": [HI, {"role": "assistant", "content": text}, HI]},
    "text part": lambda text: {"messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]},
    "tool description": lambda text: {
        "messages": [HI],
        "tools": [{"type": "function", "function": {**TOOL["function"], "description": text}}],
    },
    "tool-call argument": lambda text: {
        "messages": [
            HI,
            {"role": "assistant", "tool_calls": in_call(text)},
            {"role": "tool", "tool_call_id": "call_1", "content": "done"},
        ]
    },
    "tool result": lambda text: {"messages": in_result(text)},
    "nested JSON": lambda text: {"messages": in_result(nested(text))},
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["local", "cloud"])
async def test_nothing_leaks_and_all_is_restored(tmp_path: Path, mode: str, kind: str, stream: bool):
    # In the mode `local`, a call without tools would stay in the building: with them it is an agent's.
    agentic: dict[str, Any] = {"tools": [TOOL]} if mode == "local" else {}
    async with outside(tmp_path / "state", kind, mode=mode) as (gateway, double):
        for position, categories in matrix(POSITIONS, kind, stream, mode == "cloud"):
            fields = {"stream": stream, **agentic, **POSITIONS[position](saying(categories))}
            where = f"{categories} in {position} to {kind}"
            await masked_and_restored(gateway, double, CHAT, orjson.loads(gateway.body(**fields)), categories, where)


@pytest.mark.parametrize("kind", KINDS)
async def test_who_asks_is_told_to_nobody(tmp_path: Path, kind: str):
    # gateway.md, "Sensitive data that is not text": end users are replaced by a keyed hash, always the same.
    who = "jane.roe@example.org"
    asked = {"user": who, "safety_identifier": who, "prompt_cache_key": who, "metadata": {"user_id": who, "mail": who}}
    seen: list[Any] = []
    async with outside(tmp_path / "state", kind, mode="cloud") as (gateway, double):
        for _ in range(2):
            answer = await gateway.chat(gateway.body(**asked))
            assert answer.status_code == 200, answer.text
            seen.append(last_body(double))
        for form in spellings(who):
            assert form not in received(double)
        assert seen[0] == seen[1]
        if kind == "openai":
            assert re.fullmatch("[0-9a-f]{32}", seen[0]["user"])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_value_comes_back_in_the_arguments_of_a_call(tmp_path: Path, kind: str, stream: bool):
    value = "Jean Dupuis"
    async with outside(tmp_path / "state", kind) as (gateway, double):

        async def call_openai(request: web.Request) -> web.StreamResponse:
            arguments = orjson.dumps({"who": tokens_of(await request.read())}).decode()
            return await openai_upstream.calls("look", arguments, piece=2)(request)

        async def call_anthropic(request: web.Request, body: Any) -> web.StreamResponse:
            arguments = orjson.dumps({"who": tokens_of(orjson.dumps(body))}).decode()
            pieces = tuple(arguments[i : i + 2] for i in range(0, len(arguments), 2))
            return await anthropic_upstream.calls(("look", pieces))(request, body)

        double.default = call_anthropic if kind == "anthropic" else call_openai  # type: ignore[assignment]
        body = gateway.body(f"Patient : {value}, stable.", tools=[TOOL], stream=stream)
        answer = await gateway.chat(body)
        assert answer.status_code == 200, answer.text
        assert orjson.loads(answer_text(answer)) == {"who": value}
        assert value.encode() not in received(double)
