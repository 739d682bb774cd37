import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from appliance.admin import changes, erasure, wire
from appliance.admin.changes import Change
from appliance.errors import AdminError
from appliance.extraction.facts import Fact
from appliance.store import audit, facts, keys
from tests.admin.test_changes import change, conn  # noqa: F401  fixtures
from tests.box import Box, box
from tests.upstreams.ollama import OllamaDouble

NAME = "Jeanne Dupuis-Quelconque"


def test_names_go_and_a_tombstone_stays(conn: sqlite3.Connection, change: Change):  # noqa: F811
    user = changes.create_user(conn, change, wire.NewName(NAME))
    first = changes.create_key(conn, change, wire.NewKey(f"laptop of {NAME}", user=NAME)).key
    changes.create_key(conn, change, wire.NewKey("other"))
    erased = erasure.erase_user(conn, change, NAME)
    assert (erased.user.id, erased.user.name, erased.keys) == (user.id, user.id, 1)
    key = keys.by_id(conn, first.id)
    assert key is not None
    assert (key.key_name, key.user, key.revoked_ms is not None) == (first.id, user.id, True)
    others = [row for row in keys.list_all(conn) if row.key_id != first.id]
    assert [(row.key_name, row.revoked_ms) for row in others] == [("other", None)]
    # Who did what and when is still known.
    rows = audit.newest(conn, limit=9)
    assert [row.action for row in rows] == ["user.erase", "key.create", "key.create", "user.create"]
    assert NAME not in "\n".join(conn.iterdump())
    # The name is free again, for somebody else.
    assert changes.create_user(conn, change, wire.NewName(NAME)).id != user.id


def test_the_facts_that_the_user_extracted_go_and_are_counted(conn: sqlite3.Connection, change: Change):  # noqa: F811
    for number, name in enumerate((NAME, "zoe")):
        changes.create_user(conn, change, wire.NewName(name))
        user_n = changes.find_user(conn, name).n
        for source in ("a", "b"):
            assert facts.upsert(conn, user_n, source, Fact("contact", "name", name, 1.0), 5, f"fct_{number}{source}")
    assert erasure.erase_user(conn, change, NAME).facts == 2
    assert [row[0] for row in conn.execute("SELECT id FROM facts ORDER BY n")] == ["fct_1a", "fct_1b"]
    assert NAME.encode() not in b"".join(row[0] for row in conn.execute("SELECT content FROM fact_slots"))


def test_the_installation_s_own_user_and_nobody_are_refused(conn: sqlite3.Connection, change: Change):  # noqa: F811
    with pytest.raises(AdminError, match="belongs to the installation"):
        erasure.erase_user(conn, change, "admin")
    with pytest.raises(wire.UnknownSubject, match="no user"):
        erasure.erase_user(conn, change, "nobody")


def test_an_id_is_nobody_s_name_and_an_erased_user_gets_no_key(conn: sqlite3.Connection, change: Change):  # noqa: F811
    user = changes.create_user(conn, change, wire.NewName(NAME))
    with pytest.raises(wire.InvalidInput, match="usr_"):
        changes.create_user(conn, change, wire.NewName(user.id))
    erasure.erase_user(conn, change, NAME)
    with pytest.raises(AdminError, match="was erased"):
        changes.create_key(conn, change, wire.NewKey("k", user=user.id))
    # Once more is no harm.
    assert erasure.erase_user(conn, change, user.id).user.id == user.id


async def ask(gateway: Box, key: str) -> int:
    headers = {"authorization": f"Bearer {key}"}
    answer = await gateway.http.post("/v1/chat/completions", content=gateway.body(), headers=headers)
    return answer.status_code


def extract(state: Path, user: str, value: str) -> None:
    """As a call of the user does, but from outside."""
    with closing(sqlite3.connect(state / "synapse.db", isolation_level=None)) as other:
        (user_n,) = other.execute("SELECT n FROM users WHERE name = ?", (user,)).fetchone()
        assert facts.upsert(other, user_n, "ticket-1", Fact("contact", "name", value, 1.0), 5, "fct_1")


async def test_no_byte_of_the_name_is_left_in_any_file(tmp_path: Path, ollama: OllamaDouble):
    state = tmp_path / "state"

    def holding() -> list[str]:
        return [file.name for file in state.iterdir() if file.is_file() and NAME.encode() in file.read_bytes()]

    async with box(state, ollama.url) as gateway:
        await gateway.admin.create_user(NAME)
        key = (await gateway.admin.create_key(wire.NewKey(f"of {NAME}", user=NAME, scopes=("engine",)))).secret
        assert await ask(gateway, key) == 200
        # As an upgrade leaves it.
        (state / "synapse.db.schema-2").write_bytes((state / "synapse.db-wal").read_bytes())
        assert "synapse.db.schema-2" in holding()
        extract(state, NAME, f"I am {NAME}.")
        assert holding()
        assert (await gateway.admin.erase_user(NAME)).facts == 1
        assert holding() == []
        assert await ask(gateway, key) == 401
        calls = await gateway.read(lambda conn: conn.execute("SELECT count(*) FROM ledger").fetchone()[0])
        assert calls == 1
    assert holding() == []
