"""What is known of one machine and its models, and the pure rules on them.

Knows nothing of HTTP or of calls; `cluster.health` fills it, `cluster.scheduler` chooses from it.
"""

import base64
import hashlib
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit

from appliance.errors import ConfigError

Trust = Literal["loopback", "pinned", "open"]
"""How sure we are of the other side: this very machine, a pinned certificate, or an address only (cluster.md)."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model as a machine describes it. `parameters` is a count, 0 where the machine does not say.

    `context_length` is the longest context in tokens that the model was made for, None where unknown.
    """

    name: str
    digest: str
    parameters: int
    capabilities: frozenset[str]
    remote: bool
    context_length: int | None = None

    @property
    def answers_chats(self) -> bool:
        return not self.remote and "completion" in self.capabilities


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine. `why` says in a sentence why it is not used; it is empty while the machine is healthy.

    `loaded` gives for each model in memory the context length in tokens that it has there, 0 where unknown.
    """

    id: str
    name: str
    url: str
    trust: Trust
    engine: str = ""
    healthy: bool = False
    why: str = "not asked yet"
    models: tuple[Model, ...] = ()
    loaded: Mapping[str, int] = field(default_factory=dict[str, int])

    def find(self, model: str) -> Model | None:
        """The model of this name that it runs itself; a tag that Ollama serves from its cloud does not count."""
        wanted = canonical(model)
        return next((own for own in self.models if canonical(own.name) == wanted and not own.remote), None)

    def has(self, model: str) -> bool:
        return self.find(model) is not None

    def failed(self, why: str) -> "Machine":
        return replace(self, healthy=False, why=why)


def canonical(model: str) -> str:
    """`name` and `name:latest` are one model (cluster.md, "Choosing a machine")."""
    return model.removesuffix(":latest")


def leaves_the_building(name: str, remote_host: str | None) -> bool:
    """Whether a tag is served by Ollama's own cloud: never local (cluster.md, last section)."""
    plain = name.strip().casefold()  # Ollama reads the suffix in any case
    return bool(remote_host) or plain.endswith((":cloud", "-cloud"))


def default_model(machines: tuple[Machine, ...]) -> str | None:
    """The model used while none is set: the largest that answers chats on a healthy machine, then by name."""
    found = [model for machine in machines if machine.healthy for model in machine.models if model.answers_chats]
    if not found:
        return None
    best = min(found, key=lambda model: (-model.parameters, canonical(model.name)))
    return canonical(best.name)


def at_url(url: str) -> Machine:
    """A machine that the administrator named by its address.

    Raises:
        ConfigError: not an http(s) URL with a host, or an address outside the building.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.query or parts.fragment:
        raise ConfigError(
            f"[local] ollama: {url!r} is not the address of a machine.",
            advice="Write it like http://192.168.1.20:11434.",
        )
    address = _literal(host)
    if address is not None and not is_local(address):
        raise ConfigError(
            f"[local] ollama: {url!r} is not inside this network, so it cannot be called local.",
            advice="Name a machine with a private address.",
        )
    loopback = host == "localhost" or (address is not None and address.is_loopback)
    base = url.rstrip("/")
    digest = hashlib.sha256(base.encode()).digest()
    return Machine(
        id="url-" + base64.b32encode(digest).decode().lower()[:16],
        name=f"{host}:{port}" if port else host,
        url=base,
        trust="loopback" if loopback else "open",
    )


Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_local(address: Address) -> bool:
    """Whether an address can only be on this machine or in this network (RFC 1918, 3927, 4193, 4291)."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    plain = mapped or address
    return any(plain in network for network in _LOCAL if network.version == plain.version)


_LOCAL = tuple(
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


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
