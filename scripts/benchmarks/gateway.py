"""What the gateway adds to a call: on a double that answers at once, directly and through the daemon, in turn.

The double and the client are in this process, the daemon in its own. The stages are timed one by one on the parts
that the daemon is built from, so that the table shows where the time goes.
"""

import asyncio
import hashlib
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import orjson

from appliance.calls.call import Call
from appliance.calls.pipeline import Pipeline
from appliance.dialects.openai import request
from appliance.ids import digest
from appliance.store.keys import by_digest
from scripts.benchmarks.results import percentile, report
from tests.box import Box, box
from tests.e2e.installation import Installation
from tests.upstreams.ollama import OllamaDouble, answers, done, line, ollama_double

CALLS = 400
CHUNKS = 200
BODY = orjson.dumps({"model": "pulse-auto", "messages": [{"role": "user", "content": "Hi"}]})
LARGE_PROMPT = orjson.dumps({"messages": [{"role": "user", "content": "word " * 200_000}], "max_tokens": 1})
"""1 MB of text."""
LARGE_CONTEXT = 400_000
"""Tokens, so that the machine takes it."""
STREAM = orjson.dumps({"model": "pulse-auto", "messages": [{"role": "user", "content": "Hi"}], "stream": True})


async def main() -> None:
    figures: dict[str, float] = {}
    units: dict[str, str] = {"calls a second, 10 at once": ""}
    folder = Path(tempfile.mkdtemp(prefix="synapse-bench-"))
    async with ollama_double(default=answers("Hello"), loaded_context=LARGE_CONTEXT) as double:
        made = Installation(folder / "state", double.url)
        await asyncio.to_thread(made.start)
        try:
            async with aiohttp.ClientSession(trust_env=False) as session:
                await _calls(session, double, made, figures)
                await _chunks(session, double, made, figures)
                await _beside_large_prompts(session, made, figures)
                await _throughput(session, made, figures)
        finally:
            await asyncio.to_thread(made.stop)
        async with box(folder / "inside", double.url) as inside:
            await _stages(inside, figures)
    report("gateway", figures, unit=units)


async def _calls(
    session: aiohttp.ClientSession, double: OllamaDouble, made: Installation, figures: dict[str, float]
) -> None:
    """One small whole call, both ways in turn."""
    chat = orjson.dumps({"model": "double", "messages": [{"role": "user", "content": "Hi"}]})

    async def direct() -> None:
        async with session.post(f"{double.url}/api/chat", data=chat) as answer:
            await answer.read()

    async def through() -> None:
        async with session.post(f"{made.base}/v1/chat/completions", data=BODY, headers=made.headers) as answer:
            assert answer.status == 200
            await answer.read()

    both: dict[str, list[float]] = {"direct": [], "through": []}
    for _ in range(CALLS):
        both["direct"].append(await _timed(direct))
        both["through"].append(await _timed(through))
    for share, word in ((0.5, "median"), (0.99, "99th percentile")):
        direct_ms, through_ms = (percentile(both[way], share) for way in ("direct", "through"))
        figures[f"small call, directly, {word}"] = direct_ms
        figures[f"small call, through the gateway, {word}"] = through_ms
        figures[f"added to a small call, {word}"] = through_ms - direct_ms


async def _chunks(
    session: aiohttp.ClientSession, double: OllamaDouble, made: Installation, figures: dict[str, float]
) -> None:
    """From the moment that the double writes a piece to the moment that the client has it."""
    sent: list[float] = []

    async def script(request_: object) -> object:
        sent.clear()
        steps: list[object] = []
        for n in range(CHUNKS):
            steps += [0.002, line(f"{n} ")]
        return await _marked(steps, sent)(request_)

    double.scripts.append(script)  # type: ignore[arg-type]  handed through
    async with session.post(f"{made.base}/v1/chat/completions", data=STREAM, headers=made.headers) as answer:
        seen = [time.perf_counter() async for text in answer.content if _holds_text(text)]
    delays = [(arrived - left) * 1000 for left, arrived in zip(sent, seen, strict=True)]
    figures["delay of a streamed chunk, median"] = percentile(delays, 0.5)
    figures["delay of a streamed chunk, 99th percentile"] = percentile(delays, 0.99)


def _holds_text(event: bytes) -> bool:
    return b'"content":"' in event and b'"content":""' not in event


def _marked(steps: list[object], sent: list[float]) -> Callable[[object], Awaitable[object]]:
    from aiohttp import web

    async def run(request_: object) -> object:
        assert isinstance(request_, web.Request)
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request_)
        for step in steps:
            if isinstance(step, bytes):
                sent.append(time.perf_counter())
                await response.write(step)
            else:
                await asyncio.sleep(float(step))  # type: ignore[arg-type]  a number of seconds
        await response.write(done())
        await response.write_eof()
        return response

    return run


async def _beside_large_prompts(session: aiohttp.ClientSession, made: Installation, figures: dict[str, float]) -> None:
    """Small calls while another caller sends one large prompt after the other."""

    async def post(body: bytes) -> None:
        async with session.post(f"{made.base}/v1/chat/completions", data=body, headers=made.headers) as answer:
            assert answer.status == 200, await answer.text()
            await answer.read()

    async def large() -> None:
        while True:
            await post(LARGE_PROMPT)

    sending = asyncio.create_task(large())
    took = [await _timed(lambda: post(BODY)) for _ in range(CALLS)]
    assert not sending.done()
    sending.cancel()
    await asyncio.wait([sending])
    figures["small call beside 1 MB prompts, median"] = percentile(took, 0.5)
    figures["small call beside 1 MB prompts, longest"] = max(took)


async def _throughput(session: aiohttp.ClientSession, made: Installation, figures: dict[str, float]) -> None:
    async def caller() -> None:
        for _ in range(100):
            async with session.post(f"{made.base}/v1/chat/completions", data=BODY, headers=made.headers) as answer:
                await answer.read()

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(10)))
    figures["calls a second, 10 at once"] = 1000 / (time.perf_counter() - began)


async def _stages(inside: Box, figures: dict[str, float]) -> None:
    """Where the time goes, part by part."""
    pipeline = _pipeline(inside)
    caller = await pipeline._parts.database.read(lambda conn: by_digest(conn, digest(inside.key)))
    assert caller is not None
    asked = request.parse(BODY)
    digest_of_body = hashlib.sha256(BODY).hexdigest()
    now = datetime.now(UTC)
    call = Call(caller, "/v1/chat/completions", asked.model, False, asked.chat, BODY, digest_of_body, now, len(BODY))

    async def http() -> None:
        await inside.http.get("/healthz")

    async def key() -> None:
        await pipeline._parts.database.read(lambda conn: by_digest(conn, digest(inside.key)))

    async def parse() -> None:
        request.parse(BODY)

    figures["stage: HTTP in and out (client included)"] = await _median(http)
    figures["stage: look the key up"] = await _median(key)
    figures["stage: read the body"] = await _median(parse)
    opened: list[float] = []
    ran: list[float] = []
    closed: list[float] = []
    for _ in range(CALLS):
        began = time.perf_counter()
        exchange = await pipeline.open(call)
        opened.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        async for _event in exchange.events():
            pass
        ran.append((time.perf_counter() - began) * 1000)
        began = time.perf_counter()
        await exchange.close("complete", status=200, response_sha256="0" * 64)
        closed.append((time.perf_counter() - began) * 1000)
    figures["stage: intent, signed and committed"] = percentile(opened, 0.5)
    figures["stage: route, machine and its answer"] = percentile(ran, 0.5)
    figures["stage: certificate and ledger row, committed"] = percentile(closed, 0.5)


def _pipeline(inside: Box) -> Pipeline:
    return inside.app.pipeline


async def _median(work: Callable[[], Awaitable[None]]) -> float:
    return percentile([await _timed(work) for _ in range(CALLS)], 0.5)


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    asyncio.run(main())
