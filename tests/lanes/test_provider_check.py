"""What `synapse provider test` finds. Statuses and bodies: the API references of OpenAI, Anthropic and Mistral."""

import socket
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from appliance.lanes import provider_check as module
from appliance.lanes.endpoint import Kind, endpoint
from appliance.lanes.external_connections import open_session
from appliance.lanes.provider_check import Checked, check
from tests.upstreams import openai as wire
from tests.upstreams.openai import OpenAIDouble, openai_double

KEY = "sk-proj-secret"


@pytest.fixture
async def session():
    async with open_session() as session:
        yield session


@pytest.fixture
async def openai():
    async with openai_double(key=KEY, strict=True, default=whole()) as double:
        yield double


def whole() -> wire.Script:
    async def run(_: web.Request) -> web.StreamResponse:
        message = {"role": "assistant", "content": "Hello"}
        return web.json_response({"object": "chat.completion", "choices": [{"index": 0, "message": message}]})

    return run


async def ask(
    session: aiohttp.ClientSession,
    url: str,
    *,
    kind: Kind = "openai",
    key: str | None = KEY,
    model: str | None = "gpt-double",
) -> Checked:
    checked = await check(session, endpoint(kind, "ours", url, key), kind, model)
    assert checked.ok == (checked.advice == "") == (checked.finding == "ok")
    assert "'ours'" in checked.message
    assert not key or key not in checked.message + checked.advice
    return checked


async def test_a_provider_that_lists_the_model_is_asked_for_nothing_more(
    session: aiohttp.ClientSession, openai: OpenAIDouble
):
    assert (await ask(session, openai.url)).ok
    assert ([one.path for one in openai.asked], openai.received) == (["/v1/models"], [])


async def test_a_wrong_key(session: aiohttp.ClientSession, openai: OpenAIDouble):
    checked = await ask(session, openai.url, key="sk-wrong")
    assert checked.finding == "key"
    assert "key" in checked.advice


@pytest.mark.parametrize("path", ["", "/v2", "/v1/chat/completions"])
async def test_a_wrong_path(session: aiohttp.ClientSession, openai: OpenAIDouble, path: str):
    checked = await ask(session, openai.url.removesuffix("/v1") + path)
    assert checked.finding == "url"
    assert "/v1" in checked.advice


async def test_a_page_is_no_model_api(session: aiohttp.ClientSession):
    async def page(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>Welcome to nginx!</html>", content_type="text/html")

    async with served(page) as url:
        assert (await ask(session, url)).finding == "url"
        assert (await ask(session, url, model=None)).finding == "url"


class served:  # noqa: N801  used like a function
    """One handler for every request, on loopback."""

    def __init__(self, handler: Any) -> None:
        app = web.Application()
        app.add_routes([web.route("*", "/{path:.*}", handler)])
        self.runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def __aenter__(self) -> str:
        await self.runner.setup()
        await web.TCPSite(self.runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self.runner.addresses[0][1]}/v1"

    async def __aexit__(self, *_: object) -> None:
        await self.runner.cleanup()


async def test_a_missing_model(session: aiohttp.ClientSession, openai: OpenAIDouble):
    checked = await ask(session, openai.url, model="gpt-none")
    assert checked.finding == "model"
    assert "'gpt-none'" in checked.message
    assert "synapse provider add" in checked.advice


async def test_a_model_that_is_not_listed_may_be_there_all_the_same(
    session: aiohttp.ClientSession, openai: OpenAIDouble
):
    openai.strict = False
    assert (await ask(session, openai.url, model="gpt-alias")).ok
    assert b'"max_completion_tokens":1' in openai.bodies[0]


async def test_a_server_whose_list_is_open_is_asked_for_a_token_too(
    session: aiohttp.ClientSession, openai: OpenAIDouble
):
    openai.open_list = True
    assert (await ask(session, openai.url, kind="openai-compatible", key="sk-wrong")).finding == "key"
    assert (await ask(session, openai.url, kind="openai-compatible")).ok
    assert b'"max_tokens":1' in openai.bodies[1]


async def test_a_server_without_a_list_and_without_keys(session: aiohttp.ClientSession):
    async with openai_double(lists_models=False, default=whole(), strict=True) as double:
        assert (await ask(session, double.url, kind="openai-compatible", key=None)).ok
        checked = await ask(session, double.url, kind="openai-compatible", key=None, model="none")
        assert checked.finding == "model"
        assert double.received[0].header("Authorization") is None


@pytest.mark.parametrize(
    ("script", "finding"),
    [
        (wire.busy(), "busy"),
        (wire.refuses(429, wire.error("no", code="insufficient_quota")), "key"),
        (wire.refuses(500, wire.error("sorry")), "failed"),
        (wire.refuses(403, wire.error("no", code="model_not_found")), "model"),
        (wire.refuses(400, wire.error("Could not finish the message because max_tokens was reached.")), "ok"),
        # Mistral's own shape.
        (wire.refuses(400, {"object": "error", "message": "Invalid model: m", "type": "invalid_model", "code": "1500"}),
         "model"),
        (wire.refuses(401, {"detail": "Unauthorized"}), "key"),
    ],
)  # fmt: skip
async def test_what_the_answer_of_one_token_shows(
    session: aiohttp.ClientSession, openai: OpenAIDouble, script: wire.Script, finding: str
):
    openai.strict = False
    openai.scripts.append(script)
    assert (await ask(session, openai.url, kind="mistral", model="not-listed")).finding == finding


async def test_without_a_model_the_list_is_all_that_is_asked_for(session: aiohttp.ClientSession, openai: OpenAIDouble):
    checked = await ask(session, openai.url, model=None)
    assert (checked.ok, openai.received) == (True, [])
    assert (await ask(session, openai.url, model=None, key="sk-wrong")).finding == "key"
    assert (await ask(session, openai.url + "/v9", model=None)).finding == "url"


async def test_anthropic_s_own_headers_and_errors(session: aiohttp.ClientSession):
    """The Anthropic API reference: `x-api-key`, `anthropic-version`, and `not_found_error` with `model: …`."""
    seen: list[web.Request] = []

    async def anthropic(request: web.Request) -> web.StreamResponse:
        seen.append(request)
        if request.headers.get("x-api-key") != KEY:
            error = {"type": "authentication_error", "message": "invalid x-api-key"}
            return web.json_response({"type": "error", "error": error}, status=401)
        if request.method == "GET" and request.path == "/v1/models":
            return web.json_response({"data": [{"type": "model", "id": "claude-double"}], "has_more": False})
        found = request.path == "/v1/messages"
        error = {"type": "not_found_error", "message": "model: claude-none" if found else "Not Found"}
        return web.json_response({"type": "error", "error": error}, status=404)

    async with served(anthropic) as url:
        url = url.removesuffix("/v1")  # as its SDK takes it
        assert (await ask(session, url, kind="anthropic", model="claude-double")).ok
        assert (seen[0].headers["anthropic-version"], seen[0].query["limit"]) == ("2023-06-01", "1000")
        assert (await ask(session, url, kind="anthropic", model="claude-none")).finding == "model"
        assert seen[-1].path == "/v1/messages"
        assert (await ask(session, url, kind="anthropic", key="wrong")).finding == "key"
        assert (await ask(session, url + "/v1", kind="anthropic")).finding == "url"


async def test_nobody_there(session: aiohttp.ClientSession, unused_tcp_port: int):
    checked = await ask(session, f"http://127.0.0.1:{unused_tcp_port}/v1")
    assert (checked.finding, "accepts no connections" in checked.message) == ("network", True)


async def test_a_host_that_is_not_found(session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch):
    async def resolve(*_: object, **__: object) -> None:
        raise OSError(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(aiohttp.ThreadedResolver, "resolve", resolve)
    checked = await ask(session, "https://api.example.invalid/v1")
    assert (checked.finding, "host name" in checked.message) == ("network", True)


async def test_tls_where_there_is_none(session: aiohttp.ClientSession, openai: OpenAIDouble):
    checked = await ask(session, openai.url.replace("http:", "https:"))
    assert (checked.finding, "secure connection" in checked.message) == ("tls", True)


async def test_a_redirect(session: aiohttp.ClientSession):
    async def moved(_: web.Request) -> web.StreamResponse:
        return web.Response(status=308, headers={"Location": "https://new.example/v1?key=x"})

    async with served(moved) as url:
        checked = await ask(session, url)
    assert (checked.finding, "redirect to new.example" in checked.message) == ("url", True)


async def test_a_provider_that_says_nothing(session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.05)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        checked = await ask(session, f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
    assert (checked.finding, "no answer within 0.05 s" in checked.message) == ("failed", True)
