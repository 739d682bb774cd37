import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import orjson
import pytest
from aiohttp import web

from appliance.cluster.agent.forwarding import ALLOWED, Forwarding, open_session
from tests.upstreams.ollama import OllamaDouble, done, line, says
from tests.upstreams.serving import Double, listening
from tests.waiting import until

ABOUT = b'{"name":"desk"}'


@dataclass
class Recorder(Double):
    """An Ollama that keeps what it got and answers with `answer`."""

    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]] = field(default_factory=lambda: _fine)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        async def recorded() -> web.StreamResponse:
            body = await request.read()
            self.requests.append((request.method, request.raw_path, dict(request.headers), body))
            return await self.answer(request)

        return await self.play(recorded())


async def _fine(_: web.Request) -> web.StreamResponse:
    return web.json_response({"fine": True})


@dataclass
class Set:
    url: str
    port: int
    ollama: Recorder
    session: aiohttp.ClientSession


@asynccontextmanager
async def forwarding_to(url: str) -> AsyncIterator[tuple[str, int]]:
    async with open_session() as session:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", Forwarding(session, url, ABOUT).answer)
        runner = web.AppRunner(
            app, handler_cancellation=True, auto_decompress=False, access_log=None, shutdown_timeout=0.1
        )
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        try:
            yield f"http://127.0.0.1:{port}", port
        finally:
            await runner.cleanup()


@pytest.fixture
async def machine() -> AsyncIterator[Set]:
    recorder = Recorder()
    async with (
        listening(recorder, [web.route("*", "/{path:.*}", recorder.handle)], 0),
        forwarding_to(recorder.url) as (url, port),
        aiohttp.ClientSession(auto_decompress=False) as session,
    ):
        yield Set(url, port, recorder, session)


async def raw(port: int, request: bytes) -> bytes:
    """The answer to these very bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        async with asyncio.timeout(5):
            return await reader.readuntil(b"\r\n\r\n")
    finally:
        writer.transport.abort()


class TestWhatIsLetThrough:
    @pytest.mark.parametrize(("method", "path"), sorted(ALLOWED))
    async def test_each_allowed_request_arrives(self, machine: Set, method: str, path: str):
        body = orjson.dumps({"model": "one"}) if method == "POST" else b""
        async with machine.session.request(method, machine.url + path, data=body or None) as answer:
            assert await answer.json() == {"fine": True}
        assert [(got[0], got[1], got[3]) for got in machine.ollama.requests] == [(method, path, body)]

    @pytest.mark.parametrize(
        "asked",
        [
            "POST /api/create",
            "DELETE /api/delete",
            "POST /api/push",
            "POST /api/copy",
            "POST /api/pull",
            "POST /api/blobs/sha256:0",
            "POST /v1/chat/completions",
            "GET /api/chat",
            "POST /api/version",
            "HEAD /api/version",
            "OPTIONS /api/chat",
            "POST /api/chat?x=1",
            "POST /api/chat/",
            "POST //api/chat",
            "POST /api/./chat",
            "POST /api/x/../create",
            "POST /api/chat/../create",
            "POST /api/%63hat",
            "POST /API/chat",
            "POST /api/chat%2f..%2fcreate",
            "POST http://127.0.0.1/api/chat",
            "GET /",
            "OPTIONS *",
            "PUT /synapse/v1/node",
        ],
    )
    async def test_nothing_else_does(self, machine: Set, asked: str):
        head = f"{asked} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode()
        answer = await raw(machine.port, head)
        assert answer.split()[1] in (b"403", b"400", b"404"), answer
        assert machine.ollama.requests == []

    async def test_a_refusal_has_ollamas_form(self, machine: Set):
        async with machine.session.post(machine.url + "/api/create") as answer:
            assert answer.status == 403
            assert list(await answer.json()) == ["error"]

    @pytest.mark.parametrize(("header", "status"), [({}, 403), ({"x-synapse-console": "0"}, 403)])
    async def test_models_are_not_pulled_by_anybody(self, machine: Set, header: dict[str, str], status: int):
        async with machine.session.post(machine.url + "/api/pull", headers=header, data=b"{}") as answer:
            assert answer.status == status
        assert machine.ollama.requests == []

    async def test_models_are_pulled_by_the_console(self, machine: Set):
        headers = {"X-Synapse-Console": "1"}
        async with machine.session.post(machine.url + "/api/pull", headers=headers, data=b"{}") as answer:
            assert answer.status == 200
        (asked,) = machine.ollama.requests
        assert asked[1] == "/api/pull"
        assert "X-Synapse-Console" not in asked[2]

    async def test_the_node_speaks_for_itself(self, machine: Set):
        async with machine.session.get(machine.url + "/synapse/v1/node") as answer:
            assert await answer.read() == ABOUT
            assert answer.content_type == "application/json"
        assert machine.ollama.requests == []


class TestHeaders:
    async def test_those_of_one_connection_stay_on_it(self, machine: Set):
        sent = {"Connection": "keep-alive, X-Mine", "X-Mine": "1", "TE": "trailers", "X-Other": "2", "Host": "gateway"}
        async with machine.session.post(machine.url + "/api/chat", headers=sent, data=b"{}") as answer:
            assert answer.status == 200
        (asked,) = machine.ollama.requests
        assert asked[2]["X-Other"] == "2"
        assert asked[2]["Host"] == machine.ollama.url.removeprefix("http://")
        assert not {"X-Mine", "TE"} & set(asked[2])

    async def test_nothing_is_added(self, machine: Set):
        request = b"POST /api/chat HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
        assert (await raw(machine.port, request)).startswith(b"HTTP/1.1 200")
        (asked,) = machine.ollama.requests
        assert set(asked[2]) <= {"Host", "Content-Length", "Connection"}
        assert asked[3] == b"{}"

    async def test_a_compressed_body_passes_as_it_is(self, machine: Set):
        body = gzip.compress(b"{}" * 100)

        async def compressed(_: web.Request) -> web.StreamResponse:
            return web.Response(body=body, headers={"Content-Encoding": "gzip", "X-Of-Ollama": "1"}, status=201)

        machine.ollama.answer = compressed
        sent = {"Content-Encoding": "gzip", "Content-Length": str(len(body))}
        async with machine.session.post(machine.url + "/api/chat", data=body, headers=sent) as answer:
            assert (answer.status, answer.headers["X-Of-Ollama"]) == (201, "1")
            assert answer.headers["Content-Length"] == str(len(body))
            assert await answer.read() == body
        assert machine.ollama.requests[0][2]["Content-Encoding"] == "gzip"

    async def test_no_redirect_is_followed(self, machine: Set):
        async def elsewhere(_: web.Request) -> web.StreamResponse:
            raise web.HTTPFound("/api/delete")

        machine.ollama.answer = elsewhere
        async with machine.session.get(machine.url + "/api/tags", allow_redirects=False) as answer:
            assert answer.status == 302
        assert len(machine.ollama.requests) == 1

    async def test_no_proxy_is_taken_from_the_environment(self, machine: Set, monkeypatch: pytest.MonkeyPatch):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:1")
        async with machine.session.get(machine.url + "/api/tags") as answer:
            assert answer.status == 200


class TestStreaming:
    async def test_a_request_passes_piece_by_piece(self, machine: Set):
        began, go = asyncio.Event(), asyncio.Event()

        async def pieces() -> AsyncIterator[bytes]:
            yield b"one"
            await go.wait()
            yield b"two"

        async def first_piece(request: web.Request) -> web.StreamResponse:
            assert await request.content.readany() == b"one"
            began.set()
            return web.Response(body=await request.read())

        recorder = Double()
        async with (
            listening(recorder, [web.post("/api/chat", first_piece)], 0),
            forwarding_to(recorder.url) as (url, _),
        ):
            asking = asyncio.ensure_future(machine.session.post(url + "/api/chat", data=pieces()))
            await asyncio.wait_for(began.wait(), 5)
            go.set()
            async with await asking as answer:
                assert await answer.read() == b"two"

    async def test_an_answer_passes_piece_by_piece(self, ollama: OllamaDouble, machine: Set):
        go = asyncio.Event()
        ollama.default = says(line("Hel"), go, line("lo"), done())
        async with forwarding_to(ollama.url) as (url, _), machine.session.post(url + "/api/chat", data=b"{}") as answer:
            assert await answer.content.readline() == line("Hel")
            go.set()
            assert await answer.read() == line("lo") + done()

    async def test_who_reads_slowly_slows_ollama_down(self, machine: Set):
        piece, count, written = b"x" * 65536, 1024, 0

        async def much(request: web.Request) -> web.StreamResponse:
            nonlocal written
            response = web.StreamResponse()
            await response.prepare(request)
            for _ in range(count):
                await response.write(piece)
                written += len(piece)
            return response

        machine.ollama.answer = much
        async with machine.session.post(machine.url + "/api/chat", data=b"{}") as answer:
            before = -1
            while before != written:
                before = written
                await asyncio.sleep(0.1)
            assert written < count * len(piece) / 2
            total = 0
            async for got in answer.content.iter_any():
                total += len(got)
        assert total == count * len(piece)


class TestEndings:
    async def test_no_ollama_is_said_in_its_own_form(self, machine: Set):
        await machine.ollama.stop()
        async with machine.session.post(machine.url + "/api/chat", data=b"{}") as answer:
            assert answer.status == 502
            assert await answer.json() == {"error": "Ollama does not answer on this machine"}

    async def test_an_ollama_that_dies_before_its_answer(self, machine: Set):
        async def die(request: web.Request) -> web.StreamResponse:
            assert request.transport is not None
            request.transport.abort()
            raise ConnectionResetError

        machine.ollama.answer = die
        async with machine.session.post(machine.url + "/api/chat", data=b"{}") as answer:
            assert answer.status == 502

    async def test_an_ollama_that_dies_within_its_answer_is_no_clean_end(self, machine: Set):
        machine.ollama.answer = says(line("Hel"), "die")
        async with machine.session.post(machine.url + "/api/chat", data=b"{}") as answer:
            with pytest.raises(aiohttp.ClientError):
                await answer.read()

    async def test_a_caller_that_leaves_frees_ollama_at_once(self, machine: Set):
        machine.ollama.answer = says(line("Hel"), 60.0)
        async with machine.session.post(machine.url + "/api/chat", data=b"{}") as answer:
            await answer.content.readline()
            answer.close()
            await until(lambda: machine.ollama.left == 1, 2.0)

    async def test_a_caller_that_leaves_before_the_answer_begins(self, machine: Set):
        async def think(_: web.Request) -> web.StreamResponse:
            await asyncio.sleep(60)
            raise AssertionError

        machine.ollama.answer = think
        asking = asyncio.ensure_future(machine.session.post(machine.url + "/api/chat", data=b"{}"))
        await until(lambda: machine.ollama.active == 1)
        asking.cancel()
        await until(lambda: machine.ollama.left == 1, 2.0)

    async def test_a_caller_that_leaves_while_it_sends(self, machine: Set):
        _, writer = await asyncio.open_connection("127.0.0.1", machine.port)
        writer.write(b"POST /api/chat HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        await until(lambda: machine.ollama.active == 1)
        writer.transport.abort()
        await until(lambda: machine.ollama.active == 0, 2.0)
        assert machine.ollama.requests == []
