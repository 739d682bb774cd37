import sqlite3
from dataclasses import replace

import pytest

from appliance.errors import StateError
from appliance.store import cluster_secrets as secrets
from appliance.store.cluster_secrets import ClusterKeyRow
from appliance.store.sealing import Sealer

SEALER = Sealer(bytes(32))
KEY = ClusterKeyRow(b"a secret of 20 bytes", 5, 10, 2)


def test_the_gateways_identity_is_made_once_and_sealed(conn: sqlite3.Connection):
    assert secrets.identity(conn, SEALER) is None
    secrets.put_identity(conn, SEALER, b"certificate", b"private key")
    assert secrets.identity(conn, SEALER) == (b"certificate", b"private key")
    assert b"private key".hex() not in "\n".join(conn.iterdump()).lower()
    with pytest.raises(StateError):
        secrets.identity(conn, Sealer(bytes(31) + b"x"))
    with pytest.raises(sqlite3.IntegrityError):
        secrets.put_identity(conn, SEALER, b"another", b"key")


def test_there_is_one_cluster_key_at_a_time_and_it_is_sealed(conn: sqlite3.Connection):
    assert secrets.cluster_key(conn, SEALER) is None
    secrets.put_cluster_key(conn, SEALER, replace(KEY, secret=b"the one before it"))
    secrets.put_cluster_key(conn, SEALER, KEY)
    assert secrets.cluster_key(conn, SEALER) == KEY
    assert KEY.secret.hex() not in "\n".join(conn.iterdump()).lower()
    assert "secret" not in repr(KEY)
    secrets.remove_cluster_key(conn)
    assert secrets.cluster_key(conn, SEALER) is None


def test_uses_are_counted_down_to_nothing(conn: sqlite3.Connection):
    secrets.put_cluster_key(conn, SEALER, KEY)
    for left in (1, 0, 0):
        secrets.use_cluster_key(conn)
        found = secrets.cluster_key(conn, SEALER)
        assert found is not None
        assert found.uses == left
    assert not found.usable(6)
    secrets.put_cluster_key(conn, SEALER, replace(KEY, uses=None))
    secrets.use_cluster_key(conn)
    assert secrets.cluster_key(conn, SEALER) == replace(KEY, uses=None)


def test_when_a_key_can_be_used():
    assert KEY.usable(9)
    assert not KEY.usable(10)
    assert replace(KEY, expires_ms=None, uses=None).usable(10**15)
