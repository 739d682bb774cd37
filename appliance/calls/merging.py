"""Several streams of events as one, in the order in which their events come."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TypeVar

T = TypeVar("T")

WAITING = 64
"""Events that may wait for a slow reader before the streams behind them are held back."""


async def merged(streams: Sequence[AsyncGenerator[T, None]]) -> AsyncGenerator[T, None]:
    """Yield what the streams yield until all have ended. The first that fails ends them all, with its error.

    Closing the generator closes every stream.
    """
    arrived: asyncio.Queue[T | _Ended] = asyncio.Queue(WAITING)
    pumps = [asyncio.ensure_future(_pump(stream, arrived)) for stream in streams]
    try:
        running = len(pumps)
        while running:
            item = await arrived.get()
            if not isinstance(item, _Ended):
                yield item
                continue
            if item.error is not None:
                raise item.error
            running -= 1
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.wait(pumps)


class _Ended:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error


async def _pump(stream: AsyncGenerator[T, None], arrived: "asyncio.Queue[T | _Ended]") -> None:
    try:
        async with aclosing(stream):
            async for item in stream:
                await arrived.put(item)
    except Exception as error:  # handed to the reader, whose it is
        await arrived.put(_Ended(error))
    else:
        await arrived.put(_Ended())
