"""What more machines bring: 64 callers on 1, 2, 4 and 8 doubles of Ollama with 4 slots and answers of 0.2 s.

The daemon is a process of its own; the doubles and the callers share this one.
"""

import asyncio
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import orjson

from scripts.benchmarks.results import percentile, report
from tests.e2e.installation import Installation
from tests.upstreams.ollama import done, line, ollama_double, says

SIZES = (1, 2, 4, 8)
CALLERS = 64
SLOTS = 4
ANSWER_SECONDS = 0.2
ROUNDS = 60
"""Answers of each slot."""

BODY = orjson.dumps({"model": "pulse-auto", "messages": [{"role": "user", "content": "Hi"}]})


async def measure(machines: int) -> tuple[float, list[float]]:
    """Calls a second while every slot is in use, and how long each call took."""
    async with AsyncExitStack() as stack:
        slow = says(ANSWER_SECONDS, line("Hello"), done())
        doubles = [await stack.enter_async_context(ollama_double(default=slow)) for _ in range(machines)]
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        made = Installation(Path(directory) / "state", *(double.url for double in doubles))
        await asyncio.to_thread(made.start)
        connector = aiohttp.TCPConnector(limit=0)
        session = await stack.enter_async_context(aiohttp.ClientSession(headers=made.headers, connector=connector))
        left = iter(range(ROUNDS * SLOTS * machines))
        ended: list[float] = []
        took: list[float] = []

        async def caller() -> None:
            for _ in left:
                began = time.monotonic()
                async with session.post(f"{made.base}/v1/chat/completions", data=BODY) as answer:
                    assert answer.status == 200, await answer.text()
                    await answer.read()
                ended.append(time.monotonic())
                took.append(ended[-1] - began)

        await asyncio.gather(*(caller() for _ in range(CALLERS)))
        await asyncio.to_thread(made.stop)
    slots = SLOTS * machines
    steady = ended[2 * slots : -slots]
    return (len(steady) - 1) / (steady[-1] - steady[0]), took


async def main() -> None:
    figures: dict[str, float] = {}
    unit: dict[str, str] = {}
    for machines in SIZES:
        rate, took = await measure(machines)
        named = f"{machines} machine{'s' if machines > 1 else ''}"
        figures[f"{named}: calls a second"], unit[f"{named}: calls a second"] = rate, "/s"
        first = figures["1 machine: calls a second"]
        figures[f"{named}: as many as one"], unit[f"{named}: as many as one"] = rate / first, "times"
        figures[f"{named}: a call, median"] = 1000 * percentile(took, 0.5)
    report("machines", figures, unit=unit)


if __name__ == "__main__":
    asyncio.run(main())
