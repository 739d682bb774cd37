"""An asynchronous thing for tests that are not: it runs beside them, in a thread with a loop of its own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def beside(thing: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """What it gives, until the block is left."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        given = asyncio.run_coroutine_threadsafe(thing.__aenter__(), loop).result(10)
        try:
            yield given
        finally:
            asyncio.run_coroutine_threadsafe(thing.__aexit__(None, None, None), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
