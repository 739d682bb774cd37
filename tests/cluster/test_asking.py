from collections.abc import Awaitable, Callable

import aiohttp
import pytest
from aiohttp import web

from appliance.cluster import asking
from appliance.cluster.asking import Refused, as_object, ask, count, is_name, no_answer, stated_version
from tests.upstreams.serving import Double, listening

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def asked(handler: Handler, **options: object) -> object:
    """What `ask` makes of such an answer."""
    double = Double()
    async with listening(double, [web.get("/", handler)], 0), aiohttp.ClientSession() as session:
        return await ask(session, "GET", double.url + "/", **options)  # type: ignore[arg-type]  the test's own options


def says(body: bytes, status: int = 200, **headers: str) -> Handler:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=status, headers=headers)

    return handler


async def test_an_object_and_the_headers_that_were_sent():
    async def handler(request: web.Request) -> web.StreamResponse:
        return web.json_response({"key": request.headers["Authorization"]})

    assert await asked(handler, headers={"Authorization": "Bearer k"}) == {"key": "Bearer k"}


@pytest.mark.parametrize("body", [b"", b"hello", b"[]", b"1", b'{"a":'])
async def test_what_is_no_object_is_no_answer(body: bytes):
    try:
        found = await asked(says(body))
    except ValueError as error:
        found = no_answer(error, unlike="it is odd")
    assert found == "it is odd"


@pytest.mark.parametrize("status", [201, 302, 401, 404, 500])
async def test_another_status_is_a_refusal(status: int):
    with pytest.raises(Refused) as refused:
        await asked(says(b"{}", status, Location="/"))
    assert refused.value.status == status


async def test_an_answer_larger_than_any_honest_one_is_not_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(asking, "MAX_ANSWER_BYTES", 1_000)
    assert await asked(says(b"{" + b" " * 998 + b"}")) == {}
    with pytest.raises(ValueError, match="1001"):
        await asked(says(b"{" + b" " * 999 + b"}"))


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (TimeoutError(), "it did not answer in time"),
        (aiohttp.ServerTimeoutError(), "it did not answer in time"),
        (ConnectionRefusedError(111, "secret.example"), "no connection (connection refused)"),
        (aiohttp.ServerDisconnectedError("secret"), "it closes the connection without an answer"),
        (aiohttp.ClientPayloadError("secret"), "no connection (ClientPayloadError)"),
        (ValueError("secret"), "unlike"),
    ],
)
def test_why_there_is_no_answer_names_no_address(error: Exception, why: str):
    assert no_answer(error, unlike="unlike") == why


@pytest.mark.parametrize(
    ("name", "good"),
    [("org/model:7b", True), ("/models/a b.gguf", True), ("", False), ("a\x7fb", False), ("a\nb", False),
     ("x" * 256, True), ("x" * 257, False)],
)  # fmt: skip
def test_names_that_a_certificate_can_hold(name: str, good: bool):
    assert is_name(name) is good


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("0.6.3.post1+cu124", "0.6.3.post1+cu124"),
        ("<b>", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
        (1, "unknown"),
    ],
)
def test_a_version_is_what_looks_like_one(said: object, version: str):
    assert stated_version(said) == version


@pytest.mark.parametrize(("said", "number"), [(7, 7), (0, 0), (-1, 0), (True, 0), (7.5, 0), ("7", 0), (None, 0)])
def test_a_count_is_a_positive_whole_number(said: object, number: int):
    assert count(said) == number


def test_what_is_no_object_has_no_members():
    assert as_object({"a": 1}) == {"a": 1}
    assert as_object(["a"]) == as_object(None) == {}
