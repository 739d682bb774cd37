import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from appliance.errors import StorageUnavailable
from appliance.gateway import serving
from appliance.gateway.asgi import Reply
from appliance.proofs.log import signed
from appliance.store import certificates
from tests.box import CHAT, Box, box, sha256
from tests.upstreams.ollama import OllamaDouble, Script, answers, done, line, ollama_double, refuses, says
from tests.waiting import until


def last_event(answer: httpx.Response) -> Any:
    last = [event for event in answer.text.split("\n\n") if event][-1]
    return orjson.loads(last.removeprefix("data: "))


async def newest_certificate(gateway: Box) -> dict[str, Any]:
    (row,) = await gateway.read(lambda conn: certificates.page(conn, limit=1))
    return signed(row).payload


async def nothing_is_left(gateway: Box) -> None:
    """No call, no slot of a machine and no task of a call outlives the call; its intent is closed."""
    await until(lambda: gateway.app.drain.in_flight == 0)
    scheduler = gateway.app.pipeline.scheduler
    assert [scheduler.in_flight(machine.id) for machine in gateway.app.registry.snapshot()] == [0]
    own = ("Serving", "_pump", "with_pauses", "_until_gone", "Event.wait")
    await until(lambda: not any(name in repr(task.get_coro()) for task in asyncio.all_tasks() for name in own), 1)
    assert await gateway.read(certificates.open_intents) == []


# What the machine does, when nothing of its answer has been forwarded: status, code, ending.
BEFORE_CONTENT: dict[str, tuple[Script, int, str, str]] = {
    "server error": (refuses(500, "llama runner process has terminated"), 502, "upstream_error", "failed"),
    "busy": (refuses(503, "server busy"), 503, "overloaded", "refused"),
    "model gone": (refuses(404, "model 'double' not found"), 503, "local_lane_unavailable", "refused"),
    "cannot do it": (refuses(400, '"double" does not support thinking'), 400, "invalid_request_error", "refused"),
    "overflow": (
        refuses(400, "request (6010 tokens) exceeds the available context size (4096 tokens), try increasing it"),
        400,
        "context_length_exceeded",
        "refused",
    ),
    "dies at once": (says("die"), 502, "upstream_error", "failed"),
    "says nothing": (says(), 502, "upstream_error", "failed"),
    "says garbage": (says(b"<html>\n"), 502, "upstream_error", "failed"),
    "says an error": (says(b'{"error":"unexpected EOF"}\n'), 502, "upstream_error", "failed"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", BEFORE_CONTENT)
async def test_a_fault_before_any_content(gateway: Box, ollama: OllamaDouble, name: str, stream: bool):
    script, status, code, ending = BEFORE_CONTENT[name]
    ollama.default = script
    answer = await gateway.chat(stream=stream)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert len(ollama.received) == 1
    proof_id = answer.headers["x-pulse-proof"]
    said = await gateway.certificate(proof_id)
    assert said["response"] == {"ending": ending, "status": status, "sha256": sha256(answer.content)}
    assert said["egress"]["attempts"] == 1
    row = await gateway.ledger(proof_id)
    assert (row.ending, row.questions_milli) == (ending, 0)
    await nothing_is_left(gateway)
    ollama.default = answers("Hello")
    assert (await gateway.chat()).status_code == 200


IN_THE_MIDDLE: dict[str, Script] = {
    "dies": says(line("Hel"), "die"),
    "ends without done": says(line("Hel")),
    "says garbage": says(line("Hel"), b"<html>\n"),
    "says an error": says(line("Hel"), b'{"error":"unexpected EOF"}\n'),
    "ends for no reason": says(line("Hel"), done("")),
}


@pytest.mark.parametrize("name", IN_THE_MIDDLE)
async def test_a_fault_in_the_middle_of_a_stream(gateway: Box, ollama: OllamaDouble, name: str):
    ollama.default = IN_THE_MIDDLE[name]
    answer = await gateway.chat(stream=True)
    assert answer.status_code == 200
    assert last_event(answer)["error"]["code"] == "upstream_error"
    assert "[DONE]" not in answer.text
    assert 'finish_reason":"stop' not in answer.text
    assert len(ollama.received) == 1
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert said["response"] == {
        "ending": "failed",
        "status": 200,
        "sha256": sha256(answer.content),
        "textSha256": sha256("Hel"),
    }
    assert (await gateway.ledger(answer.headers["x-pulse-proof"])).ending == "failed"
    await nothing_is_left(gateway)


@pytest.mark.parametrize("name", IN_THE_MIDDLE)
async def test_a_fault_in_the_middle_of_a_whole_answer(gateway: Box, ollama: OllamaDouble, name: str):
    ollama.default = IN_THE_MIDDLE[name]
    answer = await gateway.chat()
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_error")
    proof_id = answer.headers["x-pulse-proof"]
    said = await gateway.certificate(proof_id)
    assert said["response"] == {"ending": "failed", "status": 502, "sha256": sha256(answer.content)}
    assert (said["egress"]["attempts"], len(ollama.received)) == (1, 1)
    assert (await gateway.ledger(proof_id)).ending == "failed"
    await nothing_is_left(gateway)


@pytest.mark.parametrize("stream", [False, True])
async def test_no_machine_there(tmp_path: Path, unused_tcp_port: int, stream: bool):
    async with box(tmp_path / "state", f"http://127.0.0.1:{unused_tcp_port}") as gateway:
        answer = await gateway.chat(stream=stream)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "local_lane_unavailable")
        assert int(answer.headers["retry-after"]) > 0
        said = await gateway.certificate(answer.headers["x-pulse-proof"])
        assert said["egress"] == {"attempts": 0, "pii": {"mode": "standard", "count": 0, "categories": []}}
        assert said["response"]["ending"] == "refused"
        assert (await gateway.http.get("/readyz")).status_code == 503


async def test_the_configured_model_is_on_no_machine(gateway: Box, ollama: OllamaDouble):
    await gateway.admin.set_model("full", "absent:7b")
    answer = await gateway.chat()
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "local_lane_unavailable")
    assert "ollama pull absent:7b" in answer.json()["error"]["message"]
    assert ollama.received == []
    await gateway.admin.unset_model("full")
    assert (await gateway.chat()).status_code == 200


async def call_until_moved_on(gateway: Box, *, stream: bool) -> httpx.Response:
    """Call until one call had to move on to a second machine: which is tried first is left to chance."""
    for _ in range(50):
        answer = await gateway.chat(stream=stream)
        assert answer.status_code == 200
        said = await gateway.certificate(answer.headers["x-pulse-proof"])
        assert said["response"]["textSha256"] == sha256("Hello")
        if said["egress"]["attempts"] == 2:
            return answer
    pytest.fail("in fifty calls the broken machine was never the first choice")


@pytest.mark.parametrize(
    ("broken", "stream"),
    [
        (says("die"), True),
        (refuses(500, "broken"), True),
        (refuses(503, "busy"), True),
        (refuses(404, "gone"), True),
        (says("die"), False),
        (says(line("Hal"), "die"), False),  # nothing of a whole answer has reached the caller
    ],
)
async def test_another_machine_takes_over_while_nothing_was_forwarded(tmp_path: Path, broken: Script, stream: bool):
    async with ollama_double() as one, ollama_double() as two, box(tmp_path / "state", one.url, two.url) as gateway:
        one.default, two.default = broken, answers("Hel", "lo")
        await call_until_moved_on(gateway, stream=stream)


async def test_a_machine_that_vanished_is_tried_once_and_then_left_out(tmp_path: Path):
    async with ollama_double(default=answers("Hello")) as stays, AsyncExitStack() as stack:
        goes = await stack.enter_async_context(ollama_double())
        gateway = await stack.enter_async_context(box(tmp_path / "state", goes.url, stays.url))
        await goes.stop()
        await call_until_moved_on(gateway, stream=True)
        for _ in range(20):
            answer = await gateway.chat()
            said = await gateway.certificate(answer.headers["x-pulse-proof"])
            assert said["egress"]["attempts"] == 1
        state = {machine.url: machine for machine in (await gateway.admin.status()).machines}
        assert (state[goes.url].healthy, state[goes.url].why) == (False, "no connection (connection refused)")


async def raw_call(gateway: Box, *, stream: bool, **options: int) -> asyncio.StreamWriter:
    """Send one call on a connection of its own, whose answer nobody reads."""
    host, port = gateway.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port), **options)
    body = gateway.body(stream=stream)
    head = [f"POST {CHAT} HTTP/1.1", "host: x", f"authorization: Bearer {gateway.key}", f"content-length: {len(body)}"]
    writer.write("\r\n".join([*head, "", ""]).encode() + body)
    return writer


async def leave(gateway: Box, ollama: OllamaDouble, *, stream: bool, after: Callable[[], bool]) -> None:
    writer = await raw_call(gateway, stream=stream)
    await until(after)
    writer.close()
    await writer.wait_closed()
    await until(lambda: ollama.left == 1, 1.0)  # gateway.md, "Streaming": within 1 s, in every phase
    await nothing_is_left(gateway)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_before_the_first_token(gateway: Box, ollama: OllamaDouble, stream: bool):
    ollama.default = says(asyncio.Event())
    await leave(gateway, ollama, stream=stream, after=lambda: ollama.active == 1)
    said = await newest_certificate(gateway)
    assert said["response"] == {"ending": "cancelled", "sha256": sha256(b"")}
    row = await gateway.ledger(said["id"])
    assert (row.ending, row.questions_milli, row.completion_tokens) == ("cancelled", 0, 0)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_in_the_middle(gateway: Box, ollama: OllamaDouble, stream: bool):
    said_it = asyncio.Event()

    async def script(request: Any) -> Any:
        said_it.set()
        return await says(line("Hel"), line("lo"), asyncio.Event())(request)

    ollama.default = script
    await leave(gateway, ollama, stream=stream, after=said_it.is_set)
    said = await newest_certificate(gateway)
    assert said["response"]["ending"] == "cancelled"
    assert (await gateway.ledger(said["id"])).ending == "cancelled"


async def test_a_client_that_reads_nothing_does_not_hold_the_machine_for_ever(
    gateway: Box, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("appliance.gateway.asgi.PATIENCE_SECONDS", 0.2)
    ollama.default = says(*[line("x" * 60_000)] * 400, asyncio.Event())
    writer = await raw_call(gateway, stream=True, limit=1024)
    await until(lambda: ollama.left == 1)
    await nothing_is_left(gateway)
    said = await newest_certificate(gateway)
    assert said["response"]["ending"] == "cancelled"
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def test_a_client_that_reads_too_slowly_does_not_hold_it_past_the_limit_of_a_call(
    gateway: Box, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
):
    really = serving.Serving.__init__

    def hurried(self: serving.Serving, *args: Any, **fields: Any) -> None:
        really(self, *args, **{**fields, "limit_seconds": 0.3})

    monkeypatch.setattr(serving.Serving, "__init__", hurried)
    ollama.default = says(*[line("x" * 60_000)] * 400, asyncio.Event())
    writer = await raw_call(gateway, stream=True, limit=1024)
    await until(lambda: ollama.left == 1)
    await nothing_is_left(gateway)
    assert (await newest_certificate(gateway))["response"]["ending"] == "cancelled"
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_that_is_certified_gets_its_last_bytes_out_while_the_daemon_stops(
    gateway: Box, monkeypatch: pytest.MonkeyPatch, stream: bool
):
    certified, go = asyncio.Event(), asyncio.Event()
    really = Reply.write

    async def held(self: Reply, chunk: bytes, *, last: bool = False) -> None:
        if last:
            certified.set()
            await go.wait()
        await really(self, chunk, last=last)

    monkeypatch.setattr(Reply, "write", held)
    calling = asyncio.ensure_future(gateway.chat(stream=stream))
    await certified.wait()
    stopping = asyncio.ensure_future(gateway.app.drain.finish(0))
    await until(lambda: gateway.app.drain.closing)
    await asyncio.sleep(0.05)  # the time in which a call that is not certified would be ended
    go.set()
    answer = await calling
    await stopping
    said = await newest_certificate(gateway)
    assert said["response"]["ending"] == "complete"
    assert said["response"]["sha256"] == sha256(answer.content)


async def test_headers_wait_for_the_first_event_or_for_the_limit(
    gateway: Box, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(serving, "KEEP_ALIVE_SECONDS", 0.05)
    go = asyncio.Event()
    ollama.default = says(go, line("Hello"), done())
    seen: list[str] = []
    async with gateway.http.stream("POST", CHAT, content=gateway.body(stream=True)) as answer:
        async for text in answer.aiter_lines():
            seen.append(text)
            if seen.count(": keep-alive") == 2:
                go.set()
    assert seen[-2] == "data: [DONE]"
    said = await newest_certificate(gateway)
    assert said["response"]["ending"] == "complete"


async def test_a_failure_after_the_headers_is_an_event(
    gateway: Box, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(serving, "KEEP_ALIVE_SECONDS", 0.02)
    ollama.default = says(0.1, "die")
    answer = await gateway.chat(stream=True)
    assert answer.status_code == 200
    assert last_event(answer)["error"]["code"] == "upstream_error"


async def test_storage_that_cannot_take_the_intent_stops_the_call_before_the_model(
    gateway: Box, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
):
    async def full(*_: object) -> None:
        raise StorageUnavailable("The call could not be recorded (disk full).", advice="Free disk space.")

    monkeypatch.setattr("appliance.store.database.Database.write", full)
    for stream in (False, True):
        answer = await gateway.chat(stream=stream)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "storage_unavailable")
        assert "x-pulse-proof" not in answer.headers
    assert ollama.received == []
    assert (await gateway.http.get("/readyz")).status_code == 503


async def test_an_answer_that_cannot_be_certified_is_not_given_out(
    gateway: Box, ollama: OllamaDouble, monkeypatch: pytest.MonkeyPatch
):
    from appliance.proofs.notary import Notary

    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Notary, "close", full)
    whole = await gateway.chat()
    assert (whole.status_code, whole.json()["error"]["code"]) == (503, "storage_unavailable")
    assert "Hello" not in whole.text
    streamed = await gateway.chat(stream=True)
    assert last_event(streamed)["error"]["code"] == "storage_unavailable"
    assert "[DONE]" not in streamed.text


async def test_the_certificate_is_there_before_the_terminal_event(gateway: Box, ollama: OllamaDouble):
    go = asyncio.Event()
    ollama.default = says(line("Hello"), go, done())
    async with gateway.http.stream("POST", CHAT, content=gateway.body(stream=True)) as answer:
        proof_id = answer.headers["x-pulse-proof"]
        assert (await gateway.http.get(f"/v1/proofs/{proof_id}")).status_code == 404
        go.set()
        async for text in answer.aiter_lines():
            if text == "data: [DONE]":
                assert (await gateway.http.get(f"/v1/proofs/{proof_id}")).status_code == 200


async def test_stopping_lets_a_call_end_and_ends_the_rest_honestly(gateway: Box, ollama: OllamaDouble):
    go = asyncio.Event()
    ollama.scripts.extend([says(line("Hel"), go, line("lo"), done()), says(line("Hel"), asyncio.Event())])
    quick = asyncio.ensure_future(gateway.chat(stream=True))
    await until(lambda: ollama.active == 1)
    stuck = asyncio.ensure_future(gateway.chat(stream=True))
    await until(lambda: ollama.active == 2)
    stopping = asyncio.ensure_future(gateway.app.drain.finish(0.3))
    await until(lambda: gateway.app.drain.closing)
    refused = await gateway.chat()
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
    go.set()
    assert (await quick).text.endswith("data: [DONE]\n\n")
    ended = await stuck
    await stopping
    assert last_event(ended)["error"]["message"].startswith("The gateway is stopping.")
    assert (await gateway.certificate(ended.headers["x-pulse-proof"]))["response"]["ending"] == "failed"
