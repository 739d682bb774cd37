"""Who gets which slot."""

import asyncio

import pytest

from appliance.engine.turns import Slot, Turns


async def use(turns: Turns, tokens: list[int], answered: int = 0) -> int:
    async with turns.take(tokens) as slot:
        slot.keeps(tokens, answered)
        return slot.number


async def test_a_conversation_comes_back_to_its_slot():
    turns = Turns(3)
    first, second = await use(turns, [1, 2, 3]), await use(turns, [4, 5, 6])
    assert first != second
    assert await use(turns, [4, 5, 6, 7]) == second
    assert await use(turns, [1, 2, 9]) == first


async def test_a_new_conversation_gets_the_slot_that_was_idle_for_the_longest():
    turns = Turns(3)
    used = [await use(turns, [number]) for number in range(3)]
    assert [await use(turns, [number]) for number in range(10, 13)] == used


async def test_what_all_prompts_begin_with_is_no_reason_to_take_a_slot_from_its_conversation():
    turns = Turns(2)
    first = await use(turns, [0, *range(100, 150)])
    second = await use(turns, [0, *range(200, 250)])
    assert first != second
    assert await use(turns, [0, *range(100, 150), 9]) == first


async def test_a_slot_has_one_call_at_a_time():
    turns = Turns(2)
    async with turns.take([1]) as first, turns.take([1]) as second:
        assert first.number != second.number
        third = asyncio.create_task(use(turns, [1]))
        await asyncio.wait([third], timeout=0.05)
        assert not third.done()
    assert await third in (first.number, second.number)


async def test_a_call_that_fails_gives_its_slot_back():
    turns = Turns(1)
    with pytest.raises(ValueError, match="x"):
        async with turns.take([1]):
            raise ValueError("x")
    assert await use(turns, [1]) == 0


async def test_nothing_is_known_after_a_new_start():
    turns = Turns(1)
    await use(turns, [1, 2, 3])
    turns.forget()
    async with turns.take([1, 2, 3]) as slot:
        assert slot.known([1, 2, 3]) == 0


def test_what_a_slot_knows():
    slot = Slot(0)
    assert slot.known([1, 2]) == 0
    slot.keeps([1, 2], answered=3)
    assert slot.known([1, 2, 7, 8, 9, 10]) == 5  # the answer is likely what follows
    assert slot.known([1, 2, 7]) == 3
    assert slot.known([1, 7, 8]) == 1  # another conversation
