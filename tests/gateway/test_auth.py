from datetime import UTC, datetime, timedelta

import httpx
import pytest

from appliance.admin import wire
from appliance.times import rfc3339
from tests.box import CHAT, Box

ROUTES = [("POST", CHAT), ("GET", "/v1/models"), ("GET", "/v1/models/pulse-auto"), ("GET", "/v1/proofs")]


async def ask(gateway: Box, method: str, path: str, key: str | None) -> httpx.Response:
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http:
        content = gateway.body() if method == "POST" else None
        return await http.request(method, path, content=content, headers=headers)


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize("key", [None, "sk_live_wrong", "sk_live_" + "0" * 33, "é", "x" * 5000])
async def test_no_key_and_wrong_keys(gateway: Box, method: str, path: str, key: str | None):
    headers = {} if key is None else {b"authorization": b"Bearer " + key.encode("latin-1")}
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http:
        answer = await http.request(method, path, content=b"not even JSON", headers=headers)
    assert answer.status_code == 401
    code = answer.json()["code"] if path == "/v1/proofs" else answer.json()["error"]["code"]
    assert code == "invalid_api_key"
    assert "synapse key create" in answer.text


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({}, "No API key was sent."),
        ({"authorization": "sk_live_x"}, "The Authorization header does not begin with `Bearer `."),
        ({"authorization": "Basic c2s6eA=="}, "The Authorization header does not begin with `Bearer `."),
        ({"authorization": "Bearer sk_live_x"}, "No valid API key."),
        ({"authorization": "Bearer " + "x" * 5000}, "No valid API key."),
        ({"authorization": "Basic c2s6eA==", "x-api-key": "sk_live_x"}, "No valid API key."),
    ],
)
async def test_what_is_wrong_is_said(gateway: Box, headers: dict[str, str], sentence: str):
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http:
        answer = await http.get("/v1/models", headers=headers)
    assert answer.status_code == 401
    assert answer.json()["error"]["message"].startswith(sentence + " Send `Authorization: Bearer sk_live_…`;")


async def test_a_revoked_key_is_refused_on_the_next_request(gateway: Box):
    made = await gateway.admin.create_key(wire.NewKey("gone"))
    assert (await ask(gateway, "POST", CHAT, made.secret)).status_code == 200
    await gateway.admin.revoke_key("gone")
    refused = await ask(gateway, "POST", CHAT, made.secret)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "invalid_api_key")


async def test_an_expired_key_is_refused(gateway: Box):
    soon = datetime.now(UTC) + timedelta(milliseconds=150)
    made = await gateway.admin.create_key(wire.NewKey("short", expires=rfc3339(soon)))
    status = 200
    while status == 200:
        assert datetime.now(UTC) < soon + timedelta(seconds=5)
        status = (await ask(gateway, "GET", "/v1/models", made.secret)).status_code
    assert status == 401
    assert datetime.now(UTC) >= soon - timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("scope", "allowed"),
    [
        ("engine", {CHAT, "/v1/models", "/v1/models/pulse-auto", "/v1/proofs"}),
        ("proofs", {"/v1/proofs"}),
        ("metrics", set()),
    ],
)
async def test_each_scope_opens_its_own_routes(gateway: Box, scope: str, allowed: set[str]):
    made = await gateway.admin.create_key(wire.NewKey("scoped", scopes=(scope,)))
    for method, path in ROUTES:
        answer = await ask(gateway, method, path, made.secret)
        assert answer.status_code == (200 if path in allowed else 403), path
        if path not in allowed:
            assert "scope_denied" in answer.text
