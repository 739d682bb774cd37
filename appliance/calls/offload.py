"""Work on a call's body that takes a millisecond and more: done beside the event loop, so that other calls go on."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from appliance.calls.call import Call

T = TypeVar("T")

LARGE_BODY_BYTES = 64 * 1024
"""Of a request. A smaller one is read, measured and written again in less time than a thread takes to start."""


async def offloaded(call: Call, work: Callable[[], T]) -> T:
    """What `work` gives. It is done in a thread where the body is large or has tools: small schemas can refer to
    themselves until they are large."""
    if call.body_bytes < LARGE_BODY_BYTES and not call.chat.tools:
        return work()
    return await asyncio.to_thread(work)
