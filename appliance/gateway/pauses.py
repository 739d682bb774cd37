"""Lets a stream speak while nothing comes: an async iteration with a `None` for every pause."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TypeVar

T = TypeVar("T")


async def with_pauses(source: AsyncGenerator[T, None], seconds: float) -> AsyncGenerator[T | None, None]:
    """Yield what `source` yields, and `None` each time that it has been silent for `seconds`.

    The pending step of `source` is never cancelled by a pause; closing this generator closes `source`.
    """
    async with aclosing(source):
        step = asyncio.ensure_future(anext(source))
        try:
            while True:
                done, _ = await asyncio.wait({step}, timeout=seconds)
                if not done:
                    yield None
                    continue
                try:
                    item = step.result()
                except StopAsyncIteration:
                    return
                yield item
                step = asyncio.ensure_future(anext(source))
        finally:
            step.cancel()
            await asyncio.wait({step})
            if not step.cancelled():
                step.exception()  # asked for, or asyncio would log it, with whatever a machine said
