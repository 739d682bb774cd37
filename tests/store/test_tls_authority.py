import sqlite3

import pytest

from appliance.errors import StateError
from appliance.store import tls_authority
from appliance.store.sealing import Sealer

SEALER = Sealer(b"k" * 32)


def test_it_is_kept_sealed_and_forgotten(conn: sqlite3.Connection):
    assert tls_authority.get(conn, SEALER) is None
    tls_authority.put(conn, SEALER, b"certificate", b"a private key")
    assert tls_authority.get(conn, SEALER) == (b"certificate", b"a private key")
    assert b"private" not in conn.execute("SELECT sealed FROM tls_authority").fetchone()[0]
    with pytest.raises(StateError):
        tls_authority.get(conn, Sealer(b"x" * 32))
    assert tls_authority.remove(conn)
    assert not tls_authority.remove(conn)
    assert tls_authority.get(conn, SEALER) is None


def test_there_is_one(conn: sqlite3.Connection):
    tls_authority.put(conn, SEALER, b"certificate", b"key")
    with pytest.raises(sqlite3.IntegrityError):
        tls_authority.put(conn, SEALER, b"another", b"key")
