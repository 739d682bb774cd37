"""The socket that a process of ours listens on for calls. Knows nothing of what is served there."""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager

from appliance.errors import ConfigError

_KEEP_ALIVE = {socket.TCP_KEEPIDLE: 60, socket.TCP_KEEPINTVL: 15, socket.TCP_KEEPCNT: 4}
"""Seconds, seconds and times (tcp(7)): the call of a client that is gone without a word is ended within minutes."""


@contextmanager
def bound(host: str, port: int, *, other_host: str, other_port: str) -> Generator[socket.socket]:
    """A socket bound early, so that a taken port is told before anything is started.

    Args:
        other_host, other_port: what to do where there is no such host, and where the port cannot be used.

    Raises:
        ConfigError: one or the other.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol named, or asyncio would not turn Nagle's algorithm off, which holds small answers back for 40 ms.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets inherit these: a client whose machine lost its network is noticed after some two minutes.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEP_ALIVE.items():
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
        try:
            sock.bind((host, port))
        except socket.gaierror as error:
            raise ConfigError(f"There is no machine {host!r}.", advice=other_host) from error
        except OSError as error:
            reason = os.strerror(error.errno or 0).lower()
            raise ConfigError(f"Port {port} on {host} cannot be used ({reason}).", advice=other_port) from error
        sock.setblocking(False)
        yield sock
    finally:
        sock.close()
