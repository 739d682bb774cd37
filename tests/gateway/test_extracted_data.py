"""Source: completions.md, "Extracted data", row by row; gateway.md ("Authentication", "Errors"); the issue."""

import re
import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from appliance.admin import wire
from appliance.extraction.facts import Fact
from appliance.store import facts, wiping
from appliance.times import rfc3339, to_ms, utc_now
from tests.box import Box, box
from tests.upstreams.ollama import OllamaDouble
from tests.waiting import until

PATH = "/v1/ai/extracted-data"

PHONE = Fact("contact", "phone", "06 12 34 56 78", 0.97)
WINDOW = Fact("preferences", "call_window", "after 5pm", 0.9)

NOT_FOUND = {"error": "Not found"}


@dataclass
class Keeper:
    """Writes facts as a call does, but from outside."""

    gateway: Box

    def keep(self, fact: Fact = PHONE, *, user: str = "admin", source: str = "ticket-4812", at: int = 1_000) -> str:
        """The fact's id."""
        conn = sqlite3.connect(self.gateway.state_dir / "synapse.db", isolation_level=None)
        try:
            (user_n,) = conn.execute("SELECT n FROM users WHERE name = ?", (user,)).fetchone()
            count = conn.execute("SELECT count(*) FROM facts").fetchone()[0]
            row = facts.upsert(conn, user_n, source, fact, at, f"fct_{count}")
        finally:
            conn.close()
        assert row is not None
        return row.id


@pytest.fixture
def keeper(gateway: Box) -> Keeper:
    return Keeper(gateway)


async def values(gateway: Box, key: str | None = None, **asked: str | int) -> list[str]:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    answer = await gateway.http.get(PATH, params=asked, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.json()["count"] == len(answer.json()["data"])
    return [fact["value"] for fact in answer.json()["data"]]


async def new_key(gateway: Box, name: str, **fields: object) -> dict[str, str]:
    """As the header that it is sent in."""
    made = await gateway.admin.create_key(wire.NewKey(name, **fields))  # type: ignore[arg-type]
    return {"authorization": f"Bearer {made.secret}"}


class TestList:
    async def test_the_shape_of_the_seed(self, gateway: Box, keeper: Keeper):
        at = "2026-10-09T09:31:10.000Z"
        fact_id = keeper.keep(at=1_791_538_270_000)
        answer = await gateway.http.get(PATH, params={"source": "ticket-4812", "category": "contact"})
        assert answer.headers["content-type"] == "application/json"
        assert answer.json() == {
            "data": [
                {
                    "id": fact_id,
                    "source": "ticket-4812",
                    "category": "contact",
                    "key": "phone",
                    "value": "06 12 34 56 78",
                    "confidence": 0.97,
                    "createdAt": at,
                    "updatedAt": at,
                }
            ],
            "count": 1,
        }

    async def test_none(self, gateway: Box):
        assert (await gateway.http.get(PATH)).json() == {"data": [], "count": 0}

    async def test_newest_first_by_the_last_update(self, gateway: Box, keeper: Keeper):
        for number in range(3):
            keeper.keep(replace(PHONE, key=f"k{number}", value=str(number)), at=1_000 + number)
        keeper.keep(replace(PHONE, key="k0", value="corrected"), at=2_000)
        assert await values(gateway) == ["corrected", "2", "1"]
        (first, *_) = (await gateway.http.get(PATH)).json()["data"]
        assert (first["createdAt"], first["updatedAt"]) == ("1970-01-01T00:00:01.000Z", "1970-01-01T00:00:02.000Z")

    async def test_of_one_source_and_category(self, gateway: Box, keeper: Keeper):
        keeper.keep(at=1)
        keeper.keep(WINDOW, at=2)
        keeper.keep(replace(PHONE, value="other"), source="s & 2=ü", at=3)
        assert await values(gateway, source="ticket-4812") == ["after 5pm", "06 12 34 56 78"]
        assert await values(gateway, category="contact") == ["other", "06 12 34 56 78"]
        assert await values(gateway, source="s & 2=ü", category="contact") == ["other"]
        assert await values(gateway, source="ticket", category="contact") == []
        assert await values(gateway, source="") == []

    @pytest.mark.parametrize(
        ("limit", "shown"), [(None, 100), ("1", 1), ("007", 7), ("500", 500), ("501", 500), ("9" * 5_000, 500)]
    )
    async def test_the_limit_is_100_and_never_above_500(
        self, gateway: Box, keeper: Keeper, limit: str | None, shown: int
    ):
        for number in range(shown + 1):
            keeper.keep(replace(PHONE, key=f"k{number}"))
        assert len(await values(gateway, **({} if limit is None else {"limit": limit}))) == shown

    @pytest.mark.parametrize("limit", ["0", "-1", "x", "", "1.5", "1e3", "٣", "000"])
    async def test_what_is_no_limit(self, gateway: Box, limit: str):
        answer = await gateway.http.get(PATH, params={"limit": limit})
        assert answer.status_code == 400
        assert answer.json()["error"] == "`limit` must be a whole number, 1 or more."


class TestOne:
    async def test_the_fact(self, gateway: Box, keeper: Keeper):
        fact_id = keeper.keep()
        answer = await gateway.http.get(f"{PATH}/{fact_id}")
        (listed,) = (await gateway.http.get(PATH)).json()["data"]
        assert answer.json() == {"data": listed}
        assert {"id", "source", "category", "key", "value", "confidence"} <= listed.keys()

    @pytest.mark.parametrize("fact_id", ["clx9m1zq20003xyz", "fct_none", "%27", "%00", "fct_0%20"])
    async def test_an_unknown_one(self, gateway: Box, keeper: Keeper, fact_id: str):
        keeper.keep()
        for method in ("GET", "DELETE"):
            answer = await gateway.http.request(method, f"{PATH}/{fact_id}")
            assert (answer.status_code, answer.json()) == (404, NOT_FOUND)
            assert answer.headers["x-request-id"]
        assert await values(gateway) == [PHONE.value]


class TestDelete:
    async def test_one(self, gateway: Box, keeper: Keeper):
        fact_id = keeper.keep()
        keeper.keep(WINDOW)
        answer = await gateway.http.delete(f"{PATH}/{fact_id}")
        assert (answer.status_code, answer.content) == (204, b"")
        assert "content-type" not in answer.headers
        assert await values(gateway) == ["after 5pm"]
        for method in ("GET", "DELETE"):
            assert (await gateway.http.request(method, f"{PATH}/{fact_id}")).status_code == 404

    async def test_the_seeds_way_to_honour_an_erasure_request(self, gateway: Box, keeper: Keeper):
        keeper.keep()
        keeper.keep(WINDOW)
        keeper.keep(source="ticket-1")
        for fact in (await gateway.http.get(PATH, params={"source": "ticket-4812"})).json()["data"]:
            assert (await gateway.http.delete(f"{PATH}/{fact['id']}")).status_code == 204
        assert [fact["source"] for fact in (await gateway.http.get(PATH)).json()["data"]] == ["ticket-1"]

    async def test_all_of_a_source(self, gateway: Box, keeper: Keeper):
        keeper.keep()
        keeper.keep(WINDOW)
        keeper.keep(source="ticket-1")
        for _ in range(2):
            answer = await gateway.http.delete(PATH, params={"source": "ticket-4812"})
            assert (answer.status_code, answer.content) == (204, b"")
        assert [fact["source"] for fact in (await gateway.http.get(PATH)).json()["data"]] == ["ticket-1"]

    @pytest.mark.parametrize(
        "query", ["", "?source=", "?category=contact", "?source=a&source=b", "?source=a&category=contact", "?sourc=a"]
    )
    async def test_more_than_was_said_is_never_deleted(self, gateway: Box, keeper: Keeper, query: str):
        keeper.keep(source="a")
        answer = await gateway.http.delete(f"{PATH}{query}")
        assert answer.status_code == 400
        assert answer.json()["error"].startswith("Deleting many facts takes `source`")
        assert await values(gateway) == [PHONE.value]

    @pytest.mark.parametrize("path", [f"{PATH}/", f"{PATH}/fct_0/"])
    async def test_an_id_that_is_left_empty_deletes_nothing(self, gateway: Box, keeper: Keeper, path: str):
        keeper.keep()
        assert (await gateway.http.delete(path)).status_code == 404
        assert await values(gateway) == [PHONE.value]


class TestKeys:
    async def test_users_do_not_see_each_other(self, gateway: Box, keeper: Keeper):
        await gateway.admin.create_user("zoe")
        zoe = await new_key(gateway, "zoe", user="zoe")
        fact_id = keeper.keep()
        theirs = keeper.keep(user="zoe")
        assert (await gateway.http.get(PATH, headers=zoe)).json()["data"][0]["id"] == theirs
        for method in ("GET", "DELETE"):
            answer = await gateway.http.request(method, f"{PATH}/{fact_id}", headers=zoe)
            assert (answer.status_code, answer.json()) == (404, NOT_FOUND)
        assert (await gateway.http.delete(f"{PATH}?source=ticket-4812", headers=zoe)).status_code == 204
        assert (await gateway.http.get(PATH, headers=zoe)).json()["count"] == 0
        assert await values(gateway) == [PHONE.value]

    async def test_a_user_has_the_same_facts_in_every_workspace(self, gateway: Box, keeper: Keeper):
        await gateway.admin.create_workspace("legal")
        other = await new_key(gateway, "legal", workspace="legal")
        fact_id = keeper.keep()
        assert (await gateway.http.get(f"{PATH}/{fact_id}", headers=other)).status_code == 200

    async def test_a_read_only_key_reads(self, gateway: Box, keeper: Keeper):
        read_only = await new_key(gateway, "reader", read_only=True)
        fact_id = keeper.keep()
        for path in (PATH, f"{PATH}/{fact_id}"):
            assert (await gateway.http.get(path, headers=read_only)).status_code == 200
        for path in (f"{PATH}/{fact_id}", f"{PATH}/fct_none", f"{PATH}?source=ticket-4812", PATH):
            answer = await gateway.http.delete(path, headers=read_only)
            assert (answer.status_code, answer.json()["code"]) == (403, "read_only_key")
            assert answer.json()["error"].startswith("This key is read-only.")
        assert await values(gateway) == [PHONE.value]

    async def test_the_scope_engine_is_needed(self, gateway: Box):
        auditor = await new_key(gateway, "auditor", scopes=("proofs",))
        for method, path in (("GET", PATH), ("DELETE", PATH), ("GET", f"{PATH}/x"), ("DELETE", f"{PATH}/x")):
            answer = await gateway.http.request(method, path, headers=auditor)
            assert (answer.status_code, answer.json()["code"]) == (403, "scope_denied")

    async def test_no_key(self, gateway: Box):
        async with httpx.AsyncClient(base_url=gateway.url, trust_env=False) as stranger:
            for method, path in (("GET", PATH), ("DELETE", PATH), ("GET", f"{PATH}/x"), ("DELETE", f"{PATH}/x")):
                answer = await stranger.request(method, path)
                assert (answer.status_code, type(answer.json()["error"])) == (401, str)

    async def test_the_limit_of_the_key_counts(self, gateway: Box):
        slow = await new_key(gateway, "slow", requests_per_minute=1)
        assert (await gateway.http.get(PATH, headers=slow)).status_code == 200
        for method, path in (("GET", PATH), ("DELETE", f"{PATH}/x")):
            answer = await gateway.http.request(method, path, headers=slow)
            assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")
            assert int(answer.headers["retry-after"]) > 0


async def test_another_method_is_told_which_there_are(gateway: Box):
    for path in (PATH, f"{PATH}/fct_0"):
        answer = await gateway.http.post(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, HEAD, OPTIONS")
        assert answer.json()["code"] == "method_not_allowed"


async def test_times_are_rfc_3339_with_milliseconds(gateway: Box, keeper: Keeper):
    now = utc_now()
    fact_id = keeper.keep(at=to_ms(now))
    shown = (await gateway.http.get(f"{PATH}/{fact_id}")).json()["data"]["createdAt"]
    assert shown == rfc3339(now)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", shown)


class TestNoByteIsLeft:
    """Sixty seconds are promised; here they are cut short."""

    SECRETS = ("Quelconque-Numéro-0612345678", "Quelconque" + "é" * 1_900 + "-Ende")

    @pytest.fixture
    def state(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr(wiping, "GATHER_SECONDS", 0.05)
        return tmp_path / "state"

    @staticmethod
    def holding(state: Path, secret: str) -> list[str]:
        """The files with any long piece of it: one may begin on one page and end on another."""
        data = secret.encode()
        pieces = [data[at : at + 24] for at in range(0, max(1, len(data) - 24), 24)]
        files = [file for file in state.rglob("*") if file.is_file()]
        return [file.name for file in files if any(piece in file.read_bytes() for piece in pieces)]

    @staticmethod
    def files(state: Path) -> dict[str, bytes]:
        """Those of the database, as a crash would leave them."""
        return {file.name: file.read_bytes() for file in state.iterdir() if file.name.startswith("synapse.db")}

    @pytest.mark.parametrize("secret", SECRETS, ids=["short", "long"])
    @pytest.mark.parametrize("all_of_it", [False, True])
    async def test_after_a_204(self, state: Path, ollama: OllamaDouble, secret: str, all_of_it: bool):
        async with box(state, ollama.url) as gateway:
            keeper = Keeper(gateway)
            for number in range(30):
                keeper.keep(replace(PHONE, key=f"k{number}"), source="others")
            fact_id = keeper.keep(replace(PHONE, value=secret))
            assert self.holding(state, secret)
            path = f"{PATH}?source=ticket-4812" if all_of_it else f"{PATH}/{fact_id}"
            assert (await gateway.http.delete(path)).status_code == 204
            await until(lambda: not self.holding(state, secret))
            assert len(await values(gateway)) == 30
        assert self.holding(state, secret) == []

    @pytest.mark.parametrize("new", ["07 98 76 54 32", "z" * 5_000])
    async def test_after_a_correction(self, state: Path, ollama: OllamaDouble, new: str):
        async with box(state, ollama.url) as gateway:
            keeper = Keeper(gateway)
            keeper.keep(replace(PHONE, value=self.SECRETS[0]))
            keeper.keep(replace(PHONE, value=new))
            # A call hands its facts to the wiper; here another deletion stands in for it.
            assert (await gateway.http.delete(f"{PATH}?source=none")).status_code == 204
            await until(lambda: not self.holding(state, self.SECRETS[0]))
            assert await values(gateway) == [new]

    async def test_after_a_start_behind_a_crash(self, state: Path, ollama: OllamaDouble):
        async with box(state, ollama.url) as gateway:
            fact_id = Keeper(gateway).keep(replace(PHONE, value=self.SECRETS[0]))
            conn = sqlite3.connect(state / "synapse.db", isolation_level=None)
            facts.delete(conn, 1, fact_id)
            left = self.files(state)
            conn.close()
        for name, data in left.items():
            (state / name).write_bytes(data)
        assert self.holding(state, self.SECRETS[0])
        async with box(state, ollama.url):
            await until(lambda: not self.holding(state, self.SECRETS[0]))
