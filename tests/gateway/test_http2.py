"""Calls over HTTP/2: many on one connection, of which each ends for itself."""

import asyncio
import gzip
import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from appliance.proofs.log import signed
from appliance.store import certificates
from tests.box import CHAT, Box, box, sha256
from tests.http2_client import Http2Client, http2_client
from tests.upstreams.ollama import OllamaDouble, done, line, says
from tests.waiting import until

MB = 1024 * 1024


ID = b"x-request-id"


def address(gateway: Box) -> tuple[str, int]:
    host, port = gateway.url.removeprefix("http://").split(":")
    return host, int(port)


@pytest.fixture
async def client(gateway: Box) -> AsyncIterator[Http2Client]:
    async with http2_client(address(gateway)) as made:
        yield made


@pytest.fixture
async def http(gateway: Box) -> AsyncIterator[httpx.AsyncClient]:
    """An ordinary client that speaks nothing else."""
    headers = {"authorization": f"Bearer {gateway.key}"}
    async with httpx.AsyncClient(
        base_url=gateway.url, headers=headers, http1=False, http2=True, timeout=30, trust_env=False
    ) as made:
        yield made


def call(client: Http2Client, gateway: Box, **fields: Any) -> int:
    key = ("authorization", f"Bearer {gateway.key}")
    return client.ask(CHAT, "POST", (key,), gateway.body(**fields))


async def endings(gateway: Box) -> list[str]:
    rows = await gateway.read(lambda conn: certificates.page(conn, limit=10))
    return [signed(row).payload["response"]["ending"] for row in rows]


async def test_of_two_streams_one_is_left_and_the_other_ends(gateway: Box, ollama: OllamaDouble, client: Http2Client):
    go = asyncio.Event()
    ollama.scripts.append(says(line("Hel"), asyncio.Event()))
    left = call(client, gateway, stream=True)
    await until(lambda: b"Hel" in client.body[left])
    ollama.scripts.append(says(line("Good"), go, line("bye"), done()))
    other = call(client, gateway, stream=True)
    await until(lambda: b"Good" in client.body[other])
    client.reset(left)
    await until(lambda: ollama.left == 1, 1)
    assert ollama.active == 1
    go.set()
    answer = await client.end_of(other)
    assert b"bye" in answer
    assert answer.endswith(b"data: [DONE]\n\n")
    proof_id = client.headers[other][b"x-pulse-proof"].decode()
    assert (await gateway.certificate(proof_id))["response"]["sha256"] == sha256(answer)
    await until(lambda: gateway.app.drain.in_flight == 0)
    assert await endings(gateway) == ["complete", "cancelled"]


async def test_a_client_that_closes_its_connection_leaves_all_calls(
    gateway: Box, ollama: OllamaDouble, client: Http2Client
):
    ollama.default = says(line("Hel"), asyncio.Event())
    streams = [call(client, gateway, stream=number % 2 == 0) for number in range(4)]
    await until(lambda: ollama.active == len(streams))
    client.writer.close()
    await until(lambda: ollama.left == len(streams), 1)
    await until(lambda: gateway.app.drain.in_flight == 0)
    assert await endings(gateway) == ["cancelled"] * len(streams)


async def test_a_machine_that_dies_in_the_middle_of_one_stream(gateway: Box, ollama: OllamaDouble, client: Http2Client):
    go = asyncio.Event()
    ollama.scripts.append(says(line("Good"), go, line("bye"), done()))
    other = call(client, gateway, stream=True)
    await until(lambda: b"Good" in client.body[other])
    ollama.scripts.append(says(line("Hel"), "die"))
    broken = await client.end_of(call(client, gateway, stream=True))
    assert b'"code":"upstream_error"' in broken
    assert b"[DONE]" not in broken
    go.set()
    assert (await client.end_of(other)).endswith(b"data: [DONE]\n\n")


async def test_a_client_that_takes_nothing_of_its_stream_is_no_hindrance(
    gateway: Box, ollama: OllamaDouble, client: Http2Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("appliance.gateway.asgi.PATIENCE_SECONDS", 0.5)
    client.wire.increment_flow_control_window(10 * MB)  # of the connection
    ollama.scripts.append(says(*[line("x" * 10_000)] * 30, done()))
    stuck = call(client, gateway, stream=True)
    client.unread.add(stuck)
    await until(lambda: len(client.body[stuck]) > 60_000)
    assert (await client.end_of(call(client, gateway, stream=True))).endswith(b"data: [DONE]\n\n")
    await client.reset_of(stuck)
    await until(lambda: gateway.app.drain.in_flight == 0)
    assert await endings(gateway) == ["cancelled", "complete"]


async def test_a_hundred_calls_on_one_connection(gateway: Box, http: httpx.AsyncClient):
    for _ in range(100):
        answer = await http.post(CHAT, content=gateway.body())
        assert (answer.http_version, answer.status_code) == ("HTTP/2", 200)
        assert answer.json()["choices"][0]["message"]["content"] == "Hello there."
        assert answer.headers["x-request-id"]


async def test_a_request_that_is_refused_early_leaves_the_connection_to_others(tmp_path: Path, ollama: OllamaDouble):
    async with (
        box(tmp_path / "state", ollama.url, SYNAPSE_GATEWAY__MAX_BODY_MB="1") as gateway,
        http2_client(address(gateway)) as client,
    ):
        key = ("authorization", f"Bearer {gateway.key}")
        refused = client.ask(CHAT, "POST", (key,), end=False)
        await client.upload(refused, b"x" * (2 * MB))
        assert b"request_too_large" in await client.end_of(refused)
        # Over HTTP/1.1 this answer says `connection: close`.
        assert client.headers[refused].keys() == {b":status", b"content-type", b"content-length", b"date", ID}
        nobody = client.ask(CHAT, "POST", end=False)
        await client.upload(nobody, b"x" * (2 * MB))
        assert b"invalid_api_key" in await client.end_of(nobody)
        unread = client.ask("/healthz", "GET", body=b"x" * 1000, end=False)
        assert await client.end_of(unread) == (await gateway.http.get("/healthz")).content
        assert (await client.end_of(call(client, gateway)))[:1] == b"{"


async def test_a_large_body_over_http_2(gateway: Box, ollama: OllamaDouble, http: httpx.AsyncClient):
    body = orjson.dumps({"messages": [{"role": "user", "content": "é" * 8_000_000}]})
    answer = await http.post(CHAT, content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert ollama.received == []


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/2"])
async def test_a_compressed_call(gateway: Box, ollama: OllamaDouble, http: httpx.AsyncClient, version: str):
    used = http if version == "HTTP/2" else gateway.http
    content = gateway.body("Good morning. " * 100)
    received = gzip.compress(content)
    answer = await used.post(CHAT, content=received, headers={"content-encoding": "gzip"})
    assert (answer.http_version, answer.status_code) == (version, 200)
    said = await gateway.certificate(answer.headers["x-pulse-proof"])
    assert said["request"]["sha256"] == sha256(received)
    assert orjson.loads(ollama.received[0])["messages"][-1]["content"] == "Good morning. " * 100


async def test_compressed_bodies_that_are_refused(gateway: Box):
    bomb = gzip.compress(bytes(40 * MB))
    answers = [
        await gateway.http.post(CHAT, content=content, headers={"content-encoding": coding})
        for content, coding in ((bomb, "gzip"), (b"{}", "gzip"), (b"{}", "br"))
    ]
    assert [answer.status_code for answer in answers] == [413, 400, 400]
    assert [answer.json()["error"]["code"] for answer in answers] == ["request_too_large"] + [
        "invalid_request_error"
    ] * 2
    assert (await gateway.chat()).status_code == 200


def curl_speaks_http_2() -> bool:
    found = shutil.which("curl")
    return (
        found is not None and b"HTTP2" in subprocess.run([found, "--version"], capture_output=True, check=True).stdout
    )


@pytest.mark.skipif(not curl_speaks_http_2(), reason="there is no curl with HTTP/2")
async def test_curl(gateway: Box, tmp_path: Path):
    (tmp_path / "body").write_bytes(gateway.body(stream=True))
    arguments = ["--http2-prior-knowledge", "--silent", "--noproxy", "*", "--write-out", "\n%{http_version}"]
    arguments += ["--header", f"authorization: Bearer {gateway.key}", "--data-binary", f"@{tmp_path / 'body'}"]
    made = await asyncio.create_subprocess_exec("curl", *arguments, gateway.url + CHAT, stdout=subprocess.PIPE)
    async with asyncio.timeout(30):
        out, _ = await made.communicate()
    assert made.returncode == 0
    *events, version = out.decode().strip().split("\n")
    assert (version, [event for event in events if event][-1]) == ("2", "data: [DONE]")
    assert json.loads(events[0].removeprefix("data: "))["object"] == "chat.completion.chunk"
