"""Machines of a test's own: network namespaces that hang on bridges of their own, seen by nothing outside.

A bridge stands in a namespace as well, so nothing is made in the network that this machine works in.
"""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent

MAX_LINKS = 49

_SECONDS = 10
"""For one command of iproute2, which takes milliseconds."""

_NAME = re.compile(r"syntest(\d+)-\d+-.+")
_numbers = count(1)


def need_netns() -> None:
    """Without root or iproute2 the test is skipped here, and fails in CI."""
    missing = "root" if os.geteuid() != 0 else "iproute2" if shutil.which("ip") is None else ""
    if not missing:
        probe = subprocess.run(["ip", "netns", "list"], capture_output=True, check=False, timeout=_SECONDS)
        missing = "" if probe.returncode == 0 else "network namespaces"
    if missing and "CI" not in os.environ:
        pytest.skip(f"needs {missing}")
    assert not missing, f"needs {missing}"


@dataclass(slots=True)
class _Seat:
    """Where a host is on a LAN: its namespace, its link there, its port of the bridge, and its addresses."""

    namespace: str
    link: str
    port: str
    ip4: str
    ip6: str


class Lan:
    """One bridge and the hosts on it. A host's links are `eth0`, `eth1` and so on, as they were made."""

    def __init__(self, network: "_Network", number: int) -> None:
        self._network = network
        self._number = number
        self._bridge = f"br{number}"
        self._seats: dict[str, _Seat] = {}
        self._taken = count(1)
        _ip("-n", network.switch, "link", "add", self._bridge, "type", "bridge")
        _ip("-n", network.switch, "link", "set", self._bridge, "up")

    def address(self, host: str) -> str:
        """Its IPv4 address on this LAN."""
        return self._seats[host].ip4

    def ip6(self, host: str) -> str:
        """Its unique local address (RFC 4193) on this LAN."""
        return self._seats[host].ip6

    def free(self, last: int) -> str:
        """The address of this LAN with this last number, from 50 on nobody's."""
        return f"10.{os.getpid() % 200 + 1}.{self._number}.{last}"

    def add(self, *hosts: str) -> None:
        """Put these on this LAN; those that are on none yet come to be, and those that are on this have a second link.

        What else is asked of this LAN about a host is about the link that it had last.
        """
        for host in hosts:
            number, switch = next(self._taken), self._network.switch
            assert number <= MAX_LINKS
            seat = _Seat(
                self._network.host(host),
                f"eth{self._network.next_link(host)}",
                f"p{self._number}-{number}",
                self.free(number),
                f"fd00:{self._number}::{number}",
            )
            ends = (seat.link, "netns", seat.namespace, "type", "veth", "peer", "name", seat.port, "netns", switch)
            _ip("link", "add", *ends)
            _ip("-n", switch, "link", "set", seat.port, "master", self._bridge, "up")
            _ip("-n", seat.namespace, "link", "set", seat.link, "up")
            _ip("-n", seat.namespace, "addr", "add", f"{seat.ip4}/24", "dev", seat.link)
            _ip("-n", seat.namespace, "addr", "add", f"{seat.ip6}/64", "dev", seat.link, "nodad")
            self._seats[host] = seat

    def move(self, host: str, last: int) -> None:
        """Give it another IPv4 address."""
        seat = self._seats[host]
        self.forget4(host)
        seat.ip4 = self.free(last)
        _ip("-n", seat.namespace, "addr", "add", f"{seat.ip4}/24", "dev", seat.link)

    def forget4(self, host: str) -> None:
        """Leave it its IPv6 address alone."""
        seat = self._seats[host]
        _ip("-4", "-n", seat.namespace, "addr", "flush", "dev", seat.link)

    def rename(self, host: str, name: str) -> None:
        """Call its link to this LAN something else. It loses the IPv6 address, as any link that is switched off."""
        seat = self._seats[host]
        _ip("-n", seat.namespace, "link", "set", seat.link, "down")
        _ip("-n", seat.namespace, "link", "set", seat.link, "name", name)
        _ip("-n", seat.namespace, "link", "set", name, "up")
        seat.link = name

    def cut(self, host: str) -> None:
        """Nothing passes any more, and it does not notice: its link is still up, as behind a switch that died."""
        _ip("-n", self._network.switch, "link", "set", self._seats[host].port, "nomaster")

    def unplug(self, host: str) -> None:
        """Take the cable out: it loses its carrier."""
        _ip("-n", self._network.switch, "link", "set", self._seats[host].port, "down")

    def restore(self, host: str) -> None:
        """After `cut` or `unplug`."""
        _ip("-n", self._network.switch, "link", "set", self._seats[host].port, "master", self._bridge, "up")

    def run(self, host: str, *command: str, seconds: float = _SECONDS) -> str:
        """What the command prints there. It failing is the test's failure."""
        done = subprocess.run(
            self.inside(host, command), capture_output=True, check=False, cwd=ROOT, text=True, timeout=seconds
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def popen(self, host: str, command: Sequence[str], **options: Any) -> subprocess.Popen[str]:
        """Start it there, from this tree. Whatever still runs is killed when the network is taken down."""
        environ = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
        process = subprocess.Popen(self.inside(host, command), cwd=ROOT, env=environ, text=True, **options)
        self._network.processes.append(process)
        return process

    def inside(self, host: str, command: Sequence[str]) -> list[str]:
        """The command line that runs it there. It becomes the command: its process id is the command's own."""
        return ["ip", "netns", "exec", self._network.host(host), *command]

    def another(self, *hosts: str) -> "Lan":
        """A second LAN of the same network, for hosts of the first and for new ones."""
        lan = self._network.lan()
        lan.add(*hosts)
        return lan


class _Network:
    def __init__(self) -> None:
        self._prefix = f"syntest{os.getpid()}-{next(_numbers)}-"
        self._hosts: dict[str, str] = {}
        self._lans = count(1)
        self._links: Counter[str] = Counter()
        self.processes: list[subprocess.Popen[str]] = []
        self.switch = self.host("switch")

    def lan(self) -> Lan:
        return Lan(self, next(self._lans))

    def host(self, name: str) -> str:
        """The namespace that is this host."""
        if name not in self._hosts:
            namespace = self._prefix + name
            _ip("netns", "add", namespace)
            self._hosts[name] = namespace
            _ip("-n", namespace, "link", "set", "lo", "up")
        return self._hosts[name]

    def next_link(self, host: str) -> int:
        """The number of a link that it does not have yet."""
        self._links[host] += 1
        return self._links[host] - 1

    def remove(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(_SECONDS)
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        for namespace in self._hosts.values():
            _ip("netns", "del", namespace)


@contextmanager
def lan(*hosts: str) -> Iterator[Lan]:
    """A LAN with these hosts, until the block is left. Their names are short: they are part of their links' names."""
    need_netns()
    _sweep()
    network = _Network()
    try:
        first = network.lan()
        first.add(*hosts)
        yield first
    finally:
        network.remove()


def _sweep() -> None:
    """Remove what runs left behind that were killed."""
    for line in _ip("netns", "list").splitlines():
        name = line.split()[0]
        match = _NAME.fullmatch(name)
        if match is not None and not Path(f"/proc/{match[1]}").exists():
            # Another worker may be sweeping too.
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False, timeout=_SECONDS)


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, check=False, text=True, timeout=_SECONDS)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr.strip()}"
    return done.stdout
