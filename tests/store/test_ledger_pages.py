import random
import sqlite3
from collections.abc import Callable
from itertools import combinations

import pytest

from appliance.store import ledger, ledger_pages
from appliance.store.ledger import LedgerRow
from appliance.store.ledger_pages import Cursor, Filters, page, page_forward

ROWS = 600


def row(number: int, draw: random.Random) -> LedgerRow:
    key_n = draw.choice([1, 1, 2, 3])
    return LedgerRow(
        at_ms=1_000_000 + draw.randrange(200),  # many calls at one moment, and not in the order of their rows
        proof_id=f"prf_{number}",
        workspace_n=2 if key_n == 3 else 1,
        key_n=key_n,
        user_n=1,
        dialect="openai",
        address="pulse-auto",
        ending=draw.choice(["complete"] * 8 + ["failed", "refused"]),
        total_ms=5,
        model=draw.choice(["small", "large", None]),
        node=draw.choice(["node_1", "node_2", None]),
        task=draw.choice(["simple", "code", None]),
        left_building=draw.choice([0, 0, 1]),
    )


@pytest.fixture
def filled(metered: sqlite3.Connection) -> sqlite3.Connection:
    draw = random.Random(7)
    for number in range(ROWS):
        ledger.insert(metered, row(number, draw))
    return metered


def expected(conn: sqlite3.Connection, filters: Filters) -> list[str]:
    """The ids, newest first, by a plain look at every row."""
    rows = conn.execute("SELECT proof_id FROM ledger ORDER BY at_ms DESC, n DESC").fetchall()
    found = [ledger.get(conn, proof_id) for (proof_id,) in rows]
    return [one.proof_id for one in found if one is not None and matches(one, filters)]


def matches(one: LedgerRow, filters: Filters) -> bool:
    for name in ("workspace_n", "key_n", "model", "node", "task", "ending", "left_building"):
        asked, value = getattr(filters, name), getattr(one, name)
        if asked is not None and ("" if value is None else value) != asked:
            return False
    since, until = filters.since_ms, filters.until_ms
    return (since is None or one.at_ms >= since) and (until is None or one.at_ms < until)


def walked(
    conn: sqlite3.Connection, filters: Filters, limit: int, read: Callable[..., ledger_pages.Page] = page
) -> list[str]:
    found: list[str] = []
    cursor: Cursor | None = None
    while True:
        rows, cursor = read(conn, filters, limit, cursor)
        assert len(rows) <= limit
        found += [one.proof_id for one in rows]
        if cursor is None:
            return found


ASKED = {
    "key_n": 2,
    "workspace_n": 1,
    "model": "large",
    "node": "node_1",
    "task": "code",
    "ending": "failed",
    "left_building": 1,
}
SPAN = {"since_ms": 1_000_050, "until_ms": 1_000_150}


@pytest.mark.parametrize("scan", [1, 7, 4_000])
@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_walking_the_pages_brings_each_row_once_whatever_is_asked_for(
    filled: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, scan: int, size: int
):
    monkeypatch.setattr(ledger_pages, "SCAN", scan)
    for names in combinations(ASKED, size):
        for span in ({}, SPAN):
            filters = Filters(**{name: ASKED[name] for name in names}, **span)  # type: ignore[arg-type]  as declared
            wanted = expected(filled, filters)
            assert walked(filled, filters, 20) == wanted
            assert walked(filled, filters, 20, page_forward) == wanted[::-1]


def test_an_empty_name_takes_the_calls_that_reached_none(filled: sqlite3.Connection):
    for filters in (Filters(model=""), Filters(node="", task=""), Filters(task="", key_n=1)):
        wanted = expected(filled, filters)
        assert wanted
        assert walked(filled, filters, 50) == wanted


def test_what_stayed_is_asked_for_by_a_zero(filled: sqlite3.Connection):
    for filters in (Filters(left_building=0), Filters(left_building=0, key_n=2, **SPAN)):
        wanted = expected(filled, filters)
        assert 0 < len(wanted) < ROWS
        assert walked(filled, filters, 50) == wanted


def test_a_full_page_that_is_the_last_says_so(filled: sqlite3.Connection):
    assert page(filled, Filters(), ROWS).next is None
    assert page(filled, Filters(), ROWS - 1).next is not None
    assert page_forward(filled, Filters(), ROWS).next is None
    assert page(filled, Filters(ending="no such"), 10) == ([], None)


def test_rows_that_come_meanwhile_do_not_shift_a_page(filled: sqlite3.Connection):
    wanted = expected(filled, Filters())
    first, cursor = page(filled, Filters(), 100)
    ledger.insert(filled, row(ROWS, random.Random(1))._replace(at_ms=2_000_000))
    second, _ = page(filled, Filters(), 100, cursor)
    assert [one.proof_id for one in first + second] == wanted[:200]


def test_a_page_looks_along_the_index_of_the_rarest_value(filled: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger_pages, "SCAN", 100)
    statements: list[str] = []
    filled.set_trace_callback(statements.append)
    page(filled, Filters(workspace_n=1, ending="refused", task="code"), 10)
    assert "INDEXED BY ledger_by_ending" in statements[-1]
    page(filled, Filters(workspace_n=1, left_building=1), 10)
    assert "INDEXED BY ledger_by_left" in statements[-1]
    page(filled, Filters(workspace_n=1, key_n=2), 10)
    assert "INDEXED BY ledger_by_key" in statements[-1]
    page_forward(filled, Filters(workspace_n=1, key_n=2), 10)
    assert "INDEXED BY ledger_by_key" in statements[-1]


def test_no_page_sorts_or_reads_rows_to_find_its_end(filled: sqlite3.Connection):
    statements: list[str] = []
    filled.set_trace_callback(statements.append)
    for names in [(), *combinations(ASKED, 1), *combinations(ASKED, 2)]:
        filters = Filters(**{name: ASKED[name] for name in names}, **SPAN)  # type: ignore[arg-type]  as declared
        page(filled, filters, 10, Cursor(1_000_100, 3))
        page_forward(filled, filters, 10, Cursor(1_000_100, 3))
    filled.set_trace_callback(None)
    assert len(statements) > 40
    for statement in statements:
        first, *others = [one[3] for one in filled.execute(f"EXPLAIN QUERY PLAN {statement}")]
        assert first.startswith("SEARCH ledger USING COVERING INDEX" if "OFFSET" in statement else "SEARCH ledger"), (
            first
        )
        for step in others:
            assert step.startswith(("SEARCH also USING COVERING INDEX", "CORRELATED SCALAR SUBQUERY")), step
            assert not step.startswith("SEARCH") or step.endswith("=? AND at_ms=? AND rowid=?)"), step
