"""What the admin API says of machines and of the cluster key. Imports no more than `wire` does.

Ids and words: cluster.md, "Node agent and trust".
"""

from dataclasses import dataclass
from typing import Literal

NodeState = Literal["candidate", "changed", "admitted", "active", "unhealthy", "draining", "rejected", "revoked"]
"""cluster.md, "States". `admitted`: let in, and not asked yet."""

NodeKind = Literal["ollama", "openai-compatible"]
NODE_KINDS: tuple[NodeKind, ...] = ("ollama", "openai-compatible")


@dataclass(frozen=True, slots=True)
class Node:
    """One machine, or one that may become one. `why`: in a sentence, why it is not used, or what to look out for; None
    when there is nothing to say. `words` are of its key, empty where it has none. `listed`: by the settings file, so
    that it is changed there. `way`: how it was let in. `roles`: whose models it has (`full`, `fast`, `local`,
    `embedding`), which is what it is used for."""

    id: str
    name: str
    state: NodeState
    trust: Literal["loopback", "pinned", "open"]
    kind: NodeKind
    url: str
    engine: str
    models: tuple[str, ...]
    slots: int
    in_flight: int
    words: tuple[str, ...] = ()
    listed: bool = False
    way: Literal["key", "words", "administrator"] | None = None
    roles: tuple[str, ...] = ()
    why: str | None = None


@dataclass(frozen=True, slots=True)
class NodeList:
    """`gateway_id` and `gateway_words` are what a node is given so that it lets this gateway in. `discovery`: in a
    sentence, why no machines are heard, None while they are."""

    nodes: tuple[Node, ...]
    gateway_id: str
    gateway_words: tuple[str, ...]
    waiting: int
    discovery: str | None = None


@dataclass(frozen=True, slots=True)
class NewNode:
    """A machine by its address. `ca`: certificates in PEM to trust there instead of this system's. None for `slots`:
    what it says by itself, else the default."""

    url: str
    kind: NodeKind = "ollama"
    name: str | None = None
    key: str | None = None
    ca: str | None = None
    slots: int | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """A candidate to be let in. `words`: all eight that it shows, or the last two where a person has compared the
    others with what is shown here; None for one without a key."""

    node: str
    words: str | None = None


@dataclass(frozen=True, slots=True)
class NodeRef:
    """An id, its beginning, or a name."""

    node: str


@dataclass(frozen=True, slots=True)
class NewClusterKey:
    """None for both: it expires after the default time."""

    uses: int | None = None
    expires: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterKey:
    """`key` is what a node is given; whoever has it can put a machine into the cluster, and cannot pose as the gateway.
    `uses`: how many may still join, None for any number."""

    key: str
    created: str
    expires: str | None
    uses: int | None
    usable: bool
    gateway_words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CurrentClusterKey:
    """None: there is none."""

    key: ClusterKey | None


@dataclass(frozen=True, slots=True)
class RevokedClusterKey:
    """`was`: whether there was one."""

    was: bool
