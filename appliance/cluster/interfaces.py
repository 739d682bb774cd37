"""The network interfaces that mDNS uses: a wired or wireless LAN, not a container's bridge (cluster.md, first section).

Knows nothing of mDNS itself. What the system says is read at the edge; the choice and the damping are pure.
"""

import ipaddress
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import ifaddr

_log = logging.getLogger(__name__)

READ_SECONDS = 10.0
"""How often the interfaces are read again (cluster.md)."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

OnLink = ipaddress.IPv4Interface | ipaddress.IPv6Interface
"""An address with the length of its network's prefix."""

_UP, _LOOPBACK, _POINT_TO_POINT, _MULTICAST = 0x1, 0x8, 0x10, 0x1000
"""IFF_* of netdevice(7)."""

_VIRTUAL = re.compile(
    r"(docker\d+|docker_gwbridge|br-[0-9a-f]{12}|hassio|podman\d+|nerdctl\d+|cni.*|flannel.*|cali.*|cilium.*|weave.*|kube-.*"
    r"|veth.*|virbr\d+.*|vnet\d+|vboxnet\d+|vmnet\d+|lxc.*|lxdbr.*|incusbr.*|tap.*|tun.*|wg.*|ifb\d+|dummy\d+)"
)
"""Bridges and pairs of containers, machines within this machine, and tunnels: no machine of the office is there.

`br0`, `vmbr0` and `br-lan` are what an administrator calls the bridge that is an office's LAN.
"""


@dataclass(frozen=True, slots=True)
class Interface:
    """One to use, with its addresses, IPv4 first; never empty, and without IPv6's link-local ones."""

    name: str
    addresses: tuple[OnLink, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """One interface as the system describes it. `up`: it is switched on, and has a carrier as far as one can tell."""

    name: str
    addresses: tuple[OnLink, ...]
    up: bool = True
    multicast: bool = True
    loopback: bool = False
    point_to_point: bool = False


def choose(links: Iterable[Link], names: tuple[str, ...] = ()) -> tuple[Interface, ...]:
    """The interfaces for mDNS, by name: exactly those of `names`, or without any the LANs. Never loopback."""
    return tuple(
        Interface(link.name, _usable(link.addresses))
        for link in sorted(links, key=lambda link: link.name)
        if link.up
        and not link.loopback
        and _usable(link.addresses)
        and (link.name in names if names else _is_lan(link))
    )


def _is_lan(link: Link) -> bool:
    return link.multicast and not link.point_to_point and _VIRTUAL.fullmatch(link.name) is None


def _usable(addresses: Iterable[OnLink]) -> tuple[OnLink, ...]:
    """In a fixed order, so that an interface that did not change compares equal."""
    kept = {one for one in addresses if not (one.ip.is_loopback or (one.version == 6 and one.ip.is_link_local))}
    return tuple(sorted(kept, key=lambda one: (one.version, one.ip.is_link_local, int(one.ip), one.network.prefixlen)))


class Damping:
    """Takes a change when two readings in a row agree on it, so that a link that flaps makes no storm."""

    def __init__(self) -> None:
        self._taken: dict[str, Interface] | None = None
        self._before: Mapping[str, Interface] = {}

    def settle(self, reading: Iterable[Interface]) -> tuple[Interface, ...]:
        """The interfaces to use after this reading. The first one is taken as it is."""
        now = {interface.name: interface for interface in reading}
        if self._taken is None:
            self._taken = dict(now)
        for name in now.keys() | self._taken.keys():
            if now.get(name) == self._before.get(name):
                if name in now:
                    self._taken[name] = now[name]
                else:
                    self._taken.pop(name, None)
        self._before = now
        return tuple(self._taken[name] for name in sorted(self._taken))


class Watch:
    """The interfaces to use, from one reading of the system to the next. `names` are the administrator's own choice."""

    def __init__(self, names: tuple[str, ...] = (), *, read: Callable[[], tuple[Link, ...]] | None = None) -> None:
        self._names = names
        self._read = read or read_links
        self._damping = Damping()
        self._links: tuple[Link, ...] = ()
        self._failed = False

    @property
    def own(self) -> frozenset[Address]:
        """Every address that this machine had at the last reading, on whatever interface."""
        return frozenset(one.ip for link in self._links for one in link.addresses)

    def look(self) -> tuple[Interface, ...]:
        """Read once more. Where the system does not say, everything is as before, which is logged once."""
        try:
            self._links = self._read()
        except Exception as error:  # whatever it is, the next reading has to come
            if not self._failed:
                _log.warning("the network interfaces cannot be read: %s", type(error).__name__)
            self._failed = True
        else:
            self._failed = False
        return self._damping.settle(choose(self._links, self._names))


def read_links() -> tuple[Link, ...]:
    """Every interface of this machine that has an address.

    Raises:
        OSError: the system does not say.
    """
    found: dict[str, list[OnLink]] = {}
    for adapter in ifaddr.get_adapters():
        name = adapter.name.partition(":")[0]  # `eth0:1` is a second address of `eth0`
        found.setdefault(name, []).extend(_on_link(ip) for ip in adapter.ips)
    return tuple(described(name, tuple(addresses)) for name, addresses in found.items())


def _on_link(ip: ifaddr.IP) -> OnLink:
    address = ip.ip[0] if isinstance(ip.ip, tuple) else ip.ip
    return ipaddress.ip_interface(f"{address.partition('%')[0]}/{ip.network_prefix}")


def described(name: str, addresses: tuple[OnLink, ...], root: Path = Path("/sys/class/net")) -> Link:
    """The interface with what Linux says of it under `root`."""
    try:
        flags = int((root / name / "flags").read_text(), 16)
        state = (root / name / "operstate").read_text().strip()
    except (OSError, ValueError):  # gone since, or no sysfs: what is not known to be usable is left out
        return Link(name, addresses, up=False)
    return Link(
        name,
        addresses,
        # A cable that is plugged in again has to make us announce ourselves again. Tunnels say `unknown`.
        up=bool(flags & _UP) and state in ("up", "unknown"),
        multicast=bool(flags & _MULTICAST),
        loopback=bool(flags & _LOOPBACK),
        point_to_point=bool(flags & _POINT_TO_POINT),
    )
