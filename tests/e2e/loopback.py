"""A network in which there is nothing but loopback, for a test that is to reach nothing else."""

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.needs import need

_CLONE_NEWNET = 0x40000000
"""From Linux's `sched.h`; `os.unshare` has come with Python 3.12 only."""


@contextmanager
def loopback_only() -> Iterator[None]:
    """This thread and all that it starts are in one until the block is left.

    It takes root on Linux. Elsewhere the test runs in the network that there is, but not in CI.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform != "linux" or os.geteuid() != 0:
        assert "CI" not in os.environ, "needs to be root on Linux"
        yield
        return
    need("ip")
    # A network belongs to a thread: sockets, threads and processes that it makes from now on are in the new one.
    with Path("/proc/thread-self/ns/net").open("rb") as outer:
        assert libc.unshare(_CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        try:
            assert [name for _, name in socket.if_nameindex()] == ["lo"]
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            yield
        finally:
            assert libc.setns(outer.fileno(), _CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
