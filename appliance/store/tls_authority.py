"""The CA of this installation: its certificate, and its private key, sealed. A backup holds both."""

import sqlite3

from appliance.store.sealing import Sealer

_NAME = "tls-authority"


def get(conn: sqlite3.Connection, sealer: Sealer) -> tuple[bytes, bytes] | None:
    """Certificate and private key, both DER; None before it is made. Raises `StateError`: it does not open."""
    row = conn.execute("SELECT certificate, sealed FROM tls_authority").fetchone()
    return None if row is None else (row[0], sealer.open(_NAME, row[1]))


def put(conn: sqlite3.Connection, sealer: Sealer, certificate: bytes, key: bytes) -> None:
    """Raises `sqlite3.IntegrityError` where there is one already."""
    sealed = sealer.seal(_NAME, key)
    conn.execute("INSERT INTO tls_authority (n, certificate, sealed) VALUES (1, ?, ?)", (certificate, sealed))


def remove(conn: sqlite3.Connection) -> bool:
    """Forget it, so that the next start makes another; whether there was one."""
    return conn.execute("DELETE FROM tls_authority").rowcount > 0
