"""Calls that wait for a machine: cluster.md, "Choosing a machine" (slots, a bounded fair queue, its answers)."""

import asyncio
from pathlib import Path

import orjson
import pytest
from aiohttp import web

from appliance.admin.wire import NewKey
from appliance.proofs.log import signed
from appliance.store import certificates
from tests.box import CHAT, Box, box
from tests.upstreams.ollama import OllamaDouble, answers, done, line, refuses, says
from tests.waiting import until

SLOTS = 4
"""Of a machine that does not say how many it has."""


def waiting(gateway: Box) -> int:
    return gateway.app.pipeline.scheduler.waiting


async def filled(gateway: Box, ollama: OllamaDouble, more: int) -> list["asyncio.Task[int]"]:
    """All slots are taken by calls that do not end, and so many more wait."""

    async def call(n: int) -> int:
        return (await gateway.chat(text=f"call {n}")).status_code

    running = [asyncio.ensure_future(call(n)) for n in range(SLOTS)]
    await until(lambda: ollama.active == SLOTS)
    running += [asyncio.ensure_future(call(SLOTS + n)) for n in range(more)]
    await until(lambda: waiting(gateway) == more)
    return running


async def test_sixty_four_wait_and_one_more_is_told_to_come_back(gateway: Box, ollama: OllamaDouble):
    gate = asyncio.Event()
    ollama.default = says(gate, line("x"), done())
    running = await filled(gateway, ollama, 64)
    full = await gateway.chat()
    assert (full.status_code, full.json()["error"]["code"]) == (503, "overloaded")
    assert int(full.headers["retry-after"]) >= 1
    assert "64 calls wait already" in full.json()["error"]["message"]
    said = await gateway.certificate(full.headers["x-pulse-proof"])
    assert (said["response"]["ending"], said["egress"]["attempts"]) == ("refused", 0)

    body = {"model": "pulse-auto", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    anthropic = await gateway.http.post("/v1/messages", content=orjson.dumps(body))
    assert (anthropic.status_code, anthropic.json()["error"]["type"]) == (529, "overloaded_error")
    assert int(anthropic.headers["retry-after"]) >= 1

    stream = await gateway.chat(stream=True)
    assert (stream.status_code, int(stream.headers["retry-after"])) == (503, int(full.headers["retry-after"]))

    gate.set()
    assert await asyncio.gather(*running) == [200] * (SLOTS + 64)
    assert (waiting(gateway), len(ollama.received)) == (0, SLOTS + 64)
    assert (await gateway.chat()).status_code == 200


async def test_no_more_than_its_slots_are_ever_on_a_machine(gateway: Box, ollama: OllamaDouble):
    most = 0

    async def counting(request: web.Request) -> web.StreamResponse:
        nonlocal most
        most = max(most, ollama.active)
        return await says(0.005, line("x"), done())(request)

    ollama.default = counting
    found = await asyncio.gather(*(gateway.chat() for _ in range(30)))
    assert ([answer.status_code for answer in found], most) == ([200] * 30, SLOTS)


async def test_the_time_in_the_line_is_in_the_ledger(gateway: Box, ollama: OllamaDouble):
    gate = asyncio.Event()
    ollama.default = says(gate, line("x"), done())
    running = await filled(gateway, ollama, 0)
    waits = asyncio.ensure_future(gateway.chat())
    await until(lambda: waiting(gateway) == 1)
    await asyncio.sleep(0.1)  # what is to be measured
    gate.set()
    await asyncio.gather(*running)
    row = await gateway.ledger((await waits).headers["x-pulse-proof"])
    assert row.queue_ms is not None
    assert 100 <= row.queue_ms <= row.total_ms
    straight = await gateway.ledger((await gateway.chat()).headers["x-pulse-proof"])
    assert straight.queue_ms == 0


async def test_one_key_with_many_calls_does_not_keep_another_waiting_for_all_of_them(
    gateway: Box, ollama: OllamaDouble
):
    order: list[str] = []
    gate = asyncio.Semaphore(0)

    async def one_by_one(request: web.Request) -> web.StreamResponse:
        order.append(orjson.loads(await request.read())["messages"][-1]["content"])
        await gate.acquire()
        return await answers("x")(request)

    ollama.default = one_by_one
    running = await filled(gateway, ollama, 12)
    other = (await gateway.admin.create_key(NewKey("other", scopes=("engine",)))).secret
    headers = {"authorization": f"Bearer {other}"}
    late = [
        asyncio.ensure_future(gateway.http.post(CHAT, content=gateway.body(f"late {n}"), headers=headers))
        for n in range(2)
    ]
    await until(lambda: waiting(gateway) == 14)
    for _ in range(4):
        gate.release()
    await until(lambda: len(order) == SLOTS + 4)
    assert sorted(one.split()[0] for one in order[SLOTS:]) == ["call", "call", "late", "late"]
    for _ in range(20):
        gate.release()
    await asyncio.gather(*running, *late)


async def test_who_has_waited_too_long_is_told_so(tmp_path: Path, ollama: OllamaDouble):
    gate = asyncio.Event()
    ollama.default = says(gate, line("x"), done())
    async with box(tmp_path, ollama.url, SYNAPSE_QUEUE__WAIT="0.1") as gateway:
        running = await filled(gateway, ollama, 0)
        answer = await gateway.chat()
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overloaded")
        assert "Every machine was busy for 0.1 s." in answer.json()["error"]["message"]
        assert int(answer.headers["retry-after"]) >= 1
        assert waiting(gateway) == 0
        gate.set()
        assert await asyncio.gather(*running) == [200] * SLOTS


async def test_without_a_line_nobody_waits(tmp_path: Path, ollama: OllamaDouble):
    gate = asyncio.Event()
    ollama.default = says(gate, line("x"), done())
    async with box(tmp_path, ollama.url, SYNAPSE_QUEUE__SIZE="0") as gateway:
        running = await filled(gateway, ollama, 0)
        assert (await gateway.chat()).status_code == 503
        gate.set()
        assert await asyncio.gather(*running) == [200] * SLOTS


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_the_line_is_certified_and_frees_its_place(
    tmp_path: Path, ollama: OllamaDouble, stream: bool
):
    gate = asyncio.Event()
    ollama.default = says(gate, line("x"), done())
    async with box(tmp_path, ollama.url, SYNAPSE_QUEUE__SIZE="1") as gateway:
        running = await filled(gateway, ollama, 0)
        host, port = gateway.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        body = gateway.body(stream=stream)
        head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {gateway.key}\r\ncontent-length: {len(body)}"
        writer.write(f"{head}\r\n\r\n".encode() + body)
        await until(lambda: waiting(gateway) == 1)
        assert (await gateway.chat()).status_code == 503
        writer.close()
        await writer.wait_closed()
        await until(lambda: waiting(gateway) == 0, 1.0)
        await until(lambda: gateway.app.drain.in_flight == SLOTS)
        (row,) = await gateway.read(lambda conn: certificates.page(conn, limit=1))
        said = signed(row).payload
        assert (said["response"]["ending"], said["egress"]["attempts"]) == ("cancelled", 0)
        assert (await gateway.ledger(said["id"])).ending == "cancelled"
        waits = asyncio.ensure_future(gateway.chat())
        await until(lambda: waiting(gateway) == 1)
        gate.set()
        assert await asyncio.gather(*running) == [200] * SLOTS
        assert (await waits).status_code == 200


async def test_no_slot_leaks_whatever_becomes_of_a_call(gateway: Box, ollama: OllamaDouble):
    """Failed, refused, wrong, broken off and cancelled calls, many of them at once."""
    half = line("x")
    scripts = [says("die"), refuses(500, "x"), refuses(400, "x"), answers("no"), says(half, "die"), says(half)]
    for n in range(24):
        ollama.scripts.append(scripts[n % len(scripts)])
    calls = [asyncio.ensure_future(gateway.chat(stream=bool(n % 2))) for n in range(24)]
    await until(lambda: len(ollama.received) > 8)
    for call in calls[::7]:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await until(lambda: gateway.app.drain.in_flight == 0)
    (machine,) = gateway.app.registry.snapshot()
    assert (gateway.app.pipeline.scheduler.in_flight(machine.id), waiting(gateway)) == (0, 0)


async def test_who_waits_for_a_machine_that_goes_is_told_at_once(gateway: Box, ollama: OllamaDouble):
    ollama.default = says(asyncio.Event())
    running = [asyncio.ensure_future(gateway.chat()) for _ in range(SLOTS)]
    await until(lambda: ollama.active == SLOTS)
    waits = asyncio.ensure_future(gateway.chat())
    await until(lambda: waiting(gateway) == 1)
    await ollama.stop()
    async with asyncio.timeout(2):
        answer = await waits
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "local_lane_unavailable")
    assert {one.status_code for one in await asyncio.gather(*running)} <= {502, 503}
