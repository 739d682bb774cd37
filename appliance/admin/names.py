"""The names that a running daemon knows, asked for while a person waits for the TAB key.

The typed client takes longer to load than all else of a completion takes together: this asks with the standard
library. Knows of the daemon only what `wire` and its like say.
"""

import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TypeVar

import orjson

from appliance.admin import node_wire, policy_wire, wire
from appliance.errors import AdminError
from appliance.parsing import Kind

T = TypeVar("T")

SECONDS = 0.6
"""Of waiting for the daemon: nobody waits longer than a second for the TAB key, and Python has to start too."""

OWN_LANE = "ollama"
"""What the office's own machines are called among the providers."""

_STATES: dict[Kind, tuple[node_wire.NodeState, ...]] = {
    "newcomer": ("candidate", "changed", "rejected", "revoked"),
    "candidate": ("candidate", "changed"),
    "serving node": ("admitted", "active", "unhealthy"),
    "draining node": ("draining",),
    "removable node": ("admitted", "active", "unhealthy", "draining", "rejected", "revoked"),
}
"""Which machines a decision can be about (cluster.md, "States"); on those of the settings file none is taken here."""


@dataclass(frozen=True, slots=True)
class Name:
    """`id` names the same, "" where there is no other; `meaning` says what it is."""

    name: str
    meaning: str = ""
    id: str = ""


def names(admin_socket: Path, kind: Kind) -> tuple[Name, ...]:
    """The names of this kind, none of a kind that the daemon does not know.

    Raises:
        OSError, AdminError: nobody answers in time, or not as the daemon does.
    """
    try:
        return tuple(_names(_Daemon(admin_socket), kind))
    except (HTTPException, orjson.JSONDecodeError) as error:
        raise AdminError("The daemon did not answer properly.", advice="Look in its log.") from error


class _Daemon(HTTPConnection):
    """HTTP over the admin socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("daemon", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(str(self._path))

    def ask(self, cls: type[T], path: str) -> T:
        try:
            self.request("GET", wire.ROOT + path)
            answer = self.getresponse()
            if answer.status != 200:
                raise HTTPException(answer.status)
            return wire.decode(cls, orjson.loads(answer.read()), lenient=True)
        finally:
            self.close()


def _names(daemon: _Daemon, kind: Kind) -> Iterable[Name]:
    match kind:
        case "key" | "working key":
            return _keys(daemon.ask(wire.KeyList, "/keys"), revoked=kind == "key")
        case "workspace":
            return (Name(one.name) for one in daemon.ask(wire.WorkspaceList, "/workspaces").workspaces)
        case "user":
            return (Name(one.name) for one in daemon.ask(wire.UserList, "/users").users)
        case "model":
            machines = daemon.ask(wire.ModelList, "/models").machines
            return (Name(model) for model in sorted({model for one in machines for model in one.models}))
        case "provider" | "lane":
            found = [Name(one.name, one.kind) for one in daemon.ask(policy_wire.ProviderList, "/providers").providers]
            return [Name(OWN_LANE, "your own machines"), *found] if kind == "lane" else found
        case "node" | "newcomer" | "candidate" | "serving node" | "draining node" | "removable node":
            return _nodes(daemon.ask(node_wire.NodeList, "/nodes"), _STATES.get(kind))
        case "certificate":
            proofs = daemon.ask(wire.ProofList, "/proofs").proofs
            return (Name(one.id, f"{one.received} {one.model}") for one in proofs)
        case "file" | "directory":
            return ()


def _keys(found: wire.KeyList, *, revoked: bool) -> Iterator[Name]:
    for key in found.keys:
        if revoked or key.state != "revoked":
            yield Name(key.name, f"{key.user}@{key.workspace}, {key.state}", key.id)


def _nodes(found: node_wire.NodeList, states: tuple[node_wire.NodeState, ...] | None) -> Iterator[Name]:
    for node in found.nodes:
        if states is None or (node.state in states and not node.listed):
            yield Name(node.name, node.state, node.id)
