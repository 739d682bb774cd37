"""What a command asks a person at a terminal can be broken off with Ctrl-C. Knows nothing of what is asked."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Generator[None]:
    """Ctrl-C raises KeyboardInterrupt in here, also where an event loop runs.

    The loop's own handler only cancels its task, which has no effect while somebody is waited for at the terminal.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield  # no place to set a handler, or Ctrl-C is ignored here
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
