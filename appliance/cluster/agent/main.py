"""The agent's process: `run` is what `synapse node serve` calls, and `reset` what `synapse node reset` calls.

It checks what it was given, binds its ports, says what it is and what to do next, and ends on SIGTERM or SIGINT.
"""

import asyncio
import logging
import os
import platform
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvloop

from appliance import logs, watchdog
from appliance.binding import bound
from appliance.cluster import cluster_key, words
from appliance.cluster.addresses import is_loopback
from appliance.cluster.agent.node import Announce, Announcement, Sockets, Trusted, port_of, running, told
from appliance.cluster.agent.state import NodeState, forget_gateway, opened
from appliance.cluster.identity import instance_of
from appliance.cluster.join import Told
from appliance.cluster.join_messages import MAX_NAME, MAX_SLOTS, is_name
from appliance.errors import ConfigError
from appliance.notify import Notifier, watchdog_seconds
from appliance.tasks import Tasks

SERVICE_TYPE = "_synapse-node._tcp.local."
DISTRIBUTION = "synapse-appliance"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """`ollama` is the base URL of the Ollama on this machine. Port 0 lets the system choose.

    `name` is what people call the machine; empty keeps the last one, at first the host's. `cluster_key` and
    `gateway_words` are as somebody typed them. `slots` is how many calls at once Ollama takes; None leaves it to
    OLLAMA_NUM_PARALLEL, and to the gateway where that is not set. `interfaces`: where to announce, empty for all.
    """

    state: Path
    name: str = ""
    ollama: str = "http://127.0.0.1:11434"
    host: str = "0.0.0.0"  # noqa: S104  the gateway is on another machine
    port: int = 11435
    join_port: int = 11436
    cluster_key: str | None = field(default=None, repr=False)
    gateway_words: str | None = None
    interfaces: tuple[str, ...] = ()
    announce: bool = True
    slots: int | None = None


def run(options: NodeOptions, environ: Mapping[str, str] = os.environ) -> int:
    """Serve until SIGTERM or SIGINT; the exit code.

    Raises:
        ConfigError, StateError: the agent cannot start; the message says what to do.
    """
    trusted = Trusted(
        key=None if options.cluster_key is None else cluster_key.parse(options.cluster_key),
        words=None if options.gateway_words is None else words.parse(options.gateway_words),
    )
    check_ollama(options.ollama)
    if options.port == options.join_port and options.port:
        raise ConfigError(f"Calls and joins cannot both have port {options.port}.", advice="Give another --join-port.")
    if options.name and not is_name(options.name):
        raise ConfigError(
            "This cannot be the name of a machine.", advice=f"Give 1 to {MAX_NAME} printable characters with --name."
        )
    slots = slots_of(options.slots, environ)
    os.umask(0o077)
    logs.configure(level=environ.get("SYNAPSE_LOG", "INFO"), under_journal="JOURNAL_STREAM" in environ)
    with (
        opened(options.state, name=options.name, fallback=_host_name()) as state,
        _bound(options.host, options.port, "--port") as data,
        _bound(options.host, options.join_port, "--join-port") as join,
    ):
        uvloop.run(_serve(options, state, trusted, Sockets(data, join), slots, environ))
    return 0


def reset(state: Path) -> str:
    """Let this machine belong to nobody again; a sentence that says so. Raises StateError: an agent is running."""
    gateway_id = forget_gateway(state)
    if gateway_id is None:
        return "This machine belongs to no gateway."
    return f"This machine no longer belongs to the gateway {instance_of(gateway_id) if gateway_id else 'it had'}."


def describe(name: str, node_id: str, known: Told) -> tuple[str, ...]:
    """What a person at this machine wants to know, a line each: who it is, whose it is, what to do next."""
    lines = [f"this machine is {name}, its words are: {' '.join(words.words(node_id))}"]
    if known.claimed_by is not None:
        gateway = f"{instance_of(known.claimed_by)} ({' '.join(words.words(known.claimed_by))})"
        lines.append(f"it belongs to the gateway {gateway} and serves nobody else")
        if known.key is not None and known.key.gateway_id != known.claimed_by:
            lines.append("the cluster key is of another gateway: to change, stop this, run `synapse node reset`, start")
    elif known.key is not None:
        lines.append(
            f"it waits for the gateway {instance_of(known.key.gateway_id)}, which takes it in by the cluster key"
        )
    elif known.words is not None:
        lines.append("it waits for the gateway with the words that it was given: admit it there, comparing its words")
    else:
        lines.append("it was told of no gateway and refuses all: start it with --cluster-key-stdin or --gateway-words")
    return tuple(lines)


def slots_of(given: int | None, environ: Mapping[str, str]) -> int | None:
    """How many calls at once. Raises ConfigError: the given number cannot be."""
    if given is not None:
        if not 1 <= given <= MAX_SLOTS:
            raise ConfigError(f"A machine takes 1 to {MAX_SLOTS} calls at once.", advice="Give another --slots.")
        return given
    said = environ.get("OLLAMA_NUM_PARALLEL", "").strip()
    if not said.isascii() or not said.isdigit() or not 1 <= int(said[:6]) <= MAX_SLOTS:
        return None  # Ollama takes 0 and what is no number as its own default
    return int(said)


def check_ollama(url: str) -> None:
    """Raises ConfigError: not the address of an Ollama on this very machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    plain = parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username)
    if parts.scheme != "http" or not host or not plain:
        raise ConfigError(f"{url!r} is not the address of an Ollama.", advice="Write it like http://127.0.0.1:11434.")
    if not is_loopback(host):
        raise ConfigError(
            f"{url!r} is not on this machine.",
            advice="Run the agent beside Ollama: what it forwards must not cross the network in the clear.",
        )


def _host_name() -> str:
    name = platform.node().partition(".")[0]
    return name if is_name(name) else "node"


async def _serve(
    options: NodeOptions,
    state: NodeState,
    trusted: Trusted,
    sockets: Sockets,
    slots: int | None,
    environ: Mapping[str, str],
) -> None:
    systemd = Notifier.of(environ)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.set_exception_handler(_lost)
    async with running(
        state,
        trusted,
        sockets,
        ollama=options.ollama,
        slots=slots,
        version=version(DISTRIBUTION),
        announce=_announce_by_mdns(options.interfaces) if options.announce else None,
        monotonic=time.monotonic,
    ):
        for line in describe(state.name, state.identity.id, told(state, trusted)):
            _log.info("%s", line)
        ports = f"joins on port {port_of(sockets.join)}, calls on port {port_of(sockets.data)}"
        tasks = Tasks()
        if seconds := watchdog_seconds(environ):
            tasks.spawn("watchdog", watchdog.watch(seconds, _turn, systemd.alive))
        _log.info("ready: %s", ports)
        systemd.ready(ports)
        await stop.wait()
        systemd.stopping("stopping")
        _log.info("stopping")
        await tasks.cancel()


async def _turn() -> None:
    """Succeeds where the event loop turns."""
    await asyncio.sleep(0)


def _announce_by_mdns(interfaces: tuple[str, ...]) -> Announce:
    # zeroconf is loaded only where something is announced.
    from appliance.cluster.announcing import Announcer, Service

    class Mdns:
        def __init__(self, instance: str, port: int, properties: Mapping[str, str]) -> None:
            self._instance, self._port = instance, port
            self._announcer = Announcer(self._service(properties), interfaces=interfaces)
            self.start, self.stop = self._announcer.start, self._announcer.stop

        async def update(self, properties: Mapping[str, str]) -> None:
            await self._announcer.update(self._service(properties))

        def _service(self, properties: Mapping[str, str]) -> Service:
            return Service(SERVICE_TYPE, self._instance, self._port, properties)

    def announce(instance: str, port: int, properties: Mapping[str, str]) -> Announcement:
        return Mdns(instance, port, properties)

    return announce


def _lost(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an exception that nobody awaited. Only its kind and place: the loop's own words quote its message."""
    error: BaseException | None = context.get("exception")
    _log.error("an exception reached the event loop: %s", type(error).__name__, exc_info=error)


def _bound(host: str, port: int, option: str) -> AbstractContextManager[socket.socket]:
    return bound(
        host,
        port,
        other_host="Give an address of this machine with --host.",
        other_port=f"Stop what listens there, or choose another with {option}; --host has to be an address of this"
        " machine.",
    )
