import sqlite3

import pytest

from appliance.store import ledger
from appliance.store.ledger import LedgerRow


def row(proof_id: str) -> LedgerRow:
    return LedgerRow(1_700_000_000_000, proof_id, 1, 1, 1, "openai", "pulse-auto", "complete", 120, model="m", masked=2)


@pytest.fixture
def ready(conn: sqlite3.Connection) -> sqlite3.Connection:
    conn.execute("INSERT INTO workspaces (n, id, name, created_ms) VALUES (1, 'ws', 'w', 0)")
    conn.execute("INSERT INTO users (n, id, name, created_ms) VALUES (1, 'usr', 'u', 0)")
    conn.execute(
        "INSERT INTO keys (n, id, digest, name, workspace_n, user_n, scopes, created_ms)"
        " VALUES (1, 'key', x'00', 'k', 1, 1, 'engine', 0)"
    )
    return conn


def test_a_row_comes_back_as_it_went_in(ready: sqlite3.Connection):
    ledger.insert(ready, row("prf_a"))
    assert ledger.get(ready, "prf_a") == row("prf_a")
    assert ledger.get(ready, "prf_b") is None


def test_a_call_has_one_row(ready: sqlite3.Connection):
    ledger.insert(ready, row("prf_a"))
    with pytest.raises(sqlite3.IntegrityError):
        ledger.insert(ready, row("prf_a"))


def test_newest_first(ready: sqlite3.Connection):
    for name in "abc":
        ledger.insert(ready, row(f"prf_{name}"))
    assert [one.proof_id for one in ledger.newest(ready, 2)] == ["prf_c", "prf_b"]


def test_every_column_of_the_table_is_in_the_row(ready: sqlite3.Connection):
    columns = [one[1] for one in ready.execute("PRAGMA table_info(ledger)")]
    assert set(columns) == {"n", *LedgerRow._fields}
