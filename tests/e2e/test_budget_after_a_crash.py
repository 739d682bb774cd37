"""A key's ceiling when the daemon dies in the middle: nothing is used twice, and nothing stays reserved.

Source: routing.md ("Metering"); operations.md ("Never lose anything").
"""

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path

import httpx
import orjson

from tests.e2e.installation import Installation
from tests.upstreams.ollama import done, line, ollama_double, says
from tests.waiting import until

CALLS, CEILING = 200, 50
BODY = orjson.dumps({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9})
PATHS = ("/v1/chat/completions", "/v1/messages")


async def ask_all(made: Installation, key: str, ended: list[int]) -> None:
    """Many calls at once; `ended` has the status of each that has ended, 0 where the daemon died on it."""
    limits = httpx.Limits(max_connections=CALLS)
    headers = {"authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=made.base, limits=limits, headers=headers, timeout=60) as http:

        async def ask(path: str) -> None:
            try:
                ended.append((await http.post(path, content=BODY)).status_code)
            except httpx.TransportError:
                ended.append(0)

        await asyncio.gather(*(ask(PATHS[i % 2]) for i in range(CALLS)))


def charged(made: Installation) -> Sequence[int]:
    return [row["questions_milli"] for row in made.ledger() if row["questions_milli"]]


async def test_of_200_calls_and_200_more_after_kill_9_exactly_50_are_served(tmp_path: Path):
    async with ollama_double() as double:
        made = Installation(tmp_path / "state", double.url)
        made.environ["OLLAMA_NUM_PARALLEL"] = str(CEILING)  # all that are served run at once
        await asyncio.to_thread(made.start)
        key = made.json("key", "create", "--name", "limited", "--ceiling", str(CEILING / 4))["secret"]
        # Some end, the others are in flight when the daemon dies.
        held = asyncio.Event()
        double.scripts.extend([double.default] * 20)
        double.default, healthy = says(line("Hel"), held, line("lo"), done("stop")), double.default
        statuses: list[int] = []
        first = asyncio.ensure_future(ask_all(made, key, statuses))
        await until(lambda: len(statuses) == CALLS - CEILING + 20 and len(double.received) == CEILING, 30)
        await asyncio.to_thread(made.stop, signal.SIGKILL)
        await first
        assert (statuses.count(200), statuses.count(402), statuses.count(0)) == (20, CALLS - CEILING, CEILING - 20)
        double.default = healthy
        held.set()

        await asyncio.to_thread(made.start)
        statuses = []
        await ask_all(made, key, statuses)
        assert (statuses.count(200), statuses.count(402)) == (CEILING - 20, CALLS - CEILING + 20)
        assert list(charged(made)) == [250] * CEILING
        assert made.stop() == 0
        # What the crash cut off is told, and free.
        cut = [row for row in made.ledger() if row["ending"] == "failed"]
        assert [row["questions_milli"] for row in cut] == [0] * (CEILING - 20)
