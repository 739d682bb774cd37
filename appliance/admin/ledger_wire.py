"""What the admin API and its client say to each other about the ledger: frozen shapes, as in `wire`.

Money in micro-dollars, None where unknown; questions in thousandths; times of calls in milliseconds.
"""

from dataclasses import dataclass
from typing import Literal, get_args

By = Literal["day", "workspace", "key", "model", "node", "task", "left"]

BY: tuple[By, ...] = get_args(By)

Ending = Literal["complete", "length", "context_cut", "refused", "cancelled", "failed"]

ENDINGS: tuple[Ending, ...] = get_args(Ending)


@dataclass(frozen=True, slots=True)
class Which:
    """Which calls; None takes any. From `since` on and before `until`, both RFC 3339.

    A key and a machine are given by id or name. An empty `model`, `node` or `task` takes the calls that reached none.
    `left` true takes those of which something left the building, false those that stayed.
    """

    since: str | None = None
    until: str | None = None
    workspace: str | None = None
    key: str | None = None
    model: str | None = None
    node: str | None = None
    task: str | None = None
    ending: Ending | None = None
    left: bool | None = None


@dataclass(frozen=True, slots=True)
class CallsQuestion:
    """`cursor` is the `next` of the page before."""

    which: Which
    limit: int = 50
    cursor: str | None = None
    oldest_first: bool = False


@dataclass(frozen=True, slots=True)
class LedgerCall:
    """A finished call, all that the ledger has of it. `key` and `user` are names, `node` is the machine's name.

    `provider` is who was asked last. `left`: it was sent to somebody outside the building, then or before, or a crash
    has cut it off and nobody knows.
    """

    at: str
    proof_id: str
    workspace: str
    key_id: str
    key: str
    user: str
    dialect: str
    address: str
    task: str | None
    tier: str | None
    provider: str | None
    model: str | None
    node: str | None
    prompt_tokens: int
    completion_tokens: int
    questions_milli: int
    cost_micro: int | None
    full_cost_micro: int | None
    queue_ms: int | None
    first_token_ms: int | None
    total_ms: int
    masked: int
    ending: str
    left: bool


@dataclass(frozen=True, slots=True)
class CallsPage:
    """`next` goes on after these calls, None where there are no more. A page may be short, even empty, and go on."""

    calls: tuple[LedgerCall, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class SumsQuestion:
    """`by` None asks for one sum of all. A day that the span touches counts as a whole, in UTC."""

    which: Which
    by: By | None = None


@dataclass(frozen=True, slots=True)
class Percentiles:
    p50: int
    p90: int
    p95: int
    p99: int


@dataclass(frozen=True, slots=True)
class Sum:
    """`group` is a day (2026-11-30), a name, or one of `left` and `stayed`; None for the sum of all, "" for what was
    never reached.

    `cost_micro` and `full_cost_micro` are of the calls whose price is known; `cost_unknown` counts the others, and
    `saved_micro` is what the full model would have cost more. The percentiles are of answered calls; None where there
    are none, or where more than one thing is asked for at once.
    """

    group: str | None
    calls: int
    prompt_tokens: int
    completion_tokens: int
    questions_milli: int
    cost_micro: int
    cost_unknown: int
    full_cost_micro: int
    saved_micro: int
    masked: int
    first_token: Percentiles | None
    total: Percentiles | None


@dataclass(frozen=True, slots=True)
class Sums:
    sums: tuple[Sum, ...]
