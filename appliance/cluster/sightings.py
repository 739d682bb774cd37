"""What is heard of machines over mDNS, checked, and the bounded table of those that may be asked who they are.

Pure. A sighting is a hint and never a proof: identity is a key, never a name or an address (cluster.md).
"""

import re
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Literal

from appliance.cluster.interfaces import Address, Interface, OnLink

NODE_TYPE = "_synapse-node._tcp.local."
OLLAMA_TYPE = "_ollama._tcp.local."

Kind = Literal["node", "ollama"]

_TYPES: tuple[tuple[Kind, str], ...] = (("node", NODE_TYPE), ("ollama", OLLAMA_TYPE))

MAX_CANDIDATES = 64
PROBE_SECONDS = 10.0
"""Between two probes of one candidate (both: cluster.md)."""

MAX_ADDRESSES = 8
"""Of one machine on one interface; a name that claims more is not to make us call a whole network."""

MAX_TXT_BYTES = 1_024
"""Of the whole TXT record; ours has about 120. RFC 6763, 6.2, wants it to fit one packet of 1,300 bytes."""

MAX_INSTANCE_BYTES = 63
"""RFC 6763, 4.1.1."""

_ID = re.compile(r"[a-z2-7]{51}[aq]")
"""32 bytes in base32: 52 characters of which the last carries one bit (RFC 4648, 6)."""

_PORT = re.compile(r"[1-9][0-9]{0,4}")


@dataclass(frozen=True, slots=True)
class Sighting:
    """One machine as it was heard on one interface. `id` is "" and `join_port` 0 for a plain Ollama."""

    kind: Kind
    instance: str
    id: str
    addresses: tuple[str, ...]
    port: int
    join_port: int
    claimed: bool
    interface: str

    @property
    def key(self) -> str:
        """The same wherever the same machine is heard: a node's id, or a plain Ollama's lowest address and port."""
        return self.id or f"ollama:{self.addresses[0]}:{self.port}"


def read_sighting(
    name: str,
    addresses: Iterable[str],
    port: int | None,
    txt: Mapping[bytes, bytes | None],
    interface: Interface,
    own: Collection[Address] = (),
) -> Sighting | None:
    """The sighting that a service's records make, or None for what is not to be believed even as a hint.

    `name` is the whole one, instance and type; `own` are this machine's addresses on all interfaces.
    """
    found = next(((kind, type_) for kind, type_ in _TYPES if name.lower().endswith(f".{type_}")), None)
    if found is None or not port or not 0 < port < 65_536 or not _is_small(txt):
        return None
    kind, instance = found[0], name[: -len(found[1]) - 1]
    reachable = _on_link(addresses, interface, own)
    if not reachable or not _is_name(instance):
        return None
    if kind == "node":
        return _node(instance, reachable, port, txt, interface)
    return Sighting("ollama", instance, "", reachable, port, 0, claimed=False, interface=interface.name)


def _node(
    instance: str, addresses: tuple[str, ...], port: int, txt: Mapping[bytes, bytes | None], interface: Interface
) -> Sighting | None:
    said = {key: (txt.get(key.encode()) or b"").decode("ascii", "replace") for key in ("id", "st", "jp")}
    fixed = {b"txtvers": b"1", b"proto": b"1", b"api": b"ollama"}
    if any(txt.get(key) != value for key, value in fixed.items()) or said["st"] not in ("open", "claimed"):
        return None
    if not _ID.fullmatch(said["id"]) or instance.lower() != f"syn-{said['id'][:16]}" or not _PORT.fullmatch(said["jp"]):
        return None
    join_port = int(said["jp"])
    if join_port > 65_535:
        return None
    claimed = said["st"] == "claimed"
    return Sighting("node", instance.lower(), said["id"], addresses, port, join_port, claimed, interface.name)


def _is_name(instance: str) -> bool:
    """It is shown to people, so it must be one short printable line."""
    return instance.isprintable() and 0 < len(instance.encode()) <= MAX_INSTANCE_BYTES


def _is_small(txt: Mapping[bytes, bytes | None]) -> bool:
    return sum(len(key) + len(value or b"") for key, value in txt.items()) <= MAX_TXT_BYTES


def _on_link(addresses: Iterable[str], interface: Interface, own: Collection[Address]) -> tuple[str, ...]:
    """Those that a machine on this link can have, lowest first and IPv4 before IPv6; none where there are too many."""
    found: set[Address] = set()
    for text in addresses:
        try:
            address = ip_address(text)
        except ValueError:
            continue
        if address not in own and any(_is_neighbour(address, mine) for mine in interface.addresses):
            found.add(address)
        if len(found) > MAX_ADDRESSES:
            return ()
    return tuple(str(one) for one in sorted(found, key=lambda one: (one.version, int(one))))


def _is_neighbour(address: Address, mine: OnLink) -> bool:
    network = mine.network
    if address.version != network.version or address not in network or address == mine.ip:
        return False
    if address.is_loopback or address.is_unspecified or address.is_multicast:
        return False
    # The first and the last of a network are nobody's, where it has more than two (RFC 919, 3021, 4291 2.6.1).
    return network.num_addresses <= 2 or address not in (network.network_address, network.broadcast_address)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A machine that was heard, on one interface or several. `probed_at`: the clock of whoever asks, in seconds."""

    key: str
    sightings: tuple[Sighting, ...]
    proven: bool = False
    probed_at: float | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        """All of them, each once, in the order of the sightings."""
        return tuple(dict.fromkeys(address for sighting in self.sightings for address in sighting.addresses))


class Candidates:
    """Who was heard and may be asked. Bounded in number and in probes, whatever is announced."""

    def __init__(self) -> None:
        self._held: dict[str, Candidate] = {}
        self._known: frozenset[str] = frozenset()
        self._probes: deque[float] = deque(maxlen=MAX_CANDIDATES)

    def __len__(self) -> int:
        return len(self._held)

    def all(self) -> tuple[Candidate, ...]:
        """The longest held first."""
        return tuple(self._held.values())

    def hear(self, sightings: Iterable[Sighting]) -> None:
        """This is all that is heard now. Who is missing has said goodbye or has expired.

        One that is new takes the place of the oldest that no probe has proven. Whoever lost its place that way gets
        one again when there is room, or when it was gone and comes back.
        """
        heard: dict[str, list[Sighting]] = {}
        for sighting in sightings:
            heard.setdefault(sighting.key, []).append(sighting)
        self._held = {key: replace(one, sightings=tuple(heard[key])) for key, one in self._held.items() if key in heard}
        for key in [key for key in heard if key not in self._known and key not in self._held]:
            if len(self._held) < MAX_CANDIDATES or self._push_out():
                self._held[key] = Candidate(key, tuple(heard[key]))
        for key in [key for key in heard if key not in self._held][: MAX_CANDIDATES - len(self._held)]:
            self._held[key] = Candidate(key, tuple(heard[key]))
        self._known = frozenset(heard)

    def _push_out(self) -> bool:
        """Whether there was one to push out."""
        oldest = next((key for key, one in self._held.items() if not one.proven), None)
        if oldest is not None:
            del self._held[oldest]
        return oldest is not None

    def prove(self, key: str) -> None:
        """A probe has shown that this machine is what it says; no announcement of others takes its place now."""
        if key in self._held:
            self._held[key] = replace(self._held[key], proven=True)

    def due(self, now: float) -> tuple[Candidate, ...]:
        """Those to probe now, which counts as done: one probe each in 10 s, and 64 of all of them in that time.

        The second limit is what keeps forged names, each of them new, from making us call somebody without end.
        """
        chosen: list[Candidate] = []
        for key, one in self._held.items():
            if one.probed_at is not None and now - one.probed_at < PROBE_SECONDS:
                continue
            if len(self._probes) == MAX_CANDIDATES and now - self._probes[0] < PROBE_SECONDS:
                break
            self._probes.append(now)
            self._held[key] = replace(one, probed_at=now)
            chosen.append(self._held[key])
        return tuple(chosen)
