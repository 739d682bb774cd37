"""Tells systemd how the service is (sd_notify(3)): one datagram a message, to the socket that it names."""

import logging
import os
import socket
import time
from collections.abc import Mapping

_log = logging.getLogger(__name__)


class Notifier:
    """Says nothing where nobody asked to be told. Never raises: the service goes on whether it is heard or not."""

    def __init__(self, address: str | None) -> None:
        """`address`: a path, or an abstract one that begins with `@`."""
        self._address = address

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "Notifier":
        return cls(environ.get("NOTIFY_SOCKET") or None)

    def ready(self, status: str) -> None:
        self._send("READY=1", _status(status))

    def reloading(self) -> None:
        """`ready` has to follow."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self, status: str) -> None:
        self._send("STOPPING=1", _status(status))

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if self._address is None:
            return
        name = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
                sock.setblocking(False)
                sock.sendto("\n".join(lines).encode(), name)
        except OSError as error:
            _log.warning("systemd cannot be told %s (%s)", lines[0], error.strerror)


def watchdog_seconds(environ: Mapping[str, str]) -> float | None:
    """How often systemd wants to hear that this process lives, None where it does not (sd_watchdog_enabled(3))."""
    microseconds, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID")
    if not (microseconds.isascii() and microseconds.isdigit()) or int(microseconds) == 0:
        return None
    return int(microseconds) / 1_000_000 if pid in (None, str(os.getpid())) else None


def _status(text: str) -> str:
    return f"STATUS={' '.join(text.split())}"
