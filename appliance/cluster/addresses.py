"""Which addresses are inside the building, and the machines that are known by one.

Whatever is called local must be local (cluster.md, "Node agent and trust"). Pure: names are resolved elsewhere, at
every connect, and what comes of it is checked against the same networks.
"""

import base64
import hashlib
import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from appliance.cluster.machine import DEFAULT_SLOTS, Kind, Machine
from appliance.errors import ConfigError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

PRIVATE_NETWORKS: tuple[Network, ...] = tuple(
    ipaddress.ip_network(network)
    for network in (
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "169.254.0.0/16",
        "::1/128",
        "fc00::/7",
        "fe80::/10",
    )
)
"""Of this machine and of private networks (RFC 1918, 3927, 4193, 4291)."""


@dataclass(frozen=True, slots=True)
class Inside:
    """The networks of the building: private ones, and those that the administrator lists as `also`."""

    also: tuple[Network, ...] = ()

    def holds(self, address: Address) -> bool:
        """Whether an address can only be on this machine or in this network (RFC 1918, 3927, 4193, 4291)."""
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        plain = mapped or address
        return any(plain in network for network in (*PRIVATE_NETWORKS, *self.also) if network.version == plain.version)


PRIVATE = Inside()
"""Without anything that an administrator has listed."""


def literal(host: str) -> Address | None:
    """The address that a host of a URL is written as, without its zone; None for a name."""
    try:
        ipaddress.ip_address(host)  # with what follows a `%`: a zone belongs to IPv6, and after IPv4 it is a name
    except ValueError:
        return None
    return ipaddress.ip_address(host.partition("%")[0])


def is_loopback(host: str) -> bool:
    """Whether only this machine itself can be meant."""
    address = literal(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def host_of(url: str) -> str:
    """The host of a machine's URL, "" where it has none."""
    return _parts(url).hostname or ""


def port_of(url: str) -> int:
    """The port of a machine's URL, that of its scheme where it names none."""
    parts = _parts(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def at_url(
    url: str,
    *,
    kind: Kind = "ollama",
    name: str | None = None,
    slots: int | None = None,
    inside: Inside = PRIVATE,
) -> Machine:
    """A machine that the administrator named by its address; `name` is what to call it, else its host and port.
    `slots`: None leaves them to what it says itself.

    Raises:
        ConfigError: not an http(s) URL with a host, or an address outside the building.
    """
    parts = _parts(url)
    host = parts.hostname
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError(
            f"{_shown(url)} is not the address of a machine.", advice="Write it like http://192.168.1.20:11434."
        )
    address = literal(host)
    if address is not None and not inside.holds(address):
        raise outside(url)
    return Machine(
        id=id_at(url),
        name=name or (f"{host}:{parts.port}" if parts.port else host),
        url=url.rstrip("/"),
        trust="loopback" if is_loopback(host) else "open",
        kind=kind,
        slots=slots or DEFAULT_SLOTS,
        slots_set=slots is not None,
    )


def id_at(url: str) -> str:
    """What a machine is called that is known by this address alone."""
    digest = hashlib.sha256(url.rstrip("/").encode()).digest()
    return "url-" + base64.b32encode(digest).decode().lower()[:16]


def outside(url: str) -> ConfigError:
    """The address leads out of the building."""
    return ConfigError(
        f"{_shown(url)} is not inside this network, so it cannot be called local.",
        advice="Name a machine with a private address, or one in [local] networks; a service outside is added with"
        " `synapse provider add`.",
    )


def _parts(url: str) -> SplitResult:
    """Of what is no URL nothing."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return urlsplit("")
    return parts


def _shown(url: str) -> str:
    """As it may be repeated: a password in it stays out."""
    return repr(url) if "@" not in url else "What was given"
