import math
import random
import sqlite3
from itertools import groupby

import pytest

from appliance.store import ledger
from appliance.store.latency import Percentiles
from appliance.store.ledger import DAY_MS, LedgerRow
from appliance.store.ledger_pages import Filters
from appliance.store.rollups import By, SumRow, month_milli, sums

FIRST_DAY = 20_000
DAYS = 40


@pytest.fixture(scope="module")
def rows() -> list[LedgerRow]:
    draw = random.Random(11)
    made: list[LedgerRow] = []
    for number in range(900):
        key_n = draw.choice([1, 1, 2, 3])
        made.append(
            LedgerRow(
                at_ms=FIRST_DAY * DAY_MS + draw.randrange(DAYS * DAY_MS),
                proof_id=f"prf_{number}",
                workspace_n=2 if key_n == 3 else 1,
                key_n=key_n,
                user_n=1,
                dialect="openai",
                address="pulse-auto",
                ending=draw.choice(["complete"] * 8 + ["failed", "refused"]),
                total_ms=draw.randrange(20_000),
                task=draw.choice(["simple", "code", None]),
                model=draw.choice(["small", "large", None]),
                node=draw.choice(["node_1", "node_2", None]),
                prompt_tokens=draw.randrange(1000),
                completion_tokens=draw.randrange(1000),
                questions_milli=draw.choice([250, 1000, 4000]),
                cost_micro=draw.choice([None, 0, 17]),
                full_cost_micro=draw.choice([None, 400]),
                first_token_ms=draw.choice([None, 30]),
                masked=draw.randrange(4),
                left_building=draw.choice([0, 0, 1]),
            )
        )
    return made


@pytest.fixture(scope="module")
def images() -> list[bytes]:
    """The database with the rows, once a test has written them."""
    return []


@pytest.fixture
def filled(metered: sqlite3.Connection, rows: list[LedgerRow], images: list[bytes]) -> sqlite3.Connection:
    if images:
        metered.deserialize(images[0])
    else:
        for one in rows:
            ledger.insert(metered, one)
        images.append(metered.serialize())
    return metered


COLUMN = {
    "workspace": "workspace_n",
    "key": "key_n",
    "model": "model",
    "node": "node",
    "task": "task",
    "left": "left_building",
}
BY: list[By | None] = [None, "day", "workspace", "key", "model", "node", "task", "left"]


def value_of(one: LedgerRow, name: str) -> int | str:
    value = getattr(one, name)
    return "" if value is None else value


def group_of(one: LedgerRow, by: By | None) -> int | str | None:
    if by is None:
        return None
    return one.at_ms // DAY_MS if by == "day" else value_of(one, COLUMN[by])


def taken(one: LedgerRow, filters: Filters) -> bool:
    named = ((name, getattr(filters, name)) for name in (*COLUMN.values(), "ending"))
    if any(value is not None and value_of(one, name) != value for name, value in named):
        return False
    day = one.at_ms // DAY_MS
    since, until = filters.since_ms, filters.until_ms
    return (since is None or day >= since // DAY_MS) and (until is None or day <= (until - 1) // DAY_MS)


def summed(group: int | str | None, rows: list[LedgerRow]) -> tuple[int | str | None, ...]:
    """By the definition of each sum, from the rows themselves."""
    both = [one for one in rows if one.cost_micro is not None and one.full_cost_micro is not None]
    return (
        group,
        len(rows),
        sum(one.prompt_tokens for one in rows),
        sum(one.completion_tokens for one in rows),
        sum(one.questions_milli for one in rows),
        sum(one.cost_micro or 0 for one in rows),
        sum(one.cost_micro is None for one in rows),
        sum(one.full_cost_micro or 0 for one in rows),
        sum((one.full_cost_micro or 0) - (one.cost_micro or 0) for one in both),
        sum(one.masked for one in rows),
    )


SPAN = {"since_ms": (FIRST_DAY + 5) * DAY_MS + 7, "until_ms": (FIRST_DAY + 25) * DAY_MS + 1}
QUESTIONS = [
    Filters(),
    Filters(**SPAN),
    Filters(**SPAN, key_n=1),
    Filters(**SPAN, workspace_n=1),
    Filters(model="large"),
    Filters(model=""),
    Filters(node="node_2"),
    Filters(task="code", **SPAN),
    Filters(ending="failed"),
    Filters(left_building=1),
    Filters(left_building=0, **SPAN),
    Filters(left_building=1, node="node_1"),
    Filters(left_building=0, key_n=2, ending="complete"),
    Filters(key_n=2, model="small"),
    Filters(**SPAN, workspace_n=1, model="", node="node_1", task="simple", ending="complete"),
]


@pytest.mark.parametrize("filters", QUESTIONS, ids=str)
@pytest.mark.parametrize("by", BY)
def test_sums_are_those_of_the_rows(filled: sqlite3.Connection, rows: list[LedgerRow], filters: Filters, by: By | None):
    asked = sorted((one for one in rows if taken(one, filters)), key=lambda one: str(group_of(one, by)))
    assert asked
    expected = [summed(group, list(found)) for group, found in groupby(asked, key=lambda one: group_of(one, by))]
    found = sums(filled, filters, by)
    assert [one[:10] for one in found] == expected


def test_the_groups_come_in_order(filled: sqlite3.Connection):
    assert [one.group for one in sums(filled, Filters(), "key")] == [1, 2, 3]
    assert [one.group for one in sums(filled, Filters(), "model")] == ["", "large", "small"]
    assert [one.group for one in sums(filled, Filters(), "left")] == [0, 1]
    days = [one.group for one in sums(filled, Filters(), "day")]
    assert days == sorted(days, key=lambda day: int(day or 0))
    assert [one.group for one in sums(filled, Filters(ending="failed"), "key")] == [1, 2, 3]


def test_without_calls_there_are_no_groups_and_a_total_of_zeros(metered: sqlite3.Connection):
    zeros = SumRow(None, 0, 0, 0, 0, 0, 0, 0, 0, 0, None, None)
    assert sums(metered, Filters()) == [zeros]
    assert sums(metered, Filters(ending="failed")) == [zeros]
    assert sums(metered, Filters(), "day") == []


ANSWERED = ("complete", "length", "context_cut")


@pytest.mark.parametrize("by", BY)
def test_percentiles_are_those_of_the_answered_calls(filled: sqlite3.Connection, rows: list[LedgerRow], by: By | None):
    for one in sums(filled, Filters(**SPAN), by):
        group = [row for row in rows if taken(row, Filters(**SPAN)) and group_of(row, by) == one.group]
        times = sorted(row.total_ms for row in group if row.ending in ANSWERED)
        assert one.total is not None
        for share, value in zip((50, 90, 95, 99), one.total, strict=True):
            exact = times[math.ceil(len(times) * share / 100) - 1]
            assert exact / 2 ** (1 / 8) - 0.5 <= value <= exact * 2 ** (1 / 8) + 0.5
        assert one.first_token == Percentiles(29, 29, 29, 29)  # 30 ms, within the stated 9.1 %


def test_a_filter_by_the_same_dimension_keeps_the_percentiles_and_another_one_has_none(filled: sqlite3.Connection):
    by_key = {one.group: one.total for one in sums(filled, Filters(), "key")}
    assert sums(filled, Filters(key_n=2), "key")[0].total == by_key[2]
    assert sums(filled, Filters(key_n=2))[0].total == by_key[2]
    assert all(one.total is not None for one in sums(filled, Filters(model="small"), "day"))
    for filters, by in ((Filters(key_n=2), "model"), (Filters(ending="complete"), None)):
        assert all((one.first_token, one.total) == (None, None) for one in sums(filled, filters, by))


def test_what_left_and_what_stayed_is_all_there_is(filled: sqlite3.Connection, rows: list[LedgerRow]):
    stayed, left = (sums(filled, Filters(left_building=one))[0] for one in (0, 1))
    assert (stayed.calls, left.calls) == (len(rows) - left.calls, sum(one.left_building for one in rows))
    by_left = {one.group: one for one in sums(filled, Filters(), "left")}
    assert (by_left[0].total, by_left[1].total) == (stayed.total, left.total)
    assert stayed.total is not None


def test_the_sums_stay_when_the_rows_go(filled: sqlite3.Connection):
    before = sums(filled, Filters(), "key")
    filled.execute("DELETE FROM ledger")
    assert sums(filled, Filters(), "key") == before


def test_the_questions_of_a_month(filled: sqlite3.Connection, rows: list[LedgerRow]):
    first, last = FIRST_DAY + 3, FIRST_DAY + 30
    month = [one for one in rows if first <= one.at_ms // DAY_MS <= last]
    for key_n in (1, 2, 3):
        expected = sum(one.questions_milli for one in month if one.key_n == key_n)
        assert month_milli(filled, key_n=key_n, first_day=first, last_day=last) == expected > 0
    for workspace_n in (1, 2):
        expected = sum(one.questions_milli for one in month if one.workspace_n == workspace_n)
        assert month_milli(filled, workspace_n=workspace_n, first_day=first, last_day=last) == expected > 0
    assert month_milli(filled, key_n=4, first_day=first, last_day=last) == 0
