"""A lock that one process holds, on a file, and that ends with the process however that ends.

Knows nothing of what is locked.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(path: Path, otherwise: Exception) -> Generator[None]:
    """Hold the lock on this file, which is made where there is none.

    Raises:
        OSError: the file cannot be made or opened.
        otherwise: another process holds it.
    """
    lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise otherwise from error
        yield
    finally:
        os.close(lock)
