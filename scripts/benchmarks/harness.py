"""What the gateway adds to an agent harness's second turn: 200 KB and 60 tools, routed, masked and forwarded.

Each conversation is a new one, so that the second turn finds in the shield's memory what its own first turn left there
and nothing else. Doubles of providers and the client are in this process, the daemon in its own; each turn goes to the
double directly and through the gateway in turn.
"""

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from scripts.benchmarks.results import percentile, report
from tests.e2e.installation import SYNAPSE, Installation
from tests.upstreams.anthropic import KEY as ANTHROPIC_KEY
from tests.upstreams.anthropic import answers as anthropic_answers
from tests.upstreams.anthropic import anthropic_double
from tests.upstreams.ollama import answers as ollama_answers
from tests.upstreams.ollama import ollama_double
from tests.upstreams.openai import answers as openai_answers
from tests.upstreams.openai import openai_double

CONVERSATIONS = 40
TOOLS = 60
PROSE = (
    "Read the file before you change it, and say in one sentence what you are going to do. Prefer the smallest change "
    "that does what was asked. Never touch what you were not asked to touch; a test that fails has to be understood "
    "before it is changed. Paths are absolute. When a command fails, read its output to the end. "
)
OPENAI_KEY = "sk-of-the-double"
MESSAGES, COMPLETIONS = "/v1/messages", "/v1/chat/completions"
VERSIONED = {"anthropic-version": "2023-06-01", "content-type": "application/json"}

Json = dict[str, Any]


def described(words: int, seed: int) -> str:
    return f"({seed}) " + (PROSE * (words // 55 + 1))[: words * 6]


def tool(n: int) -> Json:
    properties = {
        f"argument_{name}": {"type": "string", "description": described(30, n)} for name in ("path", "text", "mode")
    }
    schema = {"type": "object", "properties": properties, "required": ["argument_path"], "additionalProperties": False}
    return {"name": f"Tool{n}", "description": described(350, n), "input_schema": schema}


def turns(n: int) -> tuple[Json, Json]:
    """The first and the second turn of conversation `n`, in Anthropic's dialect."""
    files = [
        {"type": "text", "text": f"File {i} of conversation {n}, by user{i}.{n}@example.org:\n{described(500, i * n)}"}
        for i in range(8)
    ]
    first = {
        "model": "pulse-agent",
        "max_tokens": 1000,
        "stream": True,
        "system": [{"type": "text", "text": described(1000, n), "cache_control": {"type": "ephemeral"}}],
        "tools": [tool(i) for i in range(TOOLS)],
        "messages": [{"role": "user", "content": files}],
    }
    call = {"type": "tool_use", "id": f"toolu_{n}", "name": "Tool1", "input": {"argument_path": f"/home/u/{n}.py"}}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": described(300, n)}
    more = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return first, {**first, "messages": first["messages"] + more}


def in_openai(body: Json) -> Json:
    """The same turn in OpenAI's dialect."""
    messages: list[Json] = [{"role": "system", "content": body["system"][0]["text"]}]
    for message in body["messages"]:
        block = message["content"][0]
        if block["type"] == "text":
            messages.append({"role": "user", "content": message["content"]})
        elif block["type"] == "tool_use":
            function = {"name": block["name"], "arguments": orjson.dumps(block["input"]).decode()}
            called = [{"id": block["id"], "type": "function", "function": function}]
            messages.append({"role": "assistant", "content": None, "tool_calls": called})
        else:
            messages.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]})
    tools = [
        {
            "type": "function",
            "function": {"name": one["name"], "description": one["description"], "parameters": one["input_schema"]},
        }
        for one in body["tools"]
    ]
    return {"model": body["model"], "stream": True, "messages": messages, "tools": tools}


@dataclass(frozen=True)
class Way:
    """From a dialect to a provider: where calls come in and in which form, and where they would go directly."""

    name: str
    provider: str
    path: str
    written: Callable[[Json], Json]
    url: str
    straight: Callable[[Json], Json]
    model: str


def as_it_is(body: Json) -> Json:
    return body


async def main() -> None:
    figures: dict[str, float] = {}
    folder = Path(tempfile.mkdtemp(prefix="synapse-bench-"))
    able = ["completion", "tools"]
    async with (
        anthropic_double(lenient=True, default=anthropic_answers("Done.")) as anthropic,
        openai_double(key=OPENAI_KEY, default=openai_answers("Done.")) as openai,
        ollama_double(default=ollama_answers("Done."), capabilities=able, loaded_context=200_000) as ollama,
    ):
        made = Installation(folder / "state", ollama.url)
        await asyncio.to_thread(made.start)
        try:
            await asyncio.to_thread(add, made, "anthropic", anthropic.url, ANTHROPIC_KEY, "claude-double")
            await asyncio.to_thread(add, made, "openai", openai.url, OPENAI_KEY, "gpt-double")
            messages, completions = f"{anthropic.url}/v1/messages", f"{openai.url}/chat/completions"
            ways = [
                Way("Anthropic to Anthropic", "anthropic", MESSAGES, as_it_is, messages, as_it_is, "claude-double"),
                Way("Anthropic to OpenAI", "openai", MESSAGES, as_it_is, completions, in_openai, "gpt-double"),
                Way("OpenAI to OpenAI", "openai", COMPLETIONS, in_openai, completions, in_openai, "gpt-double"),
                Way("Anthropic to Ollama", "ollama", MESSAGES, as_it_is, f"{ollama.url}/api/chat", as_it_is, "double"),
            ]
            async with aiohttp.ClientSession(trust_env=False) as session:
                for way in ways:
                    await asyncio.to_thread(made.command, "policy", "active", way.provider)
                    await measure(session, made, way, figures)
        finally:
            await asyncio.to_thread(made.stop)
    report("harness", figures, unit={"body of the second turn": "kB"})


def add(made: Installation, kind: str, url: str, key: str, model: str) -> None:
    command = [SYNAPSE, "provider", "add", kind, "--kind", kind, "--base-url", url, "--full", model, "--key-stdin"]
    subprocess.run(command, env=made.environ, input=key.encode(), check=True, capture_output=True)


async def measure(session: aiohttp.ClientSession, made: Installation, way: Way, figures: dict[str, float]) -> None:
    keys = {"x-api-key": ANTHROPIC_KEY, "authorization": f"Bearer {OPENAI_KEY}"}
    took: dict[str, list[float]] = {"directly": [], "first": [], "second": []}

    async def post(url: str, body: Json, headers: dict[str, str]) -> float:
        data = orjson.dumps(body)
        began = time.perf_counter()
        async with session.post(url, data=data, headers={**VERSIONED, **headers}) as answer:
            assert answer.status == 200, await answer.text()
            await answer.read()
        return (time.perf_counter() - began) * 1000

    for n in range(1, CONVERSATIONS + 1):
        first, second = turns(n)
        figures["body of the second turn"] = len(orjson.dumps(second)) / 1000
        took["first"].append(await post(made.base + way.path, way.written(first), made.headers))
        took["directly"].append(await post(way.url, {**way.straight(second), "model": way.model}, keys))
        took["second"].append(await post(made.base + way.path, way.written(second), made.headers))
    for share, word in ((0.5, "median"), (0.95, "95th percentile")):
        for turn in ("first", "second"):
            added = percentile(took[turn], share) - percentile(took["directly"], share)
            figures[f"{way.name}: added to the {turn} turn, {word}"] = added


if __name__ == "__main__":
    asyncio.run(main())
