import httpx
import pytest

from appliance.admin import wire
from appliance.proofs.keyset import KeySet
from tests.box import Box


async def call(gateway: Box, key: str | None = None) -> str:
    headers = {"authorization": f"Bearer {key or gateway.key}"}
    answer = await gateway.http.post("/v1/chat/completions", content=gateway.body(), headers=headers)
    return answer.headers["x-pulse-proof"]


async def test_one_certificate_is_the_bytes_of_its_file(gateway: Box):
    proof_id = await call(gateway)
    answer = await gateway.http.get(f"/v1/proofs/{proof_id}")
    assert answer.content == await gateway.admin.proof(proof_id)
    assert not answer.content.endswith(b"\n")
    assert answer.headers["content-type"] == "application/json"


async def test_the_list_is_newest_first_and_pages(gateway: Box):
    made = [await call(gateway) for _ in range(5)]
    newest = made[::-1]

    async def page(query: str) -> tuple[list[str], bool]:
        said = (await gateway.http.get(f"/v1/proofs?{query}")).json()
        assert said["object"] == "list"
        return [one["payload"]["id"] for one in said["data"]], said["has_more"]

    assert await page("") == (newest, False)
    assert await page("limit=2") == (newest[:2], True)
    assert await page(f"limit=2&before={newest[1]}") == (newest[2:4], True)
    assert await page(f"limit=2&before={newest[3]}") == (newest[4:], False)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "limit=-1", "limit=1e3", "before=prf_none", "limit="]
)
async def test_a_wrong_page_is_refused(gateway: Box, query: str):
    answer = await gateway.http.get(f"/v1/proofs?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]


async def test_another_workspaces_certificate_does_not_exist(gateway: Box):
    await gateway.admin.create_workspace("other")
    stranger = (await gateway.admin.create_key(wire.NewKey("stranger", workspace="other"))).secret
    proof_id = await call(gateway)
    headers = {"authorization": f"Bearer {stranger}"}
    answer = await gateway.http.get(f"/v1/proofs/{proof_id}", headers=headers)
    assert answer.status_code == 404
    assert (await gateway.http.get("/v1/proofs", headers=headers)).json()["data"] == []
    theirs = await call(gateway, stranger)
    assert (await gateway.http.get(f"/v1/proofs/{theirs}")).status_code == 404
    assert (await gateway.http.get(f"/v1/proofs?before={theirs}")).status_code == 400


@pytest.mark.parametrize("proof_id", ["prf_none", "x", "..", "%2e%2e", "prf_'--"])
async def test_an_unknown_certificate(gateway: Box, proof_id: str):
    answer = await gateway.http.get(f"/v1/proofs/{proof_id}")
    assert answer.status_code == 404
    assert "error" in answer.json()


async def test_the_public_keys_need_no_key(gateway: Box):
    async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as stranger:
        answer = await stranger.get("/.well-known/synapse/keys.json")
    assert answer.status_code == 200
    keys = KeySet.parse(answer.content)
    assert [(key.role, key.first, key.last) for key in keys.keys] == [("certificate", 0, None)]
    assert answer.content == await gateway.admin.proof_keys() == gateway.app.public_keys
