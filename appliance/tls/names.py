"""Which names and addresses a machine is reached by: what its certificate has to hold."""

import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from appliance.cluster.interfaces import Address, read_links

_LOOPBACK: tuple[Address, ...] = (ipaddress.IPv4Address("127.0.0.1"), ipaddress.IPv6Address("::1"))

_NAME = re.compile(r"(?=.{1,253}$)(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")

_NUMBER = re.compile(r"[0-9.]+")


@dataclass(frozen=True, slots=True)
class Names:
    """Each once and in a fixed order, so that what did not change compares equal. DNS names are in lower case."""

    dns: tuple[str, ...]
    addresses: tuple[Address, ...]


def names_of(hostname: str, *, host: str, more: Iterable[str], addresses: Iterable[Address]) -> Names:
    """What a machine is called.

    Args:
        hostname: what it calls itself, with or without a domain.
        host: what the gateway listens on, `gateway.host`.
        more: further names, `gateway.tls_names`.
        addresses: those of its interfaces; link-local ones of IPv6 are left out, as nobody can type them.
    """
    first = hostname.partition(".")[0]
    dns = ["localhost", hostname, first, f"{first}.local", *more]
    found: set[Address] = {*_LOOPBACK, *(one for one in addresses if not (one.version == 6 and one.is_link_local))}
    if (address := _address(host)) is None:
        dns.append(host)
    elif not address.is_unspecified:
        found.add(address)
    cleaned = (name.lower().rstrip(".") for name in dns)
    kept = {name: None for name in cleaned if _NAME.fullmatch(name) and not _NUMBER.fullmatch(name)}
    return Names(tuple(kept), tuple(sorted(found, key=lambda one: (one.version, int(one)))))


def read_names(host: str, more: Iterable[str]) -> Names:
    """This machine's, as the system says them now. No name server is asked."""
    try:
        links = read_links()
    except OSError:
        links = ()
    addresses = (one.ip for link in links if link.up and not link.loopback for one in link.addresses)
    return names_of(socket.gethostname(), host=host, more=more, addresses=addresses)


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
