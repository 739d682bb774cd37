"""One zeroconf for each network interface, opened and closed as interfaces come and go.

Announcing and discovery do their work on it. Whatever the network does is logged once and never ends the process:
mDNS is a hint, and typing an address is always possible (cluster.md, "What mDNS is for").
"""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from zeroconf.asyncio import AsyncZeroconf

from appliance.cluster.interfaces import READ_SECONDS, Address, Interface, Watch
from appliance.tasks import Tasks

_log = logging.getLogger(__name__)

_IP_MULTICAST_ALL, _IPV6_MULTICAST_ALL = 49, 29
"""Of Linux's in.h and in6.h; Python has no names for them."""

Work = Callable[[AsyncZeroconf, Interface], Coroutine[Any, Any, None]]
"""What is done on one interface; it runs until it is cancelled."""


class Lans:
    """Runs `work` on every interface that is to be used. `purpose` is for the log, such as "discovery"."""

    def __init__(
        self, work: Work, *, purpose: str, interfaces: tuple[str, ...] = (), seconds: float = READ_SECONDS
    ) -> None:
        self._work = work
        self._purpose = purpose
        self._seconds = seconds
        self._watch = Watch(interfaces)
        self._tasks = Tasks()
        self._watching: asyncio.Task[None] | None = None
        self._serving: dict[str, tuple[Interface, asyncio.Task[None]]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._said: dict[str, str] = {}
        self._wrong: dict[str, str] = {}

    @property
    def problem(self) -> str | None:
        """In a sentence, what keeps it from working somewhere now; None where nothing does."""
        return "; ".join(self._wrong.values()) or None

    @property
    def own(self) -> frozenset[Address]:
        """Every address of this machine."""
        return self._watch.own

    async def start(self) -> None:
        """Begin; what has to be opened is opened in the background."""
        self._watching = self._tasks.spawn(f"{self._purpose}-interfaces", self._follow())

    async def stop(self) -> None:
        """Close everything, and wait until that is done."""
        current = [task for _, task in self._serving.values()] + ([self._watching] if self._watching else [])
        for task in current:
            task.cancel()
        # What is being closed already is not cancelled a second time: that would cut its goodbye off.
        if waiting := {*current, *self._closing}:
            await asyncio.wait(waiting)
        self._serving.clear()

    async def _follow(self) -> None:
        while True:
            wanted = {interface.name: interface for interface in self._watch.look()}
            await self._close([name for name, (now, _) in self._serving.items() if wanted.get(name) != now])
            for name in wanted.keys() - self._serving.keys():
                task = self._tasks.spawn(f"{self._purpose}-{name}", self._serve(wanted[name]))
                self._serving[name] = (wanted[name], task)
            if wanted:
                self._forget("")
            else:
                self._say("", "there is no network interface for it")
            await asyncio.sleep(self._seconds)

    async def _close(self, names: list[str]) -> None:
        """An interface is left before it is taken with another address, or the goodbye would come last."""
        self._closing = {self._serving.pop(name)[1] for name in names}
        for task in self._closing:
            task.cancel()
        for name in names:
            self._forget(name)
        if self._closing:
            await asyncio.wait(self._closing)

    async def _serve(self, interface: Interface) -> None:
        while True:
            try:
                async with _opened(interface) as opened:
                    # Not out of what was said: one that works for a moment, again and again, is logged once.
                    self._wrong.pop(interface.name, None)
                    await self._work(opened, interface)
            except Exception as error:  # whatever the network or the library does, it is tried again
                self._say(interface.name, f"it does not work on {interface.name}: {_reason(error)}")
            await asyncio.sleep(self._seconds)

    def _say(self, about: str, what: str) -> None:
        """Log it, unless it was the last that was said about this."""
        self._wrong[about] = what
        if self._said.get(about) != what:
            self._said[about] = what
            _log.warning("%s: %s", self._purpose, what)

    def _forget(self, about: str) -> None:
        self._said.pop(about, None)
        self._wrong.pop(about, None)


@asynccontextmanager
async def _opened(interface: Interface) -> AsyncGenerator[AsyncZeroconf]:
    """A zeroconf that speaks and listens on this interface alone; it says goodbye for its services when it is closed.

    Raises:
        OSError: no permission, the port 5353 belongs to a program that does not share it, the interface has gone.
        zeroconf.Error: it did not start.
    """
    # An AAAA record travels over IPv4 as well, so one family is enough to speak.
    opened = AsyncZeroconf(interfaces=[str(interface.addresses[0].ip)])
    try:
        await opened.zeroconf.async_wait_for_start()
        if not opened.zeroconf.engine.senders:
            raise OSError("the interface takes no part in multicast")
        for reader in opened.zeroconf.engine.readers:
            _only_joined_groups(reader.sock)
        yield opened
    finally:
        await opened.async_close()


def _only_joined_groups(reader: socket.socket) -> None:
    """Linux hands a socket the multicast of every interface that any socket of the machine has joined, unless told."""
    # asyncio wants no options set on the socket of a transport, so a copy of the descriptor takes them.
    with socket.socket(fileno=os.dup(reader.fileno())) as own:
        # Where one socket alone is to get a datagram, Linux (seen with 6.18) hands it to any other of the port's
        # SO_REUSEPORT group instead. The port stays shared, by SO_REUSEADDR.
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 0)
        own.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)
        if own.family == socket.AF_INET6:
            own.setsockopt(socket.IPPROTO_IPV6, _IPV6_MULTICAST_ALL, 0)


def _reason(error: Exception) -> str:
    """The system's own words, never an address."""
    number = error.errno if isinstance(error, OSError) else None
    return os.strerror(number) if number else str(error) or type(error).__name__
