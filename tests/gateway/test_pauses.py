import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from appliance.gateway.pauses import with_pauses


async def test_items_pass_and_every_silence_is_a_none():
    go = asyncio.Event()

    async def source() -> AsyncGenerator[int, None]:
        yield 1
        await go.wait()
        yield 2

    seen: list[int | None] = []
    async with aclosing(with_pauses(source(), 0.01)) as items:
        async for item in items:
            seen.append(item)
            if seen.count(None) == 3:
                go.set()
    assert seen[0] == 1
    assert seen[-1] == 2
    assert seen.count(None) >= 3


async def test_an_error_of_the_source_comes_through():
    async def source() -> AsyncGenerator[int, None]:
        yield 1
        raise ValueError("broken")

    items = with_pauses(source(), 1)
    assert await anext(items) == 1
    with pytest.raises(ValueError, match="broken"):
        await anext(items)


async def test_leaving_closes_the_source_even_in_the_middle_of_a_wait():
    closed = asyncio.Event()

    async def source() -> AsyncGenerator[int, None]:
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with aclosing(with_pauses(source(), 0.01)) as items:
        assert await anext(items) == 1
        assert await anext(items) is None
    assert closed.is_set()
