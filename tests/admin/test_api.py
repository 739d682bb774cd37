"""The API as raw HTTP on its socket: statuses, error bodies, and what no client of ours would send."""

import io
import os
import pwd
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from appliance.errors import SynapseError
from appliance.store import audit
from tests.admin.played import MACHINE, Daemon

ROOT = "http://daemon/admin/v1"
OUTSIDE = "'http://8.8.8.8' is not inside this network, so it cannot be called local."
NOBODY_THERE = "The machine does not answer on its join port."
LISTED_NAMED = "127.0.0.1:11434 is named in the settings, which alone decide about it."


@pytest.fixture
async def http(listening: Daemon) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.UnixConnector(str(listening.socket))
    async with aiohttp.ClientSession(connector=connector) as session:
        yield session


async def ask(http: aiohttp.ClientSession, method: str, path: str, **given: Any) -> tuple[int, Any]:
    async with http.request(method, ROOT + path, **given) as response:
        assert response.headers["content-type"] == "application/json"
        return response.status, await response.json()


@pytest.mark.parametrize(
    "path",
    [
        "/status",
        "/keys",
        "/workspaces",
        "/users",
        "/models",
        "/shield",
        "/proofs",
        "/proofs/keys",
        "/providers",
        "/policy",
        "/nodes",
        "/cluster-key",
        "/contexts",
        "/pulls",
    ],
)
async def test_every_listing_answers(http: aiohttp.ClientSession, path: str):
    status, body = await ask(http, "GET", path)
    assert status == 200
    assert isinstance(body, dict)


async def test_what_is_made_is_201(http: aiohttp.ClientSession):
    assert (await ask(http, "POST", "/keys", json={"name": "a"}))[0] == 201
    assert (await ask(http, "POST", "/users", json={"name": "zoe"}))[0] == 201
    assert (await ask(http, "POST", "/workspaces", json={"name": "legal"}))[0] == 201
    assert (await ask(http, "POST", "/pulls", json={"name": "qwen3:8b"}))[0] == 201


async def test_the_secret_is_in_one_answer_only(http: aiohttp.ClientSession):
    _, made = await ask(http, "POST", "/keys", json={"name": "a"})
    assert made["secret"].startswith("sk_live_")
    async with http.get(f"{ROOT}/keys") as response:
        assert made["secret"] not in await response.text()


async def test_an_answer_is_not_to_be_cached(http: aiohttp.ClientSession):
    async with http.get(f"{ROOT}/keys") as response:
        assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("method", "path", "given", "status", "code", "message"),
    [
        ("POST", "/keys", {"json": {}}, 400, "invalid_request", "name is missing."),
        ("POST", "/keys", {"json": {"name": "a", "user": "x"}}, 404, "not_found", 'There is no user "x".'),
        ("POST", "/keys", {"data": b"{"}, 400, "invalid_request", "The body is not JSON."),
        ("POST", "/keys", {"data": b""}, 400, "invalid_request", "The body is not JSON."),
        ("POST", "/keys", {"data": b'{"name":"\xff"}'}, 400, "invalid_request", "The body is not JSON."),
        ("POST", "/keys", {"data": b'{"name":"\\ud800"}'}, 400, "invalid_request", "The body is not JSON."),
        ("POST", "/keys", {"data": b"[" * 9000}, 400, "invalid_request", "The body is not JSON."),
        ("POST", "/keys", {"data": b"x" * 70_000}, 413, "request_too_large", "The body is larger than 65536 bytes."),
        ("POST", "/users", {"json": {"name": "admin"}}, 409, "admin_error", 'There is a user "admin" already.'),
        ("POST", "/keys/revoke", {"json": {"key": "x"}}, 404, "not_found", 'There is no key "x".'),
        ("PUT", "/models/big", {"json": {"name": "x"}}, 400, "invalid_request", 'There is no role "big".'),
        ("DELETE", "/models/big", {}, 400, "invalid_request", 'There is no role "big".'),
        ("PUT", "/providers", {"json": {"name": "a"}}, 400, "invalid_request", "kind is missing."),
        (
            "PUT",
            "/providers",
            {"json": {"name": "a", "kind": "openai", "key": 5}},
            400,
            "invalid_request",
            "key must be a string.",
        ),
        ("POST", "/providers/remove", {"json": {"name": "x"}}, 404, "not_found", 'There is no provider "x".'),
        ("POST", "/providers/test", {"json": {"name": "x"}}, 404, "not_found", 'There is no provider "x".'),
        ("GET", "/policy?workspace=x", {}, 404, "not_found", 'There is no workspace "x".'),
        ("PUT", "/policy/allow", {"json": {"providers": ["x"]}}, 404, "not_found", 'There is no provider "x".'),
        ("DELETE", "/policy/allow?workspace=x", {}, 404, "not_found", 'There is no workspace "x".'),
        ("PUT", "/policy/active", {"json": {"provider": "x"}}, 404, "not_found", 'There is no provider "x".'),
        (
            "PUT",
            "/policy/unscannable",
            {"json": {"value": "no"}},
            400,
            "invalid_request",
            "value must be one of: refuse, allow.",
        ),
        ("PUT", "/policy/sensitive-on-open", {"json": {}}, 400, "invalid_request", "value is missing."),
        ("POST", "/nodes", {"json": {"url": "http://8.8.8.8"}}, 400, "invalid_request", OUTSIDE),
        ("POST", "/nodes", {"json": {"url": "synapse://127.0.0.1:1"}}, 409, "join_failed", NOBODY_THERE),
        ("POST", "/nodes", {"data": b"x" * 300_000}, 413, "request_too_large", "The body is larger than 262144 bytes."),
        ("POST", "/nodes/admit", {"json": {"node": "x"}}, 404, "not_found", 'There is no machine "x".'),
        ("POST", "/nodes/reject", {"json": {}}, 400, "invalid_request", "node is missing."),
        ("POST", "/nodes/drain", {"json": {"node": "x"}}, 404, "not_found", 'There is no machine "x".'),
        ("POST", "/nodes/resume", {"json": {"node": "x"}}, 404, "not_found", 'There is no machine "x".'),
        ("POST", "/nodes/remove", {"json": {"node": "127.0.0.1:11434"}}, 409, "admin_error", LISTED_NAMED),
        ("POST", "/cluster-key", {"json": {"uses": 0}}, 400, "invalid_request", "uses is 0."),
        ("POST", "/pulls", {"json": {}}, 400, "invalid_request", "name is missing."),
        ("POST", "/pulls", {"json": {"name": ""}}, 400, "invalid_request", "That is no model's name."),
        ("POST", "/pulls", {"json": {"name": "m", "node": "x"}}, 404, "not_found", 'There is no machine "x".'),
        ("POST", "/pulls/cancel", {"json": {"id": "x"}}, 404, "not_found", 'There is no pull "x".'),
        ("DELETE", "/pulls", {}, 405, "invalid_request", "DELETE does not go with /admin/v1/pulls."),
        ("GET", "/proofs/prf_x", {}, 404, "not_found", 'There is no certificate "prf_x".'),
        ("GET", "/proofs?limit=x", {}, 400, "invalid_request", "limit must be a whole number."),
        ("GET", "/proofs?limit=0", {}, 400, "invalid_request", "limit is 0."),
        ("GET", "/proofs?before=-1", {}, 400, "invalid_request", "before must be a whole number."),
        ("GET", "/proofs?before=9007199254740992", {}, 400, "invalid_request", "before must be a whole number."),
        ("GET", "/proofs?before=" + "9" * 5000, {}, 400, "invalid_request", "before must be a whole number."),
        ("POST", "/backups", {"json": {"file": "a"}}, 400, "invalid_request", "passphrase is missing."),
        (
            "POST",
            "/backups",
            {"json": {"file": "a", "passphrase": "short"}},
            400,
            "invalid_request",
            "The passphrase is too short.",
        ),
        ("GET", "/backups", {}, 405, "invalid_request", "GET does not go with /admin/v1/backups."),
        ("POST", "/backups/kept", {"json": {}}, 400, "invalid_request", "created is missing."),
        ("GET", "/nothing", {}, 404, "not_found", "The daemon has no /admin/v1/nothing."),
        ("GET", "/keys/", {}, 404, "not_found", "The daemon has no /admin/v1/keys/."),
        ("DELETE", "/keys", {}, 405, "invalid_request", "DELETE does not go with /admin/v1/keys."),
        ("GET", "/models/full", {}, 405, "invalid_request", "GET does not go with /admin/v1/models/full."),
    ],
)
async def test_what_is_refused(
    http: aiohttp.ClientSession, method: str, path: str, given: dict[str, Any], status: int, code: str, message: str
):
    found, body = await ask(http, method, path, **given)
    assert (found, body["error"]["code"], body["error"]["message"]) == (status, code, message)
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "advice"}


@pytest.mark.parametrize("origin", ["http://localhost:8787", "null", "https://example.com"])
async def test_a_web_page_is_refused_before_anything_happens(
    http: aiohttp.ClientSession, listening: Daemon, origin: str
):
    status, body = await ask(http, "POST", "/users", json={"name": "zoe"}, headers={"Origin": origin})
    assert (status, body["error"]["code"]) == (403, "forbidden")
    assert [user.name for user in (await listening.service.users()).users] == ["admin"]


async def test_storage_that_fails_is_503(http: aiohttp.ClientSession, listening: Daemon):
    await listening.parts.database.close()
    status, body = await ask(http, "POST", "/users", json={"name": "zoe"})
    assert (status, body["error"]["code"]) == (503, "storage_unavailable")


async def test_a_fault_of_ours_is_500_without_details(
    http: aiohttp.ClientSession,
    listening: Daemon,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    def broken() -> None:
        raise ZeroDivisionError("inner secret")

    monkeypatch.setattr(listening.machines, "snapshot", broken)
    status, body = await ask(http, "GET", "/status")
    assert (status, body["error"]["code"]) == (500, "internal_error")
    assert "inner secret" not in str(body)
    assert "ZeroDivisionError" in caplog.text
    monkeypatch.undo()
    assert (await ask(http, "GET", "/status"))[1]["machines"][0]["id"] == MACHINE.id


async def test_an_expected_error_without_a_status_is_500_and_says_what_it_is(
    http: aiohttp.ClientSession, listening: Daemon, monkeypatch: pytest.MonkeyPatch
):
    async def broken() -> bytes:
        raise SynapseError("The keys are gone.", advice="Restore them.")

    monkeypatch.setattr(listening.proofs, "keys", broken)
    status, body = await ask(http, "GET", "/proofs/keys")
    assert (status, body["error"]["message"], body["error"]["advice"]) == (500, "The keys are gone.", "Restore them.")


async def test_the_login_name_of_the_process_is_recorded(http: aiohttp.ClientSession, listening: Daemon):

    await ask(http, "POST", "/users", json={"name": "zoe"})
    [row] = await listening.parts.database.read(lambda conn: audit.newest(conn, limit=1))
    assert row.who == pwd.getpwuid(os.getuid()).pw_name


async def test_a_text_to_be_tried_may_be_larger_than_any_other_body(http: aiohttp.ClientSession):
    async def tried(characters: int) -> tuple[int, Any]:
        return await ask(http, "POST", "/shield/test", data=io.BytesIO(b'{"text":"' + b"x" * characters + b'"}'))

    status, body = await tried(3_000_000)
    assert (status, body["findings"]) == (200, [])
    status, body = await tried(5_000_000)
    assert (status, body["error"]["code"]) == (413, "request_too_large")


async def test_a_mode_that_there_is_not(http: aiohttp.ClientSession):
    status, body = await ask(http, "PUT", "/shield/mode", json={"mode": "strict"})
    assert (status, body["error"]["message"]) == (400, "mode must be one of: standard, medical, off.")


async def test_a_provider_is_201_when_made_and_200_when_changed_and_its_key_is_in_no_answer_and_no_log(
    http: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("DEBUG")
    key = "sk-a-key-that-nobody-may-see"
    new = {"name": "openai", "kind": "openai", "key": key, "full": "gpt-4o"}
    statuses: list[int] = []
    said: list[str] = []
    for method, path, body in [
        ("PUT", "/providers", new),
        ("PUT", "/providers", new),
        ("PUT", "/providers", new | {"base_url": "http://example.com"}),
        ("GET", "/providers", None),
        ("POST", "/providers/test", {"name": "openai"}),
        ("PUT", "/policy/active", {"provider": "openai"}),
        ("GET", "/policy", None),
        ("GET", "/status", None),
        ("POST", "/providers/remove", {"name": "openai"}),
    ]:
        status, answer = await ask(http, method, path, **({} if body is None else {"json": body}))
        statuses.append(status)
        said.append(str(answer))
    assert statuses == [201, 200, 400, 200, 200, 200, 200, 200, 200]
    assert not any(key in text for text in (*said, caplog.text))
