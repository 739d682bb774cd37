"""Reservations, in any order of calls. Source: routing.md, "Metering"."""

import asyncio
import random

import pytest

from appliance.errors import AllowanceExhausted, KeyCeilingReached
from appliance.metering.budgets import Account, Budget, Budgets, Tab
from appliance.metering.months import Month

KEY, WORKSPACE = Account("key", 1), Account("workspace", 1)
NOV, DEC = Month(2026, 11), Month(2026, 12)


class Ledger:
    """What was used before, and how often somebody asked."""

    def __init__(self, used: dict[tuple[Account, Month], int] | None = None) -> None:
        self.used = used or {}
        self.asked: list[tuple[Account, Month]] = []
        self.fails = False

    async def __call__(self, account: Account, month: Month) -> int:
        self.asked.append((account, month))
        await asyncio.sleep(0)
        if self.fails:
            raise OSError("the disk")
        return self.used.get((account, month), 0)


async def tab(budgets: Budgets, limit: int | None, month: Month = NOV) -> Tab:
    return await budgets.open([Budget(KEY, limit)], month)


async def test_so_many_as_fit_pass_at_once_and_no_more():
    budgets = Budgets(Ledger({(KEY, NOV): 1000}))
    passed = 0
    for one in await asyncio.gather(*(tab(budgets, 51_000) for _ in range(200))):
        try:
            one.reserve(1000)
            passed += 1
        except KeyCeilingReached:
            one.settle(0)
    assert passed == 50


async def test_what_is_settled_counts_and_what_is_held_beyond_it_is_free_again():
    budgets = Budgets(Ledger())
    first, second = await tab(budgets, 4000), await tab(budgets, 4000)
    first.reserve(4000)
    with pytest.raises(KeyCeilingReached):
        second.check()
    first.settle(250)
    first.settle(4000)  # only the first time counts
    second.reserve(3750)
    with pytest.raises(KeyCeilingReached):
        (await tab(budgets, 4000)).check()


async def test_another_choice_is_held_instead_of_the_first_and_a_dearer_one_may_not_fit():
    budgets = Budgets(Ledger())
    one, other = await tab(budgets, 4000), await tab(budgets, 4000)
    one.reserve(1000)
    with pytest.raises(KeyCeilingReached):
        one.reserve(4250)
    other.reserve(3000)  # the first still holds its 1000, and no more
    with pytest.raises(KeyCeilingReached):
        one.reserve(1250)
    one.reserve(250)
    other.reserve(3750)


async def test_without_a_limit_it_is_counted_all_the_same():
    budgets = Budgets(Ledger())
    one = await tab(budgets, None)
    one.check()
    one.reserve(10**12)
    one.settle(5000)
    with pytest.raises(KeyCeilingReached):
        (await tab(budgets, 5000)).check()


async def test_no_limit_and_a_limit_of_nothing():
    budgets = Budgets(Ledger())
    with pytest.raises(KeyCeilingReached):
        (await tab(budgets, 0)).check()


async def test_the_first_budget_speaks_first_and_none_holds_what_another_refuses():
    budgets = Budgets(Ledger({(WORKSPACE, NOV): 900}))
    both = await budgets.open([Budget(KEY, 1000), Budget(WORKSPACE, 1000)], NOV)
    with pytest.raises(AllowanceExhausted):
        both.reserve(250)
    (await tab(budgets, 1000)).reserve(1000)
    with pytest.raises(KeyCeilingReached):
        both.reserve(250)


async def test_the_ledger_is_read_once_for_each_month_by_however_many_calls():
    ledger = Ledger()
    budgets = Budgets(ledger)
    await asyncio.gather(*(tab(budgets, 1) for _ in range(50)))
    await tab(budgets, 1, DEC)
    assert ledger.asked == [(KEY, NOV), (KEY, DEC)]


async def test_a_ledger_that_cannot_be_read_is_asked_again_by_the_next_call():
    ledger = Ledger({(KEY, NOV): 7})
    budgets = Budgets(ledger)
    ledger.fails = True
    with pytest.raises(OSError, match="the disk"):
        await tab(budgets, 7)
    ledger.fails = False
    with pytest.raises(KeyCeilingReached):
        (await tab(budgets, 7)).check()


async def test_a_caller_that_leaves_does_not_take_the_reading_from_the_others():
    budgets = Budgets(Ledger({(KEY, NOV): 7}))
    leaving, staying = asyncio.ensure_future(tab(budgets, 7)), asyncio.ensure_future(tab(budgets, 7))
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(KeyCeilingReached):
        (await staying).check()


class TestMonths:
    async def test_a_new_month_begins_with_nothing_used(self):
        budgets = Budgets(Ledger())
        old = await tab(budgets, 1000)
        old.reserve(1000)
        new = await tab(budgets, 1000, DEC)
        new.reserve(1000)
        # What began before midnight counts for its own month.
        old.settle(1000)
        with pytest.raises(KeyCeilingReached):
            (await tab(budgets, 1000)).check()

    async def test_a_clock_that_jumps_back_finds_its_month_as_it_was(self):
        ledger = Ledger()
        budgets = Budgets(ledger)
        first = await tab(budgets, 1000)
        first.reserve(750)
        first.settle(750)
        (await tab(budgets, 1000, DEC)).settle(1000)
        back = await tab(budgets, 1000)
        with pytest.raises(KeyCeilingReached):
            back.reserve(500)
        back.reserve(250)
        assert ledger.asked == [(KEY, NOV), (KEY, DEC)]

    async def test_a_month_in_which_a_call_is_open_is_never_forgotten(self):
        ledger = Ledger()
        budgets = Budgets(ledger)
        late = await tab(budgets, 1000)
        late.reserve(1000)
        for month in (DEC, Month(2027, 1), Month(2027, 6)):
            (await tab(budgets, 1000, month)).settle(0)
        with pytest.raises(KeyCeilingReached):
            (await tab(budgets, 1000)).check()
        assert ledger.asked.count((KEY, NOV)) == 1

    async def test_months_long_gone_are_read_again(self):
        ledger = Ledger({(KEY, NOV): 1000})
        budgets = Budgets(ledger)
        for month in (NOV, DEC, Month(2027, 1), NOV):
            one = await tab(budgets, 1000, month)
            one.settle(0)
        one = await tab(budgets, 1000)
        assert ledger.asked == [(KEY, NOV), (KEY, DEC), (KEY, Month(2027, 1)), (KEY, NOV)]
        with pytest.raises(KeyCeilingReached):
            one.check()


async def test_why_is_told():
    budgets = Budgets(Ledger())
    one = await tab(budgets, 2000)
    with pytest.raises(
        KeyCeilingReached, match=r"2 questions a month, and 0 are used; the model .* counts 4"
    ) as refused:
        one.reserve(4000)
    assert refused.value.retry_after is None
    one.reserve(2000)
    with pytest.raises(KeyCeilingReached, match="calls that still run hold") as refused:
        (await tab(budgets, 2000)).reserve(250)
    assert refused.value.retry_after == 5
    one.settle(2000)
    with pytest.raises(KeyCeilingReached, match="and 2 are used") as refused:
        (await tab(budgets, 2000)).check()
    assert refused.value.retry_after is None


@pytest.mark.parametrize("seed", range(10))
async def test_whatever_happens_no_more_is_used_than_the_limit(seed: int):
    chance = random.Random(seed)
    budgets, limit, used = Budgets(Ledger()), 20_000, 0
    open_tabs: list[tuple[Tab, int]] = []
    for _ in range(2000):
        if open_tabs and chance.random() < 0.5:
            one, held = open_tabs.pop(chance.randrange(len(open_tabs)))
            milli = chance.choice([0, 250, held])
            milli = min(milli, held)
            one.settle(milli)
            used += milli
        else:
            one, held = await tab(budgets, limit), chance.choice([250, 1000, 4000])
            try:
                one.reserve(held)
            except KeyCeilingReached:
                one.settle(0)
            else:
                open_tabs.append((one, held))
        assert used + sum(held for _, held in open_tabs) <= limit
    assert used > limit * 0.7
