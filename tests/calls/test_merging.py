import asyncio
from collections.abc import AsyncGenerator

import pytest

from appliance.calls.merging import merged


async def counting(name: str, count: int) -> AsyncGenerator[str, None]:
    for n in range(count):
        await asyncio.sleep(0)
        yield f"{name}{n}"


async def test_everything_comes_and_each_stream_keeps_its_order():
    seen = [item async for item in merged([counting("a", 100), counting("b", 3), counting("c", 0)])]
    assert sorted(seen) == sorted([*(f"a{n}" for n in range(100)), "b0", "b1", "b2"])
    for name in "ab":
        own = [item for item in seen if item.startswith(name)]
        assert own == sorted(own, key=lambda item: int(item[1:]))


async def test_the_first_failure_ends_all_with_its_error():
    closed = asyncio.Event()

    async def endless() -> AsyncGenerator[str, None]:
        try:
            while True:
                await asyncio.sleep(0)
                yield "on"
        finally:
            closed.set()

    async def failing() -> AsyncGenerator[str, None]:
        yield "once"
        raise ValueError("broken")

    stream = merged([endless(), failing()])
    with pytest.raises(ValueError, match="broken"):
        [item async for item in stream]
    assert closed.is_set()


async def test_leaving_closes_every_stream():
    closed: list[str] = []

    async def waiting(name: str) -> AsyncGenerator[str, None]:
        try:
            yield name
            await asyncio.Event().wait()
        finally:
            closed.append(name)

    stream = merged([waiting("a"), waiting("b")])
    assert {await anext(stream), await anext(stream)} == {"a", "b"}
    await stream.aclose()
    assert sorted(closed) == ["a", "b"]


async def test_a_slow_reader_holds_the_streams_back():
    made = 0

    async def fast() -> AsyncGenerator[int, None]:
        nonlocal made
        while True:
            made += 1
            yield made

    stream = merged([fast()])
    await anext(stream)
    await asyncio.sleep(0.02)
    assert made < 200
    await stream.aclose()
