"""The machines that an administrator has decided about: admitted, draining, rejected or revoked."""

import sqlite3
from dataclasses import dataclass, field
from typing import Literal

from appliance.store.sealing import Sealer

Trust = Literal["pinned", "open"]
Kind = Literal["ollama", "openai-compatible"]
State = Literal["admitted", "draining", "rejected", "revoked"]
Way = Literal["key", "words", "administrator"]
"""How a machine was let in: by the cluster key, by its words, or by an administrator's decision alone."""


@dataclass(frozen=True, slots=True)
class NodeRow:
    """`url` is where it was last reached. `certificate` (DER) is of a pinned machine, and `ca` (PEM) and the sealed key
    are of an open one that has them. `slots`: how many calls it says that it can run, None where it does not."""

    id: str
    name: str
    trust: Trust
    kind: Kind
    url: str
    way: Way
    state: State
    changed_ms: int
    certificate: bytes | None = None
    ca: str | None = None
    slots: int | None = None
    sealed: bytes | None = field(default=None, repr=False)

    @property
    def in_use(self) -> bool:
        """Whether it is one of the machines now."""
        return self.state in ("admitted", "draining")


_COLUMNS = "id, name, trust, kind, url, way, state, changed_ms, certificate, ca, slots, sealed"


def put(conn: sqlite3.Connection, row: NodeRow) -> None:
    """Add a machine, or put this in the place of what was known of it."""
    names = _COLUMNS.split(", ")
    conn.execute(
        f"INSERT INTO nodes ({_COLUMNS}) VALUES ({', '.join('?' * len(names))}) ON CONFLICT (id) DO UPDATE SET "
        + ", ".join(f"{name} = excluded.{name}" for name in names[1:]),
        tuple(getattr(row, name) for name in names),
    )


def get(conn: sqlite3.Connection, node_id: str) -> NodeRow | None:
    row = conn.execute(f"SELECT {_COLUMNS} FROM nodes WHERE id = ?", (node_id,)).fetchone()
    return NodeRow(*row) if row else None


def list_all(conn: sqlite3.Connection) -> list[NodeRow]:
    """All of them, in the order in which they were first decided about."""
    return [NodeRow(*row) for row in conn.execute(f"SELECT {_COLUMNS} FROM nodes ORDER BY n")]


def set_url(conn: sqlite3.Connection, node_id: str, url: str) -> None:
    """The machine was reached there."""
    conn.execute("UPDATE nodes SET url = ? WHERE id = ?", (url, node_id))


def remove(conn: sqlite3.Connection, node_id: str) -> None:
    conn.execute("DELETE FROM nodes WHERE id = ?", (node_id,))


def seal_key(sealer: Sealer, node_id: str, key: str) -> bytes:
    return sealer.seal(_secret_name(node_id), key.encode())


def key_of(row: NodeRow, sealer: Sealer) -> str | None:
    """The bearer key in the clear: never logged, shown to nobody. Raises `StateError` where it does not open."""
    return None if row.sealed is None else sealer.open(_secret_name(row.id), row.sealed).decode()


def _secret_name(node_id: str) -> str:
    return f"node/{node_id}"
