"""Files in memory, for a library that takes a secret from nothing but a path. Knows nothing of what is in them."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def as_file(content: bytes) -> Generator[str]:
    """A path to read `content` from while the block lasts. It is on no disk where the system allows (Linux)."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("synapse", os.MFD_CLOEXEC), "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    descriptor, path = tempfile.mkstemp()
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        yield path
    finally:
        with suppress(FileNotFoundError):
            Path(path).unlink()
