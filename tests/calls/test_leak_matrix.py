"""Every category in every position to every provider, whole and streamed: nothing leaks and all is restored.

Generated. Each cell asserts that the provider got a token where the value stood, that no byte of what it received is
the value in any encoding, and that the caller reads the value in the answer.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

from appliance.shield.categories import MEDICAL
from tests.box import Box
from tests.calls.outside import KINDS, TOKEN, Double, answer_text, last_body, outside, received, spellings
from tests.upstreams import anthropic as anthropic_upstream
from tests.upstreams import openai as openai_upstream

VALUES: dict[str, tuple[str, str]] = {
    "EMAIL": ("jane.roe@example.org", "Write to {}."),
    "PHONE": ("+33 6 12 34 56 78", "Call {} now."),
    "CREDIT_CARD": ("4111 1111 1111 1111", "Card {} please."),
    "IBAN": ("FR76 3000 6000 0112 3456 7890 189", "IBAN {}, thanks."),
    "SSN": ("219-09-9998", "SSN {} here."),
    "IP_ADDRESS": ("203.0.113.77", "From {} today."),
    "MAC_ADDRESS": ("00:1A:2B:3C:4D:5E", "Adapter {} seen."),
    "NAME": ("Jean Dupuis", "Patient : {}, stable."),
    "DATE": ("12/03/1985", "Seen on {} again."),
    "AGE": ("97", "A {}-year-old patient."),
    "ZIP": ("75002", "12 rue de la Paix, {} Paris."),
    "URL": ("https://portal.example.org/p/77", "See {} first."),
    "MRN": ("MRN-5669767", "MRN: {} filed."),
    "NIR": ("1 85 05 78 006 084 91", "NIR {} noted."),
    "NHS_NUMBER": ("943 476 5919", "NHS number {} noted."),
    "VIN": ("1HGCM82633A004352", "VIN {} noted."),
}

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


def nested(text: str) -> str:
    """A document in a string of a document."""
    return orjson.dumps({"rows": [{"note": orjson.dumps({"said": text}).decode()}]}).decode()


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


def tokens_of(body: bytes) -> str:
    return " ".join(dict.fromkeys(TOKEN.findall(body.decode())))


async def say_tokens_openai(request: web.Request) -> web.StreamResponse:
    said = tokens_of(await request.read())
    return await openai_upstream.answers(*(said[i : i + 3] for i in range(0, len(said), 3)))(request)


async def say_tokens_anthropic(request: web.Request, body: Any) -> web.StreamResponse:
    said = tokens_of(orjson.dumps(body))
    return await anthropic_upstream.answers(*(said[i : i + 3] for i in range(0, len(said), 3)))(request, body)


def listen(double: Double) -> None:
    """From now on the double says the tokens that it gets, three characters at a time."""
    if isinstance(double, openai_upstream.OpenAIDouble):
        double.default = say_tokens_openai
        double.received.clear()
    else:
        double.default = say_tokens_anthropic
        double.received.clear()
        double.headers.clear()


async def cell(gateway: Box, double: Double, fields: dict[str, Any], value: str, category: str, where: str) -> None:
    listen(double)
    answer = await gateway.chat(gateway.body(**fields))
    assert answer.status_code == 200, (where, answer.text)
    got = received(double)
    assert re.search(rf"\[{category}_".encode(), got), (where, "no token arrived")
    # Two digits stand in lengths and ports as well: with the word beside them they do not.
    for form in spellings(value) if len(value) > 2 else {f"{value}-year".encode()}:
        assert form not in got, (where, form)
    assert value in answer_text(answer), (where, answer_text(answer))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["local", "cloud"])
async def test_nothing_leaks_and_all_is_restored(tmp_path: Path, mode: str, kind: str, stream: bool):
    # In the mode `local`, a call without tools would stay in the building: with them it is an agent's.
    agentic: dict[str, Any] = {"tools": [TOOL]} if mode == "local" else {}
    async with outside(tmp_path / "state", kind, mode=mode) as (gateway, double):
        for category in MEDICAL:
            value, sentence = VALUES[category]
            for position, build in POSITIONS.items():
                fields = {"stream": stream, **agentic, **build(sentence.format(value))}
                await cell(gateway, double, fields, value, category, f"{category} in {position} to {kind}")


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
