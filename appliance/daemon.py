"""The process: its state directory, its sockets, its signals, and an ending that keeps what was promised."""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, AsyncExitStack
from pathlib import Path
from typing import Any, cast

import uvloop

from appliance import logs, watchdog
from appliance.admin.peers import AdminListener
from appliance.app import running
from appliance.binding import bound
from appliance.errors import StateError, SynapseError
from appliance.gateway.drain import Drain
from appliance.listener import Listener, same_app
from appliance.notify import Notifier, watchdog_seconds
from appliance.settings import Settings
from appliance.store.ownership import sole_owner
from appliance.tasks import Tasks
from appliance.times import utc_now
from appliance.tls.running import Tls, reachable_by

_log = logging.getLogger(__name__)

KEEP_ALIVE_SECONDS = 75.0
"""Above the 60 s after which common clients drop an idle connection, so that they close first, never we."""


def run(settings: Settings, environ: Mapping[str, str] = os.environ) -> int:
    """Serve until SIGTERM or SIGINT; the exit code.

    Raises:
        StateError, ConfigError: the daemon cannot start; the message says what to do.
    """
    os.umask(0o077)
    logs.configure(level=environ.get("SYNAPSE_LOG", "INFO"), under_journal="JOURNAL_STREAM" in environ)
    with sole_owner(settings.state_dir):
        uvloop.run(_serve(settings, environ))
    return 0


async def _serve(settings: Settings, environ: Mapping[str, str]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGUSR1, _dump_tasks)
    loop.set_exception_handler(_lost)
    systemd = Notifier.of(environ)
    with _bound(settings.gateway.host, settings.gateway.port) as sock:
        base_url = _base_url(settings, port=sock.getsockname()[1])
        async with running(settings, environ, base_url=base_url) as app, AsyncExitStack() as stack:
            _publish_keys(settings.state_dir, app.public_keys)
            admin = await AdminListener.open(settings.admin.socket, app.admin)
            stack.push_async_callback(admin.close)
            stack.callback(app.events.close)  # or whoever reads them would hold up the end
            context = app.tls.context if app.tls else None
            gateway = await Listener.open(
                sock, same_app(app.gateway), keep_alive_seconds=KEEP_ALIVE_SECONDS, tls=context
            )
            stack.push_async_callback(gateway.close)
            tasks = Tasks()
            stack.push_async_callback(tasks.cancel)
            reloads = _Reloads(app.tls, systemd, base_url)
            loop.add_signal_handler(signal.SIGHUP, reloads.wanted.set)
            tasks.spawn("reload", reloads.serve())
            if seconds := watchdog_seconds(environ):
                tasks.spawn("watchdog", watchdog.watch(seconds, app.alive, systemd.alive))
            _log.info("ready: %s, administration on %s", base_url, settings.admin.socket)
            systemd.ready(f"serving {base_url}")
            await stop.wait()
            await _finish(app.drain, settings.timeouts.drain, systemd)


async def _finish(drain: Drain, seconds: float, systemd: Notifier) -> None:
    """Take no call any more, and let those in flight end; new ones are told to come again."""
    systemd.stopping(f"calls in flight ({drain.in_flight}) may end within {seconds:g} s")
    if drain.in_flight:
        _log.info("stopping: calls in flight (%d) may end within %g s", drain.in_flight, seconds)
    await drain.finish(seconds)


class _Reloads:
    """What SIGHUP does: handshakes get a new certificate. One after the other, and a failed one changes nothing."""

    def __init__(self, tls: Tls | None, systemd: Notifier, base_url: str) -> None:
        self._tls = tls
        self._systemd = systemd
        self._base_url = base_url
        self.wanted = asyncio.Event()

    async def serve(self) -> None:
        while True:
            await self.wanted.wait()
            self.wanted.clear()
            self._systemd.reloading()
            if self._tls is None:
                _log.info("SIGHUP: there is nothing to read again while gateway.tls is off")
            else:
                try:
                    _log.info("SIGHUP: %s", await self._tls.reload())
                except SynapseError as error:
                    _log.error("SIGHUP: the old certificate stays in use. %s", error)
            self._systemd.ready(f"serving {self._base_url}")


def _base_url(settings: Settings, port: int) -> str:
    """What tools on this machine are told. With a certificate of the administrator's, by a name that it holds."""
    scheme = "http" if settings.gateway.tls == "off" else "https"
    host = reachable_by(settings, utc_now) or _reachable(settings.gateway.host)
    return f"{scheme}://{host}:{port}/v1"


def _lost(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an exception that nobody awaited. Only its kind and place: the loop's own words quote its message."""
    error: BaseException | None = context.get("exception")
    _log.error("an exception reached the event loop: %s", type(error).__name__, exc_info=error)


def _bound(host: str, port: int) -> AbstractContextManager[socket.socket]:
    return bound(
        host,
        port,
        other_host="Set gateway.host to an address of this machine, or to 0.0.0.0.",
        other_port=f"Stop what listens there, or choose another: SYNAPSE_GATEWAY__PORT={port + 1}.",
    )


def _publish_keys(state_dir: Path, public_keys: bytes) -> None:
    """Keep the public keys in a file, so that certificates can be checked here while the daemon is down."""
    fresh = state_dir / "keys.json.new"
    try:
        fresh.write_bytes(public_keys)
        fresh.replace(state_dir / "keys.json")
    except OSError as error:
        raise StateError(
            f"The public keys cannot be written to {state_dir} ({error.strerror}).", advice="Free disk space there."
        ) from error


def _reachable(host: str) -> str:
    """What to write for the host in a URL on this machine."""
    if host in ("0.0.0.0", "::"):  # noqa: S104  compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _dump_tasks() -> None:
    """SIGUSR1: every task with its stack on stderr, to see what a daemon that hangs is waiting for."""
    for task in asyncio.all_tasks():
        task.print_stack(file=cast(Any, sys.stderr))
