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
    error = answer.json()["error"]
    assert path == "/v1/proofs" or error["code"] == "invalid_api_key"
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


@pytest.mark.parametrize(
    ("path", "headers"),
    [("/v1/messages", {}), ("/v1/messages/count_tokens", {}), ("/v1/models", {"anthropic-version": "2023-06-01"})],
)
@pytest.mark.parametrize("key", [{}, {"x-api-key": "sk_live_x"}, {"authorization": "Bearer sk_live_x"}])
async def test_a_client_of_anthropic_s_dialect_is_told_of_its_own_header(
    gateway: Box, path: str, headers: dict[str, str], key: dict[str, str]
):
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http:
        answer = await http.request("GET" if headers else "POST", path, headers={**headers, **key})
    assert answer.status_code == 401
    said = answer.json()["error"]["message"]
    assert said.startswith("No valid API key." if key else "No API key was sent.")
    assert " Send `x-api-key: sk_live_…` or `Authorization: Bearer sk_live_…`; " in said


@pytest.mark.parametrize("path", ["/v1/models", "/v1/proofs"])
@pytest.mark.parametrize("other", ["sk-ant-another-service", "x" * 5000, "é"])
async def test_of_two_keys_either_may_be_the_good_one(gateway: Box, path: str, other: str):
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http:
        for bearer, key in ((other, gateway.key), (gateway.key, other)):
            headers = {b"authorization": b"Bearer " + bearer.encode("latin-1"), b"x-api-key": key.encode("latin-1")}
            assert (await http.get(path, headers=headers)).status_code == 200


async def test_two_wrong_keys_are_answered_as_one_is(gateway: Box):
    made = await gateway.admin.create_key(wire.NewKey("gone"))
    await gateway.admin.revoke_key("gone")
    answers: set[str] = set()
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http:
        for headers in (
            {"authorization": "Bearer sk_live_x"},
            {"authorization": "Bearer sk_live_x", "x-api-key": "sk_live_y"},
            {"authorization": f"Bearer {made.secret}", "x-api-key": "sk_live_y"},
        ):
            answer = await http.get("/v1/models", headers=headers)
            assert answer.status_code == 401
            answers.add(answer.text)
    assert len(answers) == 1


async def test_of_two_good_keys_the_one_with_the_scope_opens(gateway: Box):
    proofs = (await gateway.admin.create_key(wire.NewKey("auditor", scopes=("proofs",)))).secret
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as http:
        for bearer, key in ((proofs, gateway.key), (gateway.key, proofs)):
            headers = {"authorization": f"Bearer {bearer}", "x-api-key": key}
            assert (await http.get("/v1/models", headers=headers)).status_code == 200
        both = {"authorization": f"Bearer {proofs}", "x-api-key": proofs}
        assert (await http.get("/v1/models", headers=both)).status_code == 403


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
