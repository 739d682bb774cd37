"""Tries the ports: the gateway's, and the one that mDNS shares with others. What is opened is closed again at once."""

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from appliance.cluster.interfaces import Interface, choose, read_links
from appliance.doctor.facts import MdnsFacts, PortFacts

PROC = Path("/proc")

GROUP, PORT = "224.0.0.251", 5353
"""Where mDNS is spoken (RFC 6762, section 3)."""

ECHO_SECONDS = 0.5

_LISTENING = "0A"
_QUESTION = struct.pack(">HHHHHH", 0, 0, 1, 0, 0, 0) + b"\x08_synapse\x04_tcp\x05local\x00" + struct.pack(">HH", 12, 1)
"""Who is a Synapse here? An ordinary question, so that nobody is disturbed by it."""


def gateway_port(host: str, port: int) -> PortFacts:
    """Whether the daemon could take it now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
            sock.listen(1)
        except OSError as error:
            return PortFacts(host, port, _reason(error), holder("tcp", port))
    return PortFacts(host, port)


def mdns(*, enabled: bool, wanted: tuple[str, ...], port: int = PORT) -> MdnsFacts:
    """Whether what is sent to the group can be heard, on every interface that discovery would use."""
    if not enabled:
        return MdnsFacts(False)
    try:
        interfaces = choose(read_links(), wanted)
    except OSError:
        interfaces = ()
    names = tuple(interface.name for interface in interfaces)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("", port))
        except OSError as error:
            return MdnsFacts(True, wanted, names, _reason(error), holder("udp", port))
        silent = tuple(one.name for one in interfaces if not _comes_back(sock, one, port))
    return MdnsFacts(True, wanted, names, silent=silent)


def holder(kind: str, port: int, proc: Path = PROC) -> str:
    """Who has a port, as `name (process N)`; "" where the system does not tell this user."""
    inodes = {inode for table in (kind, f"{kind}6") for inode in _inodes(proc / "net" / table, kind, port)}
    for process, opened in _open_sockets(proc):
        if opened in inodes:
            with contextlib.suppress(OSError):
                return f"{(process / 'comm').read_text().strip()} (process {process.name})"
    return ""


def inodes_of(table: str, kind: str, port: int) -> set[str]:
    """Of the sockets that have a port, by the text of /proc/net/tcp and the like (proc(5))."""
    found: set[str] = set()
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 10 or (kind == "tcp" and fields[3] != _LISTENING):
            continue
        if int(fields[1].rpartition(":")[2], 16) == port:
            found.add(fields[9])
    return found


def _inodes(table: Path, kind: str, port: int) -> set[str]:
    try:
        return inodes_of(table.read_text(), kind, port)
    except (OSError, ValueError):
        return set()


def _open_sockets(proc: Path) -> Iterator[tuple[Path, str]]:
    """Every process with the inode of every socket that it has, as far as this user may look."""
    for process in proc.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            for descriptor in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    target = os.readlink(descriptor)  # noqa: PTH115  no path: socket:[123]
                    if target.startswith("socket:["):
                        yield process, target[8:-1]


def _comes_back(sock: socket.socket, interface: Interface, port: int) -> bool:
    """Whether a question that is sent on an interface is heard on it, by this very socket."""
    address = next((one.ip.packed for one in interface.addresses if one.version == 4), None)
    if address is None:
        return True  # IPv6 alone, which is not tried
    group = socket.inet_aton(GROUP)
    try:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group + address)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, address)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
        sock.sendto(_QUESTION, (GROUP, port))
        return _heard(sock, socket.inet_ntoa(address))
    except OSError:
        return False


def _heard(sock: socket.socket, sender: str) -> bool:
    until = time.monotonic() + ECHO_SECONDS
    while (left := until - time.monotonic()) > 0:
        sock.settimeout(left)
        try:
            content, origin = sock.recvfrom(9000)
        except TimeoutError:
            return False
        if content == _QUESTION and origin[0] == sender:
            return True
    return False


def _reason(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno and error.errno > 0 else str(error)
