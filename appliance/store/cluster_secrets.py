"""What nodes trust: the gateway's own certificate with its key, and the cluster key in force; both sealed."""

import sqlite3
from dataclasses import dataclass, field

from appliance.store.sealing import Sealer

_IDENTITY = "gateway-identity"
_CLUSTER_KEY = "cluster-key"


@dataclass(frozen=True, slots=True)
class ClusterKeyRow:
    """`secret` in the clear: never logged. `uses`: how many nodes may still join with it, None for any number."""

    secret: bytes = field(repr=False)
    created_ms: int
    expires_ms: int | None
    uses: int | None

    def usable(self, now_ms: int) -> bool:
        return (self.expires_ms is None or now_ms < self.expires_ms) and (self.uses is None or self.uses > 0)


def identity(conn: sqlite3.Connection, sealer: Sealer) -> tuple[bytes, bytes] | None:
    """Certificate and private key, both DER; None before they are made. Raises `StateError`: it does not open."""
    row = conn.execute("SELECT certificate, sealed FROM gateway_identity").fetchone()
    return None if row is None else (row[0], sealer.open(_IDENTITY, row[1]))


def put_identity(conn: sqlite3.Connection, sealer: Sealer, certificate: bytes, key: bytes) -> None:
    """Raises `sqlite3.IntegrityError` where there is one already."""
    sealed = sealer.seal(_IDENTITY, key)
    conn.execute("INSERT INTO gateway_identity (n, certificate, sealed) VALUES (1, ?, ?)", (certificate, sealed))


def cluster_key(conn: sqlite3.Connection, sealer: Sealer) -> ClusterKeyRow | None:
    """The key that was made last, usable or not; None where there is none. Raises `StateError`: it does not open."""
    row = conn.execute("SELECT sealed, created_ms, expires_ms, uses FROM cluster_key").fetchone()
    return None if row is None else ClusterKeyRow(sealer.open(_CLUSTER_KEY, row[0]), *row[1:])


def put_cluster_key(conn: sqlite3.Connection, sealer: Sealer, row: ClusterKeyRow) -> None:
    """In the place of the one before."""
    remove_cluster_key(conn)
    conn.execute(
        "INSERT INTO cluster_key (n, sealed, created_ms, expires_ms, uses) VALUES (1, ?, ?, ?, ?)",
        (sealer.seal(_CLUSTER_KEY, row.secret), row.created_ms, row.expires_ms, row.uses),
    )


def use_cluster_key(conn: sqlite3.Connection) -> None:
    """One more node has joined with it."""
    conn.execute("UPDATE cluster_key SET uses = uses - 1 WHERE uses > 0")


def remove_cluster_key(conn: sqlite3.Connection) -> None:
    conn.execute("DELETE FROM cluster_key")
