"""Waits for a condition instead of for luck."""

import asyncio
from collections.abc import Callable


async def until(true: Callable[[], bool], seconds: float = 5.0) -> None:
    """What fails to come in time is the test's failure: `TimeoutError`."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110  what is waited for happens outside of this process's events
            await asyncio.sleep(0.01)
