"""What keys and workspaces may still use in a month, so that calls at the same time cannot all pass.

A call reserves the questions of the model that it is sent to, and settles what its answer counts once that is in the
ledger. Reservations are in memory alone: after a crash nothing is locked, and what was used is read from the ledger
again. Everything runs on one event loop, and nothing between a look and a reservation waits.

Must not know storage or calls. Counts are thousandths of a question. Source: routing.md ("Metering").
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from appliance.errors import AllowanceExhausted, KeyCeilingReached
from appliance.metering.months import Month


class Account(NamedTuple):
    """Whose questions are counted: a key or a workspace, by its row number."""

    kind: Literal["key", "workspace"]
    n: int


class Budget(NamedTuple):
    """What an account may use in a calendar month."""

    account: Account
    limit_milli: int | None
    """None: as much as it likes. It is counted all the same, since a limit may be set at any time."""


RETRY_SECONDS = 5
"""When to come back where only calls that still run are in the way."""

Used = Callable[[Account, Month], Awaitable[int]]
"""What the ledger says that an account has used in a month."""


@dataclass(slots=True)
class _Count:
    """`tabs`: how many calls are open on it."""

    used: int
    reserved: int = 0
    tabs: int = 0


class Budgets:
    def __init__(self, used: Used) -> None:
        self._used = used
        self._counts: dict[tuple[Account, Month], asyncio.Future[_Count]] = {}

    async def open(self, budgets: Sequence[Budget], month: Month) -> "Tab":
        """The tab of one call, which has to be settled whatever becomes of the call. The first budget goes before the
        others where several have nothing left."""
        counts: list[tuple[Budget, _Count]] = []
        try:
            for budget in budgets:
                count = await self._count(budget.account, month)
                count.tabs += 1
                counts.append((budget, count))
        except BaseException:
            Tab(counts).settle(0)
            raise
        return Tab(counts)

    async def _count(self, account: Account, month: Month) -> _Count:
        found = self._counts.get((account, month))
        if found is None:
            self._forget_before(month)
            # One reads, the others wait for it: two that had read would not see each other's calls.
            found = self._counts[account, month] = asyncio.ensure_future(self._read(account, month))
            found.add_done_callback(lambda done: self._drop_failed(account, month, done))
        return await asyncio.shield(found)

    async def _read(self, account: Account, month: Month) -> _Count:
        return _Count(await self._used(account, month))

    def _drop_failed(self, account: Account, month: Month, done: asyncio.Future[_Count]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._counts.pop((account, month), None)

    def _forget_before(self, month: Month) -> None:
        """Months that are over, but for the last, and in which no call is open any more: the ledger knows them."""
        for known, count in list(self._counts.items()):
            over = known[1].following < month and count.done() and not count.cancelled() and not count.exception()
            if over and not count.result().tabs:
                del self._counts[known]


class Tab:
    """What one call holds of its budgets."""

    def __init__(self, counts: Sequence[tuple[Budget, _Count]]) -> None:
        self._counts = counts
        self._held = 0
        self._settled = False

    def check(self) -> None:
        """Raises KeyCeilingReached or AllowanceExhausted where nothing at all is left."""
        self._refuse_beyond(1)

    def reserve(self, milli: int) -> None:
        """Hold so much, instead of what was held before. Raises KeyCeilingReached or AllowanceExhausted where so much
        is not left; then nothing has changed."""
        self._refuse_beyond(milli)
        self._hold(milli)

    def settle(self, milli: int) -> None:
        """Count what the call has used, and hold nothing any more. Only the first time counts."""
        if self._settled:
            return
        self._settled = True
        self._hold(0)
        for _, count in self._counts:
            count.used += milli
            count.tabs -= 1

    def _hold(self, milli: int) -> None:
        for _, count in self._counts:
            count.reserved += milli - self._held
        self._held = milli

    def _refuse_beyond(self, milli: int) -> None:
        for budget, count in self._counts:
            if budget.limit_milli is not None and count.used + count.reserved - self._held + milli > budget.limit_milli:
                raise _refusal(budget, budget.limit_milli, count, milli)


def _refusal(budget: Budget, limit: int, count: _Count, milli: int) -> KeyCeilingReached | AllowanceExhausted:
    """Why so many are not left: they are used, held by calls that still run, or more than there were to begin with."""
    kind, what, more = {
        "key": (KeyCeilingReached, "This key's ceiling", "the administrator can make another key"),
        "workspace": (
            AllowanceExhausted,
            "This workspace's allowance",
            "the administrator can raise it with `synapse workspace allowance`",
        ),
    }[budget.account.kind]
    state = f"{what} is {_questions(limit)} questions a month, and {_questions(count.used)} are used"
    if count.used >= limit:
        return kind(f"{state}.", advice=f"It begins anew with the month, at midnight UTC; {more}.")
    if count.used + milli <= limit:
        held = f"{state}; calls that still run hold what this one would need."
        return kind(held, advice="Try again when they have ended.", retry_after=RETRY_SECONDS)
    needs = f"{state}; the model that this call goes to counts {_questions(milli)}."
    return kind(needs, advice=f"Ask something that a smaller model answers, or wait for the next month; {more}.")


def _questions(milli: int) -> str:
    return f"{milli / 1000:g}" if milli < 10**9 else f"{milli // 1000}"
