"""A ledger of millions of rows, filled fast through the same tables, indexes and sums as call by call."""

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

from appliance.store import ledger
from appliance.store.ledger import DAY_MS, LedgerRow

FIRST_DAY = 20_000
KEYS = range(1, 21)
WORKSPACES = (1, 2, 3)
LOCAL_MODELS = ("qwen3:8b", "llama3.1:8b", "mistral-small:24b", "gemma3:4b", "phi4:14b")
EXTERNAL_MODELS = ("gpt-4o", "gpt-4o-mini", "gpt-4.1")
NODES = tuple(f"node_{letter * 26}" for letter in "abcd")
TASKS = ("simple", "complex", "agent", "code", "sensitive")
ENDINGS = ("complete", "length", "context_cut", "refused", "cancelled", "failed")

KINDS = 3_000
"""Distinct calls: key, model, machine, task, ending, counts and times. A day's calls are drawn among them."""


def workspace_of(key_n: int) -> int:
    return WORKSPACES[key_n % len(WORKSPACES)]


def fill(conn: sqlite3.Connection, rows: int, days: int, kinds: int = KINDS) -> None:
    """Write the workspaces, users and keys, and so many calls, spread evenly over the days from `FIRST_DAY` on.

    The connection is to commit by itself (`isolation_level` None), and its file to be empty but for the schema.
    """
    _parents(conn)
    draw = random.Random(1)
    known = [_kind(draw) for _ in range(kinds)]
    insert = f"INSERT INTO ledger ({', '.join(LedgerRow._fields)}) VALUES ({', '.join('?' for _ in LedgerRow._fields)})"
    for day in range(days):
        calls = rows * (day + 1) // days - rows * day // days
        drawn = draw.choices(range(kinds), k=calls)
        conn.execute("BEGIN IMMEDIATE")
        conn.executemany(insert, _rows(draw, FIRST_DAY + day, [known[number] for number in drawn]))
        for number, count in Counter(drawn).items():
            ledger.count(conn, known[number]._replace(at_ms=(FIRST_DAY + day) * DAY_MS), count)
        conn.execute("COMMIT")


def _rows(draw: random.Random, day: int, kinds: list[LedgerRow]) -> Iterator[tuple[object, ...]]:
    moments = sorted(draw.randrange(DAY_MS) for _ in kinds)
    for moment, kind in zip(moments, kinds, strict=True):
        yield (day * DAY_MS + moment, f"prf_{draw.getrandbits(104):026x}", *kind[2:])


def _parents(conn: sqlite3.Connection) -> None:
    for n in WORKSPACES:
        conn.execute("INSERT INTO workspaces (n, id, name, created_ms) VALUES (?1, ?1, ?1, 0)", (n,))
    for n in KEYS:
        conn.execute("INSERT INTO users (n, id, name, created_ms) VALUES (?1, ?1, ?1, 0)", (n,))
        conn.execute(
            "INSERT INTO keys (n, id, digest, name, workspace_n, user_n, scopes, created_ms)"
            " VALUES (?1, ?1, ?2, ?1, ?3, ?1, 'engine', 0)",
            (n, bytes([n]), workspace_of(n)),
        )


_FALLING = list(accumulate(1 / rank for rank in range(1, 21)))
"""Weights by Zipf's law: of 20 values the first is drawn 28 times in a hundred, the last once or twice."""


def _skewed(draw: random.Random, values: tuple[str, ...] | range) -> str | int:
    return draw.choices(values, cum_weights=_FALLING[: len(values)])[0]


def _kind(draw: random.Random) -> LedgerRow:
    key_n = int(_skewed(draw, KEYS))
    ending = draw.choices(ENDINGS, weights=[930, 20, 5, 15, 20, 10])[0]
    task = str(_skewed(draw, TASKS))
    local = draw.random() < 0.7 or task == "sensitive"
    model = str(_skewed(draw, LOCAL_MODELS if local else EXTERNAL_MODELS))
    reached = ending != "refused"
    total_ms = round(draw.lognormvariate(7.5, 1))
    return LedgerRow(
        at_ms=0,
        proof_id="",
        workspace_n=workspace_of(key_n),
        key_n=key_n,
        user_n=key_n,
        dialect=draw.choice(["openai", "anthropic"]),
        address=draw.choice(["pulse-auto", "pulse-agent", "pulse-auto+code"]),
        ending=ending,
        total_ms=total_ms,
        task=task,
        tier="local" if local else "full",
        provider=("ollama" if local else "openai") if reached else None,
        model=model if reached else None,
        node=str(_skewed(draw, NODES)) if local and reached else None,
        prompt_tokens=round(draw.lognormvariate(6, 1.5)),
        completion_tokens=round(draw.lognormvariate(5, 1)),
        questions_milli=250 if local else 4000,
        cost_micro=0 if local or not reached else draw.choice([None, draw.randrange(20_000)]),
        full_cost_micro=draw.randrange(20_000),
        queue_ms=0,
        first_token_ms=total_ms // 8 if reached else None,
        masked=draw.choice([0, 0, 0, 2]),
        left_building=int(reached and (not local or draw.random() < 0.01)),
    )
