"""A gateway whose calls leave: providers' doubles behind it, and what to look for in what they received."""

import base64
import html
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from appliance.admin.policy_wire import NewProvider
from tests.box import Box, box
from tests.upstreams.anthropic import KEY as ANTHROPIC_KEY
from tests.upstreams.anthropic import AnthropicDouble, anthropic_double
from tests.upstreams.openai import MISTRAL_MEMBERS, OpenAIDouble, openai_double

Double = OpenAIDouble | AnthropicDouble

KINDS = ("openai", "openai-compatible", "mistral", "anthropic")
KEY = "sk-of-the-double"
TOKEN = re.compile(r"\[[A-Z_]+(?:_\d{4})?_[a-z2-7]{8,}\]")


@asynccontextmanager
async def double_of(kind: str) -> AsyncIterator[Double]:
    if kind == "anthropic":
        async with anthropic_double() as double:
            yield double
    else:
        known = MISTRAL_MEMBERS if kind == "mistral" else None
        async with openai_double(key=KEY, known=known) as double:
            yield double


async def add(gateway: Box, double: Double, kind: str, *, name: str = "", active: bool = True) -> None:
    """Makes a double a provider, called after its kind, with a full and a fast model."""
    anthropic = kind == "anthropic"
    models = ("claude-double", "claude-double-small") if anthropic else ("gpt-double", "gpt-double-mini")
    key = ANTHROPIC_KEY if anthropic else KEY
    name = name or kind
    await gateway.admin.put_provider(NewProvider(name, kind, double.url, key, *models))  # type: ignore[arg-type]
    if active:
        await gateway.admin.set_active(name)


@asynccontextmanager
async def outside(
    state_dir: Path, kind: str, *machines: str, mode: str = "local", shield: str = "medical"
) -> AsyncIterator[tuple[Box, Double]]:
    """A gateway with one active provider; without machines it has no local lane that could answer."""
    environ = {"APP_MODE": mode, "SYNAPSE_SHIELD__MODE": shield}
    nowhere = ("http://127.0.0.1:1",)
    async with double_of(kind) as double, box(state_dir, *(machines or nowhere), **environ) as gateway:
        await add(gateway, double, kind)
        yield gateway, double


def received(double: Double) -> bytes:
    """Every byte of every request that the double got."""
    if isinstance(double, OpenAIDouble):
        return double.raw
    return b"".join([*double.received, *double.counted, *(repr(headers).encode() for headers in double.headers)])


def last_body(double: Double) -> Any:
    return orjson.loads(double.bodies[-1] if isinstance(double, OpenAIDouble) else double.received[-1])


def spellings(value: str) -> set[bytes]:
    """A value in every encoding that a body could hold it in."""
    plain = value.encode()
    forms = {value, json.dumps(value)[1:-1], quote(value), quote(value, safe=""), html.escape(value), value[::-1]}
    forms |= {base64.b64encode(plain).decode().rstrip("="), plain.hex(), value.replace("@", "\\u0040")}
    return {form.encode() for form in forms}


def answer_text(answer: httpx.Response) -> str:
    """The text of an answer in any dialect, whole or streamed, and of the arguments of its calls."""
    if answer.request.url.path.endswith("/complete"):
        return answer.json()["content"]
    anthropic = answer.request.url.path.endswith("/messages")
    if not answer.headers["content-type"].startswith("text/event-stream"):
        return _message_text(answer.json()) if anthropic else _completion_text(answer.json())
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    assert not [event for event in events if "error" in event]
    return "".join(_event_text(event) if anthropic else _chunk_text(event) for event in events)


def _completion_text(body: Any) -> str:
    message = body["choices"][0]["message"]
    return (message["content"] or "") + "".join(call["function"]["arguments"] for call in message.get("tool_calls", ()))


def _chunk_text(chunk: Any) -> str:
    said = ""
    for choice in chunk["choices"]:
        said += choice["delta"].get("content") or ""
        for call in choice["delta"].get("tool_calls", ()):
            said += call["function"].get("arguments", "")
    return said


def _message_text(body: Any) -> str:
    return "".join(
        json.dumps(block["input"], ensure_ascii=False) if "input" in block else block.get("text", "")
        for block in body["content"]
    )


def _event_text(event: Any) -> str:
    delta = event.get("delta", {})
    return delta.get("text", "") + delta.get("partial_json", "")
