import asyncio
import contextlib

import httpx
import orjson
import pytest
from h2.errors import ErrorCodes

from appliance.calls.pipeline import Pipeline
from appliance.gateway.edge import shape_of
from tests.box import CHAT, Box
from tests.http2_client import http2_client
from tests.upstreams.ollama import OllamaDouble


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/v1/chat/completions", "openai"),
        ("/v1/models/x", "openai"),
        ("/nothing", "openai"),
        ("/v1/proofs/prf_x", "native"),
        ("/v1/ai/complete", "native"),
        ("/healthz", "native"),
        ("/v1/messages", "anthropic"),
        ("/v1/messages/batches", "anthropic"),
    ],
)
def test_whose_error_form_a_path_speaks(path: str, shape: str):
    assert shape_of({"headers": []}, path) == shape


@pytest.mark.parametrize(
    ("path", "near"), [("/v1/chat/completion", CHAT), ("/v1/model", "/v1/models"), ("/health", "/healthz")]
)
async def test_an_unknown_path_names_the_near_one(gateway: Box, path: str, near: str):
    answer = await gateway.http.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert f"Did you mean {near}?" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "advice"),
    [
        ("GET", "/", "those of the Anthropic dialect without; GET /v1/models lists what there is."),
        ("GET", "/v1", "a client adds the path, such as /chat/completions."),
        ("POST", "/v1/responses", "Set the client to chat completions: POST /v1/chat/completions."),
        ("POST", "/v1/completions", "Set the client to chat completions: POST /v1/chat/completions."),
        ("POST", "/v1/v1/embeddings", "Embeddings are not served yet."),
    ],
)
async def test_a_path_of_another_dialect_says_what_to_do_instead(gateway: Box, method: str, path: str, advice: str):
    answer = await gateway.http.request(method, path)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (404, "not_found")
    assert error["message"].startswith(f"{path.replace('/v1/v1', '/v1')} is not served by this version. ")
    assert error["message"].endswith(advice)


async def test_a_path_like_no_other_gets_the_list(gateway: Box):
    answer = await gateway.http.post("/completely/else")
    assert CHAT in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", CHAT, "POST"),
        ("PUT", "/v1/messages", "POST"),
        ("POST", "/v1/models", "GET, HEAD"),
        ("DELETE", "/v1/proofs", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_names_the_right_one(gateway: Box, method: str, path: str, allowed: str):
    answer = await gateway.http.request(method, path)
    assert answer.status_code == 405
    assert f"{method} is not allowed here. Use {allowed}." in answer.text
    # RFC 9110, section 15.5.6.
    assert answer.headers["allow"] == f"{allowed}, OPTIONS"


async def test_the_doubled_version_is_forgiven(gateway: Box):
    assert (await gateway.http.get("/v1/v1/models")).status_code == 200
    assert (await gateway.http.post("/v1" + CHAT, content=gateway.body())).status_code == 200


async def test_head_of_the_root_is_answered(gateway: Box):
    answer = await gateway.http.head("/")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_every_answer_has_its_own_request_id(gateway: Box):
    answers = [await gateway.http.get(path) for path in ("/healthz", "/v1/models", "/nothing", "/v1/proofs/prf_x")]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 4


async def test_an_unexpected_failure_shows_nothing(
    gateway: Box, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    async def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(Pipeline, "open", broken)
    answer = await gateway.chat()
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "secret detail" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers["x-request-id"] in caplog.text
    monkeypatch.undo()
    assert (await gateway.chat()).status_code == 200


async def test_a_call_for_a_model_that_nobody_has_is_not_to_be_tried_again(
    gateway: Box, caplog: pytest.LogCaptureFixture
):
    await gateway.admin.set_model("full", "absent")
    answer = await gateway.chat()
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "local_lane_unavailable")
    assert answer.headers["x-should-retry"] == "false"
    assert f"call {answer.headers['x-pulse-proof']} refused: local_lane_unavailable" in caplog.messages


async def test_a_client_that_leaves_while_it_sends_its_body_harms_nothing(gateway: Box):
    host, port = gateway.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {gateway.key}\r\ncontent-length: 100\r\n\r\n"
    writer.write(head.encode() + b"{")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await gateway.chat()).status_code == 200


async def opened(gateway: Box, *fields: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection on which the header of a call has been sent."""
    host, port = gateway.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write("\r\n".join([f"POST {CHAT} HTTP/1.1", "host: x", *fields, "", ""]).encode())
    return reader, writer


async def whole_answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return head + await reader.readexactly(length)


UNSERVED = {
    "no key": (["content-length: 100"], b"401"),
    "too large": (["authorization: Bearer {key}", "content-length: 99999999"], b"413"),
}


@pytest.mark.parametrize("name", UNSERVED)
async def test_who_is_refused_is_told_before_the_body_has_come(gateway: Box, name: str):
    fields, status = UNSERVED[name]
    reader, writer = await opened(gateway, *(field.format(key=gateway.key) for field in fields))
    answer = await asyncio.wait_for(whole_answer(reader), 1)
    assert answer.startswith(b"HTTP/1.1 " + status)
    writer.close()
    await writer.wait_closed()


async def test_who_is_refused_may_send_the_body_and_ask_again(gateway: Box):
    reader, writer = await opened(gateway, "content-length: 100")
    assert (await asyncio.wait_for(whole_answer(reader), 1)).startswith(b"HTTP/1.1 401")
    writer.write(b"x" * 100 + b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    assert (await asyncio.wait_for(whole_answer(reader), 1)).startswith(b"HTTP/1.1 200")
    writer.close()
    await writer.wait_closed()


async def test_the_body_of_a_refused_request_that_pauses_is_not_waited_for(
    gateway: Box, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("appliance.gateway.edge.DISCARD_PAUSE_SECONDS", 0.05)
    reader, writer = await opened(gateway, "content-length: 100")
    assert (await asyncio.wait_for(reader.read(), 1)).startswith(b"HTTP/1.1 401")
    writer.close()
    await writer.wait_closed()
    host, port = gateway.url.removeprefix("http://").split(":")
    async with http2_client((host, int(port))) as client:
        stream = client.ask(CHAT, "POST", body=b"x", end=False)
        assert b"invalid_api_key" in await asyncio.wait_for(client.end_of(stream), 1)
        assert await client.reset_of(stream) == ErrorCodes.NO_ERROR


async def test_the_body_of_a_refused_request_is_not_read_for_ever(gateway: Box, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("appliance.gateway.edge.DISCARD_SECONDS", 0.1)
    reader, writer = await opened(gateway, "transfer-encoding: chunked")
    assert (await asyncio.wait_for(whole_answer(reader), 1)).startswith(b"HTTP/1.1 401")
    async with asyncio.timeout(5):
        while not reader.at_eof():
            writer.write(b"1\r\nx\r\n")
            await asyncio.sleep(0.001)
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def test_a_call_whose_body_stalls_is_told_so_and_its_connection_closed(
    gateway: Box, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("appliance.gateway.asgi.PAUSE_SECONDS", 0.05)
    monkeypatch.setattr("appliance.gateway.edge.DISCARD_PAUSE_SECONDS", 0.05)
    reader, writer = await opened(gateway, f"authorization: Bearer {gateway.key}", "content-length: 100")
    writer.write(b"{")
    answer = await asyncio.wait_for(reader.read(), 1)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in answer.lower()
    assert b'"code":"request_timeout"' in answer
    writer.close()
    await writer.wait_closed()


async def test_a_request_with_two_lengths_is_refused_and_its_connection_closed(gateway: Box):
    # RFC 9112, section 6.3: a proxy in front that believes the other length sees other requests.
    host, port = gateway.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lengths = "content-length: 4\r\ntransfer-encoding: chunked\r\n"
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {gateway.key}\r\n{lengths}\r\n"
    writer.write(head.encode() + b"0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 5)
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1
    assert b"The request has two lengths." in answer
    writer.close()
    await writer.wait_closed()


async def test_a_websocket_is_turned_away(gateway: Box):
    upgrade = {
        "connection": "upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "AA==",
    }
    answer = await gateway.http.get("/v1/models", headers=upgrade)
    assert answer.status_code in (400, 403)


async def test_no_page_of_a_browser_is_given_leave(gateway: Box):
    preflight = await gateway.http.request(
        "OPTIONS", CHAT, headers={"origin": "https://evil.example", "access-control-request-method": "POST"}
    )
    assert (preflight.status_code, preflight.headers["allow"]) == (204, "POST, OPTIONS")
    assert not [name for name in preflight.headers if name.startswith("access-control")]


BAD_BODIES = {
    "empty": b"",
    "blank": b"  ",
    "malformed": b'{"messages": [',
    "trailing": b'{"messages": []} x',
    "not an object": b"[1, 2]",
    "a string": b'"hello"',
    "not UTF-8": b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}',
    "UTF-16": '{"messages": []}'.encode("utf-16"),
    "lone surrogate": b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
    "deep list": b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep object": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "NaN": b'{"messages": [{"role": "user", "content": "x"}], "temperature": NaN}',
    "huge number": b'{"messages": [{"role": "user", "content": "x"}], "seed": 1e999}',
    "no messages": b"{}",
    "messages null": b'{"messages": null}',
    "messages empty": b'{"messages": []}',
    "messages a string": b'{"messages": "hello"}',
    "message a number": b'{"messages": [7]}',
    "no role": b'{"messages": [{"content": "x"}]}',
    "wrong role": b'{"messages": [{"role": "martian", "content": "x"}]}',
    "no content": b'{"messages": [{"role": "user"}]}',
    "content a number": b'{"messages": [{"role": "user", "content": 7}]}',
    "model a number": b'{"model": 7, "messages": [{"role": "user", "content": "x"}]}',
    "stream a string": b'{"stream": "yes", "messages": [{"role": "user", "content": "x"}]}',
    "temperature a string": b'{"temperature": "hot", "messages": [{"role": "user", "content": "x"}]}',
}


@pytest.mark.parametrize("name", BAD_BODIES)
async def test_bad_bodies_are_refused_and_the_next_call_is_served(gateway: Box, name: str):
    answer = await gateway.chat(BAD_BODIES[name])
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "invalid_request_error"
    assert set(error) == {"message", "type", "code", "param"}
    assert "x-pulse-proof" not in answer.headers
    assert (await gateway.chat()).status_code == 200


async def test_a_body_over_the_limit(gateway: Box):
    answer = await gateway.chat(b'{"messages": "' + b"x" * (32 * 1024 * 1024) + b'"}')
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")
    assert (await gateway.chat()).status_code == 200


async def test_a_body_over_the_limit_without_a_key_is_first_of_all_without_a_key(gateway: Box):
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http:
        answer = await http.post(CHAT, content=b"x" * (40 * 1024 * 1024))
    assert answer.status_code == 401


async def test_a_large_body_within_the_limit_is_read_and_refused_for_its_length(gateway: Box, ollama: OllamaDouble):
    answer = await gateway.chat(orjson.dumps({"messages": [{"role": "user", "content": "é" * 8_000_000}]}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert ollama.received == []
    assert (await gateway.chat()).status_code == 200
