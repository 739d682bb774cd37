"""Work that may take long, beside the loop that answers everybody. It must not know what the work is.

The work has to end by itself: a thread cannot be cancelled.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

LARGE = 2**16
"""Bytes or characters from which work goes to a thread; a thread costs 0.1 ms, the work of so many some 5 ms."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def aside(size: int, work: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> _T:
    """What `work` returns, whose effort grows with `size`."""
    if size < LARGE:
        return work(*given, **named)
    return await asyncio.to_thread(work, *given, **named)
