import sqlite3

import pytest

from appliance.store import certificates, log_entries
from appliance.store.log_entries import EntryRow


def entry(n: int) -> EntryRow:
    return EntryRow(n, "type", b"body", "key", b"signature", bytes([n]) * 32)


@pytest.fixture
def filled(conn: sqlite3.Connection) -> sqlite3.Connection:
    """Certificates 0 to 5, the even ones of workspace 1, the odd ones of workspace 2."""
    conn.executemany(
        "INSERT INTO workspaces (n, id, name, created_ms) VALUES (?, ?, ?, 0)", [(1, "ws_1", "one"), (2, "ws_2", "two")]
    )
    for n in range(6):
        log_entries.insert(conn, entry(n))
        certificates.insert(conn, f"prf_{n}", n, 1 + n % 2)
    return conn


@pytest.mark.parametrize(
    ("limit", "before", "workspace", "found"),
    [
        (10, None, None, [5, 4, 3, 2, 1, 0]),
        (2, None, None, [5, 4]),
        (2, 4, None, [3, 2]),
        (10, 0, None, []),
        (10, None, 1, [4, 2, 0]),
        (1, 4, 1, [2]),
        (10, None, 3, []),
    ],
)
def test_pages_newest_first(
    filled: sqlite3.Connection, limit: int, before: int | None, workspace: int | None, found: list[int]
):
    rows = certificates.page(filled, limit=limit, before=before, workspace_n=workspace)
    assert [row.n for row in rows] == found
    assert all(row == entry(row.n) for row in rows)


def test_a_certificate_is_its_workspaces(filled: sqlite3.Connection):
    assert certificates.get(filled, "prf_2") == entry(2)
    assert certificates.get(filled, "prf_2", 1) == entry(2)
    assert certificates.get(filled, "prf_2", 2) is None
    assert certificates.get(filled, "prf_9") is None


def test_what_is_internal_only_the_administrator_sees(filled: sqlite3.Connection):
    log_entries.insert(filled, entry(6))
    certificates.insert(filled, "prf_6", 6, 1, internal=True)
    assert certificates.get(filled, "prf_6") == entry(6)
    assert certificates.get(filled, "prf_6", 1) is None
    assert [row.n for row in certificates.page(filled, limit=2)] == [6, 5]
    assert [row.n for row in certificates.page(filled, limit=2, workspace_n=1)] == [4, 2]


def test_a_workspace_s_page_passes_over_no_internal_one(filled: sqlite3.Connection):
    plan = filled.execute(
        "EXPLAIN QUERY PLAN SELECT log_index FROM certificates WHERE log_index < 9 AND workspace_n = 1 AND internal = 0"
        " ORDER BY log_index DESC LIMIT 2"
    ).fetchall()
    assert "certificates_by_workspace" in plan[0][3]


def test_an_intent_is_open_until_its_certificate(filled: sqlite3.Connection):
    log_entries.insert(filled, entry(6))
    certificates.open_intent(filled, "prf_7", 6)
    assert certificates.open_intents(filled) == [entry(6)]
    log_entries.insert(filled, entry(7))
    certificates.insert(filled, "prf_7", 7, 1)
    assert certificates.open_intents(filled) == []
    with pytest.raises(sqlite3.IntegrityError):
        certificates.insert(filled, "prf_7", 7, 1)
