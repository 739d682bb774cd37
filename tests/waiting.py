"""Waits for a condition instead of for luck."""

import asyncio
import time
from collections.abc import Callable


async def until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    """What fails to come in time is the test's failure: `TimeoutError`."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110  what is waited for happens outside of this process's events
            await asyncio.sleep(0.01)


def wait_until(true: Callable[[], bool], seconds: float = 10.0) -> float:
    """`until` for tests without an event loop; the seconds that it took."""
    began = time.monotonic()
    while not true():
        if time.monotonic() - began > seconds:
            raise TimeoutError(f"it did not come true within {seconds} s")
        time.sleep(0.01)
    return time.monotonic() - began
