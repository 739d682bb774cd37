import asyncio

import pytest

from appliance.errors import Overloaded
from appliance.gateway.drain import Drain


async def test_calls_in_flight_may_end_by_themselves():
    drain = Drain()
    go = asyncio.Event()

    async def call() -> bool:
        with drain.call() as stop:
            await go.wait()
            return stop.is_set()

    running = [asyncio.ensure_future(call()) for _ in range(3)]
    await asyncio.sleep(0)
    assert drain.in_flight == 3
    finishing = asyncio.ensure_future(drain.finish(30))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded, match="stopping"), drain.call():
        pass
    go.set()
    assert await asyncio.gather(*running) == [False] * 3
    await finishing
    assert drain.in_flight == 0


async def test_what_does_not_end_in_time_is_told_to():
    drain = Drain()

    async def call() -> str:
        with drain.call() as stop:
            await stop.wait()
            return "told"

    running = asyncio.ensure_future(call())
    await asyncio.sleep(0)
    await drain.finish(0.01)
    assert await running == "told"


async def test_nothing_in_flight_is_over_at_once():
    await Drain().finish(30)
