"""Serves an ASGI app on a Unix socket of our own, and tells it who is at the other end of each connection.

Hypercorn's own bind unlinks a live socket, so we bind here. Knows nothing of what is served.
"""

import asyncio
import contextlib
import fcntl
import grp
import os
import pwd
import socket
import stat
import struct
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from appliance.errors import StateError
from appliance.listener import App, Listener

PEER = "synapse.peer"
"""The key of a scope under which the app finds its `Peer`."""

GROUP = "synapse"
"""Whose members are administrators, where the system has such a group."""

MODE = 0o660

BACKLOG = 64

PROBE_SECONDS = 2.0
"""A daemon that lives accepts at once, even when it is busy: the kernel does it."""

LOCK_SECONDS = 5.0
"""Another daemon that starts there holds the lock for milliseconds."""

KEEP_ALIVE_SECONDS = 5.0

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end when it connected; -1 where the system does not tell."""

    pid: int
    uid: int
    gid: int
    login: str


class AdminListener:
    """The bound socket and its connections. Made by `open`; `close` leaves no socket behind."""

    def __init__(self, path: Path, listener: Listener) -> None:
        self._path = path
        self._inode = path.stat().st_ino
        self._listener = listener

    @classmethod
    async def open(cls, path: Path, app: App) -> Self:
        """Bind and accept. The app gets `http` scopes only, each with its `Peer`.

        Raises:
            StateError: another daemon answers there, or the socket cannot be made.
        """
        try:
            sock = await asyncio.to_thread(_bind, path)
        except OSError as error:
            raise StateError(
                f"The admin socket {path} cannot be made ({error.strerror}).",
                advice="Set admin.socket to a path in a directory that this user may write to.",
            ) from error

        async def app_for(connection: socket.socket) -> App:
            peer = await asyncio.to_thread(peer_of, connection)

            async def with_peer(scope: Any, receive: Any, send: Any) -> None:
                await app({**scope, PEER: peer}, receive, send)

            return with_peer

        return cls(path, await Listener.open(sock, app_for, keep_alive_seconds=KEEP_ALIVE_SECONDS, http2=False))

    async def close(self) -> None:
        """Accept no more, remove the socket, and give running requests the listener's grace."""
        with contextlib.suppress(OSError):
            if self._path.stat().st_ino == self._inode:  # else it is another daemon's by now
                self._path.unlink()
        await self._listener.close()


def peer_of(connection: Any) -> Peer:
    """Who is connected. May ask the system's user database, so not to be called on the event loop."""
    if not hasattr(socket, "SO_PEERCRED"):
        return Peer(-1, -1, -1, UNKNOWN)
    size = struct.calcsize("iII")
    with socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as copy:
        credentials = copy.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid, uid, gid = struct.unpack("iII", credentials)
    return Peer(pid, uid, gid, login_of(uid))


def login_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _bind(path: Path) -> socket.socket:
    """A listening socket at `path`. Nobody can connect before `listen`, when its group and mode are right."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with _sole_starter(path.parent):
        _make_way(path)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.bind(str(path))
            with contextlib.suppress(KeyError, PermissionError):  # no such group, or not ours to give
                os.chown(path, -1, grp.getgrnam(GROUP).gr_gid)
            path.chmod(MODE)
            sock.listen(BACKLOG)
        except OSError:
            sock.close()
            raise
    return sock


@contextlib.contextmanager
def _sole_starter(directory: Path) -> Generator[None]:
    """One process at a time looks at the socket and binds it: two that start at once cannot both find it stale."""
    lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(lock, directory)
        yield
    finally:
        os.close(lock)


def _lock(lock: int, directory: Path) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise StateError(
                    f"Another program holds a lock on {directory}.",
                    advice="End the daemon that is starting there, or set admin.socket to another directory.",
                ) from error
            time.sleep(0.02)
        else:
            return


def _make_way(path: Path) -> None:
    """Remove what a dead daemon left; refuse where a living one answers or something else is there."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise StateError(f"{path} is there and is not a socket.", advice="Move it away, or set admin.socket.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except (BlockingIOError, TimeoutError):
            pass  # its queue is full: somebody is there
    raise StateError(
        f"Another daemon answers on {path}.",
        advice="Stop it first, or set admin.socket and state_dir to others for a second one.",
    )
