"""Source: completions.md, "Extracted data" and "Fact extraction as a side effect of a chat"; the issue's criteria."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.extraction.facts import Fact
from appliance.store import facts, users
from appliance.store.database import Database
from appliance.store.facts import FactRow

PHONE = Fact("contact", "phone", "06 12 34 56 78", 0.97)
WINDOW = Fact("preferences", "call_window", "after 5pm", 0.9)


def keep(
    conn: sqlite3.Connection, fact: Fact = PHONE, *, user_n: int = 1, source: str = "ticket-4812", at: int = 1
) -> FactRow:
    count = conn.execute("SELECT count(*) FROM facts").fetchone()[0]
    row = facts.upsert(conn, user_n, source, fact, at, f"fct_{count}")
    assert row is not None
    return row


def listed(conn: sqlite3.Connection, user_n: int = 1, **asked: str) -> list[tuple[str, str]]:
    return [(row.source, row.value) for row in facts.page(conn, user_n, limit=100, **asked)]


def test_what_is_kept_is_found(metered: sqlite3.Connection):
    row = keep(metered, at=7)
    assert row == FactRow(1, "fct_0", "ticket-4812", "contact", "phone", "06 12 34 56 78", 0.97, 7, 7)
    assert facts.get(metered, 1, "fct_0") == row
    assert facts.page(metered, 1, limit=1) == [row]


def test_a_correction_updates_the_record(metered: sqlite3.Connection):
    first = keep(metered, at=7)
    for value in ("07 98 76 54 32", "", "é" * 2_000, "07\0"):
        second = facts.upsert(metered, 1, "ticket-4812", replace(PHONE, value=value, confidence=0.5), 9, "fct_new")
        assert second == first._replace(value=value, confidence=0.5, updated_ms=9)
    assert len(facts.page(metered, 1, limit=100)) == 1


@pytest.mark.parametrize(
    "other", [{"source": "ticket-2"}, {"user_n": 2}, {"fact": replace(PHONE, key="fax")}, {"fact": WINDOW}]
)
def test_what_differs_in_user_source_category_or_key_is_another(metered: sqlite3.Connection, other: dict):
    keep(metered)
    keep(metered, **other)
    assert metered.execute("SELECT count(*) FROM facts").fetchone()[0] == 2


def test_a_page_is_newest_first_by_the_last_update(metered: sqlite3.Connection):
    for number in range(4):
        keep(metered, replace(PHONE, key=f"k{number}", value=str(number)), at=number)
    keep(metered, replace(PHONE, key="k1", value="new"), at=9)
    keep(metered, replace(PHONE, key="k4", value="same moment"), at=9)
    assert [row.value for row in facts.page(metered, 1, limit=4)] == ["same moment", "new", "3", "2"]


def test_a_page_of_one_source_or_category(metered: sqlite3.Connection):
    keep(metered, at=1)
    keep(metered, WINDOW, at=2)
    keep(metered, replace(PHONE, value="other"), source="s2", at=3)
    assert [value for _, value in listed(metered)] == ["other", "after 5pm", "06 12 34 56 78"]
    assert [value for _, value in listed(metered, source="ticket-4812")] == ["after 5pm", "06 12 34 56 78"]
    assert [value for _, value in listed(metered, category="contact")] == ["other", "06 12 34 56 78"]
    assert [value for _, value in listed(metered, source="s2", category="contact")] == ["other"]
    assert listed(metered, source="s2", category="preferences") == []


def test_users_do_not_see_each_other(metered: sqlite3.Connection):
    mine, theirs = keep(metered), keep(metered, user_n=2)
    assert facts.get(metered, 2, mine.id) is None
    assert not facts.delete(metered, 2, mine.id)
    assert facts.delete_source(metered, 2, "ticket-4812") == 1
    assert facts.get(metered, 2, theirs.id) is None
    assert facts.get(metered, 1, mine.id) == mine
    assert listed(metered, 2) == []


def test_deleting(metered: sqlite3.Connection):
    one = keep(metered)
    keep(metered, WINDOW)
    keep(metered, source="s2")
    assert facts.delete(metered, 1, one.id)
    assert not facts.delete(metered, 1, one.id)
    assert facts.delete_source(metered, 1, "nothing") == 0
    assert facts.delete_source(metered, 1, "ticket-4812") == 1
    assert facts.erase_user(metered, 1) == 1
    assert listed(metered) == []
    assert set(b"".join(row[0] for row in metered.execute("SELECT content FROM fact_slots"))) == {0}


def test_nothing_is_kept_of_a_user_who_was_erased_meanwhile(metered: sqlite3.Connection):
    users.erase(metered, 1, 5)
    assert facts.upsert(metered, 1, "s", PHONE, 6, "fct_1") is None
    assert listed(metered) == []


@pytest.mark.parametrize("asked", [{}, {"source": "s"}, {"category": "c"}])
def test_a_page_is_read_off_an_index(metered: sqlite3.Connection, asked: dict[str, str]):
    seen: list[str] = []
    metered.set_trace_callback(seen.append)
    facts.page(metered, 1, limit=10, **asked)
    metered.set_trace_callback(None)
    plan = " ".join(row[3] for row in metered.execute(f"EXPLAIN QUERY PLAN {seen[-1]}"))
    assert "facts_by_" in plan
    assert "TEMP B-TREE" not in plan.replace("LAST TERM OF ORDER BY", "")


async def test_fifty_at_once_for_the_same_key_leave_one(tmp_path: Path):
    database = await Database.open(tmp_path / "synapse.db")
    await database.write(lambda conn: users.insert(conn, user_id="usr_1", name="zoe", created_ms=0))

    async def call(number: int) -> FactRow | None:
        fact = replace(PHONE, value=f"number {number}")
        return await database.write(lambda conn: facts.upsert(conn, 1, "s", fact, number, f"fct_{number}"))

    rows = await asyncio.gather(*(call(number) for number in range(50)))
    assert len({row.id for row in rows if row is not None}) == 1
    (row,) = await database.read(lambda conn: facts.page(conn, 1, limit=100))
    assert row == rows[-1]
    await database.close()
