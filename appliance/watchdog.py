"""Says again and again that the process lives, each time after a trial that shows it.

The trial runs on the event loop, so that a loop that hangs says nothing, and systemd starts the service again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from appliance.errors import SynapseError

_log = logging.getLogger(__name__)

PARTS = 3
"""A trial in each third of the time that systemd waits: one that is late or lost is no reason to be killed."""


async def watch(seconds: float, trial: Callable[[], Awaitable[object]], say: Callable[[], None]) -> None:
    """`say` after each trial that succeeded in time, until cancelled. `seconds`: how long systemd waits."""
    pause = seconds / PARTS
    while True:
        try:
            async with asyncio.timeout(pause):
                await trial()
        except (TimeoutError, SynapseError) as error:
            _log.warning("the watchdog's trial failed: %s", type(error).__name__)
        else:
            say()
        await asyncio.sleep(pause)
