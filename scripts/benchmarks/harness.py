"""What the gateway adds to an agent harness's second turn: 200 KB and 60 tools, routed, masked and forwarded.

Each conversation is a new one, so that the second turn finds in the shield's memory what its own first turn left there
and nothing else. Doubles of providers and the client are in this process, the daemon in its own; each turn goes to the
double directly and through the gateway in turn.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from scripts.benchmarks.results import percentile, report
from tests.e2e.installation import Installation
from tests.upstreams.anthropic import KEY as ANTHROPIC_KEY
from tests.upstreams.anthropic import anthropic_double
from tests.upstreams.anthropic import answers as anthropic_answers
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

Json = dict[str, Any]


def described(words: int, seed: int) -> str:
    return f"({seed}) " + (PROSE * (words // 55 + 1))[: words * 6]


def tool(n: int) -> Json:
    properties = {
        f"argument_{name}": {"type": "string", "description": described(30, n)} for name in ("path", "text", "mode")
    }
    schema = {"type": "object", "properties": properties, "required": ["argument_path"], "additionalProperties": False}
    return {"name": f"Tool{n}", "description": described(300, n), "input_schema": schema}


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


async def main() -> None:
    figures: dict[str, float] = {}
    folder = Path(tempfile.mkdtemp(prefix="synapse-bench-"))
    async with (
        anthropic_double(lenient=True, default=anthropic_answers("Done.")) as anthropic,
        openai_double(key=OPENAI_KEY, default=openai_answers("Done.")) as openai,
        ollama_double(
            default=ollama_answers("Done."), capabilities=["completion", "tools"], loaded_context=200_000
        ) as ollama,
    ):
        made = Installation(folder / "state", ollama.url)
        await asyncio.to_thread(made.start)
        try:
            add = ("provider", "add", "--key-stdin", "--full")
            await _command(made, ANTHROPIC_KEY, *add, "claude-double", "anthropic", "--kind", "anthropic",
                           "--base-url", anthropic.url)  # fmt: skip
            await _command(made, OPENAI_KEY, *add, "gpt-double", "openai", "--kind", "openai", "--base-url", openai.url)
            async with aiohttp.ClientSession(trust_env=False) as session:
                keys = {"x-api-key": ANTHROPIC_KEY, "authorization": f"Bearer {OPENAI_KEY}"}
                ways: list[tuple[str, str, str, Callable[[Json], Json], str, Json]] = [
                    ("Anthropic to Anthropic", "anthropic", "/v1/messages", _same, f"{anthropic.url}/v1/messages",
                     {"model": "claude-double"}),
                    ("Anthropic to OpenAI", "openai", "/v1/messages", _same, f"{openai.url}/chat/completions",
                     {"model": "gpt-double"}),
                    ("OpenAI to OpenAI", "openai", "/v1/chat/completions", in_openai, f"{openai.url}/chat/completions",
                     {"model": "gpt-double"}),
                    ("Anthropic to this installation", "ollama", "/v1/messages", _same, f"{ollama.url}/api/chat", {}),
                ]  # fmt: skip
                for name, provider, path, written, url, model in ways:
                    await asyncio.to_thread(made.command, "policy", "active", provider)
                    sent = in_openai if url.endswith("completions") else _same
                    await _way(session, made, name, path, written, (url, keys, sent, model), figures)
        finally:
            await asyncio.to_thread(made.stop)
    report("harness", figures, unit={"body of the second turn": "kB"})


def _same(body: Json) -> Json:
    return body


async def _command(made: Installation, said: str, *arguments: str) -> None:
    import subprocess

    from tests.e2e.installation import SYNAPSE

    await asyncio.to_thread(
        subprocess.run, [SYNAPSE, *arguments], env=made.environ, input=said.encode(), check=True, capture_output=True
    )


async def _way(
    session: aiohttp.ClientSession,
    made: Installation,
    name: str,
    path: str,
    written: Callable[[Json], Json],
    direct: tuple[str, dict[str, str], Callable[[Json], Json], Json],
    figures: dict[str, float],
) -> None:
    url, keys, sent, model = direct
    versioned = {"anthropic-version": "2023-06-01", "content-type": "application/json"}
    took: dict[str, list[float]] = {"direct": [], "first": [], "second": []}

    async def post(to: str, body: Json, headers: dict[str, str]) -> float:
        data = orjson.dumps(body)
        figures["body of the second turn"] = len(data) / 1000
        began = time.perf_counter()
        async with session.post(to, data=data, headers={**versioned, **headers}) as answer:
            assert answer.status == 200, await answer.text()
            await answer.read()
        return (time.perf_counter() - began) * 1000

    for n in range(1, CONVERSATIONS + 1):
        first, second = turns(n)
        took["first"].append(await post(made.base + path, written(first), made.headers))
        took["direct"].append(await post(url, {**sent(second), **model}, keys))
        took["second"].append(await post(made.base + path, written(second), made.headers))
    for share, word in ((0.5, "median"), (0.95, "95th percentile")):
        straight = percentile(took["direct"], share)
        figures[f"{name}: added to the first turn, {word}"] = percentile(took["first"], share) - straight
        figures[f"{name}: added to the second turn, {word}"] = percentile(took["second"], share) - straight


if __name__ == "__main__":
    asyncio.run(main())
