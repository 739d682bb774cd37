import sqlite3

import pytest

from appliance.store import ledger
from appliance.store.ledger import LedgerRow


def row(proof_id: str) -> LedgerRow:
    return LedgerRow(1_700_000_000_000, proof_id, 1, 1, 1, "openai", "pulse-auto", "complete", 120, model="m", masked=2)


def rolled_up(conn: sqlite3.Connection) -> list[list[tuple[object, ...]]]:
    return [
        conn.execute(f"SELECT * FROM {name}").fetchall() for name in ("ledger_days", "ledger_groups", "ledger_times")
    ]


def test_a_row_comes_back_as_it_went_in(metered: sqlite3.Connection):
    ledger.insert(metered, row("prf_a"))
    assert ledger.get(metered, "prf_a") == row("prf_a")
    assert ledger.get(metered, "prf_b") is None


def test_a_call_has_one_row(metered: sqlite3.Connection):
    ledger.insert(metered, row("prf_a"))
    counted = rolled_up(metered)
    with pytest.raises(sqlite3.IntegrityError):
        ledger.insert(metered, row("prf_a"))
    assert rolled_up(metered) == counted


def test_newest_first(metered: sqlite3.Connection):
    for name in "abc":
        ledger.insert(metered, row(f"prf_{name}"))
    assert [one.proof_id for one in ledger.newest(metered, 2)] == ["prf_c", "prf_b"]


def test_every_column_of_the_table_is_in_the_row(metered: sqlite3.Connection):
    columns = [one[1] for one in metered.execute("PRAGMA table_info(ledger)")]
    assert set(columns) == {"n", *LedgerRow._fields}


def test_a_call_is_counted_by_its_day_and_by_each_dimension(metered: sqlite3.Connection):
    base = row("prf_a")._replace(
        task="code", node="node_1", provider="ollama", prompt_tokens=10, completion_tokens=4, questions_milli=250
    )
    ledger.insert(metered, base._replace(cost_micro=2, full_cost_micro=9))
    ledger.insert(metered, base._replace(proof_id="prf_b", cost_micro=None, full_cost_micro=5))
    ledger.insert(metered, base._replace(proof_id="prf_c", cost_micro=3, full_cost_micro=None))
    sums = (3, 30, 12, 750, 5, 1, 14, 7, 6)
    assert metered.execute("SELECT * FROM ledger_days").fetchall() == [
        (1, 19_675, 1, 1, 1, "ollama", "m", "node_1", "code", "complete", 0, *sums)
    ]
    assert metered.execute("SELECT dimension, grp, day FROM ledger_groups ORDER BY n").fetchall() == [
        ("all", "", 19_675),
        ("workspace", 1, 19_675),
        ("key", 1, 19_675),
        ("model", "m", 19_675),
        ("node", "node_1", 19_675),
        ("task", "code", 19_675),
        ("left", 0, 19_675),
    ]
    columns = ", ".join(ledger.SUMS)
    assert set(metered.execute(f"SELECT {columns} FROM ledger_groups").fetchall()) == {sums}


def test_what_a_call_never_reached_is_counted_under_an_empty_name(metered: sqlite3.Connection):
    ledger.insert(metered, row("prf_a")._replace(model=None, ending="refused"))
    names = metered.execute("SELECT provider, model, node, task FROM ledger_days").fetchall()
    assert names == [("", "", "", "")]


def test_a_call_that_left_is_counted_apart_from_one_that_is_like_it_but_for_that(metered: sqlite3.Connection):
    stayed = row("prf_a")._replace(provider="ollama", node="node_1")
    ledger.insert(metered, stayed)
    ledger.insert(metered, stayed._replace(proof_id="prf_b", left_building=1))
    ledger.insert(metered, stayed._replace(proof_id="prf_c", left_building=1))
    counted = "SELECT left_building, calls FROM ledger_days ORDER BY left_building"
    assert metered.execute(counted).fetchall() == [(0, 1), (1, 2)]
    groups = "SELECT grp, calls FROM ledger_groups WHERE dimension = 'left' ORDER BY grp"
    assert metered.execute(groups).fetchall() == [(0, 1), (1, 2)]


def test_a_call_has_left_or_has_not(metered: sqlite3.Connection):
    with pytest.raises(sqlite3.IntegrityError, match="left_building"):
        ledger.insert(metered, row("prf_a")._replace(left_building=2))


def test_a_day_ends_at_midnight_in_utc(metered: sqlite3.Connection):
    midnight = 1_700_006_400_000  # 2023-11-15T00:00:00Z
    for at_ms in (midnight - 1, midnight):
        ledger.insert(metered, row(f"prf_{at_ms}")._replace(at_ms=at_ms))
    assert metered.execute("SELECT day, calls FROM ledger_days").fetchall() == [(19_675, 1), (19_676, 1)]


def test_times_are_counted_of_calls_that_a_model_answered(metered: sqlite3.Connection):
    for ending in ("complete", "length", "context_cut", "refused", "cancelled", "failed"):
        ledger.insert(metered, row(f"prf_{ending}")._replace(ending=ending))
        ledger.insert(metered, row(f"prf_first_{ending}")._replace(ending=ending, first_token_ms=1))
    times = "SELECT bucket, first_tokens, totals FROM ledger_times WHERE dimension = ? ORDER BY bucket"
    # 1 ms is bucket 1; 120 ms lies in bucket 28, which begins at 2^(27/4) = 107.6 and ends at 2^7 = 128.
    for dimension in ("all", "workspace", "key", "model", "node", "task", "left"):
        assert metered.execute(times, (dimension,)).fetchall() == [(1, 3, 0), (28, 0, 6)]


def test_many_calls_alike_count_as_if_each_was_inserted(metered: sqlite3.Connection):
    one = row("prf_a")._replace(prompt_tokens=5, cost_micro=2, full_cost_micro=9, first_token_ms=7)
    metered.execute("SAVEPOINT one_by_one")
    for number in range(3):
        ledger.insert(metered, one._replace(proof_id=f"prf_{number}"))
    expected = rolled_up(metered)
    metered.execute("ROLLBACK TO one_by_one")
    ledger.count(metered, one, 3)
    assert rolled_up(metered) == expected
    assert ledger.get(metered, "prf_0") is None
