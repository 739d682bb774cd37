"""The ledger at a quarter of a million rows; `scripts/bench ledger` does the same at ten million, and measures more.

Times are the thread's own, and the best of three: what else the machine does is no part of them.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from itertools import combinations, product

import pytest

from appliance.store.ledger import DAY_MS
from appliance.store.ledger_pages import Cursor, Filters, page
from appliance.store.migrate import migrate
from appliance.store.retention import STEP_ROWS, delete_old
from appliance.store.rollups import month_milli, sums
from tests.store.many_calls import ENDINGS, EXTERNAL_MODELS, FIRST_DAY, KEYS, LOCAL_MODELS, NODES, TASKS, fill

pytestmark = pytest.mark.alone

ROWS, KINDS = 250_000, 1_000
DAYS = 31
BOUND_MS = 20
"""A fifth of what a page may take at ten million: one that reads all these rows takes longer."""
SUMS_MS = 50
STEP_MS = 20

VALUES = {
    "key_n": (KEYS[0], KEYS[-1]),
    "model": (LOCAL_MODELS[0], EXTERNAL_MODELS[-1]),
    "node": (NODES[0], NODES[-1]),
    "task": (TASKS[0], TASKS[-1]),
    "ending": (ENDINGS[0], ENDINGS[2]),
    "left_building": (0, 1),
}
MIDDLE_MS = (FIRST_DAY + 15) * DAY_MS
WEEK = {"since_ms": MIDDLE_MS - 3 * DAY_MS, "until_ms": MIDDLE_MS + 4 * DAY_MS}


@pytest.fixture(scope="module")
def conn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("scale") / "synapse.db"
    opened = sqlite3.connect(path, isolation_level=None)
    opened.execute("PRAGMA journal_mode = WAL")
    opened.execute("PRAGMA synchronous = OFF")
    opened.execute("PRAGMA cache_size = -200000")
    migrate(opened)
    fill(opened, ROWS, DAYS, KINDS)
    opened.execute("PRAGMA cache_size = -2000")  # what a reader of the daemon has
    yield opened
    opened.close()
    path.unlink()


def best_ms(work: Callable[[], object]) -> float:
    took: list[float] = []
    for _ in range(3):
        began = time.thread_time()
        work()
        took.append((time.thread_time() - began) * 1000)
    return min(took)


def test_any_page_filtered_by_one_or_two_dimensions_takes_no_time(conn: sqlite3.Connection):
    assert conn.execute("SELECT count(*) FROM ledger").fetchone() == (ROWS,)
    slow: dict[str, float] = {}
    full = 0
    for names in [(), *combinations(VALUES, 1), *combinations(VALUES, 2)]:
        for values in product(*(VALUES[name] for name in names)):
            chosen = dict(zip(names, values, strict=True))
            for span, before in product(({}, WEEK), (None, Cursor(MIDDLE_MS, 0))):
                filters = Filters(**chosen, **span)  # type: ignore[arg-type]  the values are of the fields' types
                full += len(page(conn, filters, 100, before).rows) == 100
                took = best_ms(lambda f=filters, b=before: page(conn, f, 100, b))
                if took >= BOUND_MS:
                    slow[f"{filters} {before}"] = took
    assert slow == {}
    assert full > 100  # the pages that were timed had rows to read


def test_the_questions_of_a_month_and_its_sums_take_no_time(conn: sqlite3.Connection):
    month = {"first_day": FIRST_DAY, "last_day": FIRST_DAY + DAYS - 1}
    assert sum(month_milli(conn, key_n=n, **month) for n in KEYS) == sums(conn, Filters())[0].questions_milli
    assert max(best_ms(lambda n=n: month_milli(conn, key_n=n, **month)) for n in KEYS) < SUMS_MS
    for by in (None, "day", "workspace", "key", "model", "node", "task", "left"):
        assert sum(one.calls for one in sums(conn, Filters(), by)) == ROWS
        assert best_ms(lambda by=by: sums(conn, Filters(), by)) < SUMS_MS


def test_a_step_of_retention_holds_the_writer_for_less_than_20_ms(conn: sqlite3.Connection):
    steps: list[float] = []
    for _ in range(50):
        began = time.thread_time()
        assert delete_old(conn, MIDDLE_MS, STEP_ROWS) == STEP_ROWS
        steps.append((time.thread_time() - began) * 1000)
    assert sorted(steps)[len(steps) // 2] < STEP_MS
