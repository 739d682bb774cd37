import secrets
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.errors import StateError
from appliance.proofs import identity, log
from appliance.proofs.envelope import KEY
from appliance.store import log_entries
from appliance.store.migrate import migrate
from appliance.store.sealing import Sealer

NOW = datetime(2026, 11, 29, tzinfo=UTC)


@pytest.fixture
def sealer(tmp_path: Path) -> Sealer:
    return Sealer.load(tmp_path, {})


def load(conn: sqlite3.Connection, sealer: Sealer) -> identity.Identity:
    return identity.load(conn, sealer, random=secrets.token_bytes, now=NOW)


def test_an_identity_is_made_once_and_kept(conn: sqlite3.Connection, sealer: Sealer):
    first, second = load(conn, sealer), load(conn, sealer)
    assert (first.origin, first.signer.keyid) == (second.origin, second.signer.keyid)
    assert first.origin.endswith("/synapse")


def test_two_installations_share_nothing(sealer: Sealer):
    made: list[identity.Identity] = []
    for _ in range(2):
        other = sqlite3.connect(":memory:", isolation_level=None)
        migrate(other)
        made.append(load(other, sealer))
        other.close()
    assert made[0].origin != made[1].origin
    assert made[0].signer.keyid != made[1].signer.keyid


def test_the_first_entry_announces_the_key_and_is_signed_by_it(conn: sqlite3.Connection, sealer: Sealer):
    load(conn, sealer)
    keys = identity.public_keys(conn)
    assert [(key.first, key.last, key.status) for key in keys.keys] == [(0, None, "active")]
    row = log_entries.get(conn, 0)
    assert row is not None
    entry = log.signed(row)
    assert entry.payload_type == KEY
    assert entry.payload["key"]["kid"] == keys.keys[0].keyid  # type: ignore[index]  a JSON object
    assert keys.keys[0].verifies(entry.signature, entry.message)


def test_the_private_key_is_not_in_the_database(conn: sqlite3.Connection, sealer: Sealer):
    load(conn, sealer)
    (row,) = conn.execute("SELECT sealed, keyid FROM signing_keys").fetchall()
    private = sealer.open(f"signing-key/{row[1]}", row[0])
    assert private not in conn.serialize()


def test_the_wrong_key_file_is_told(conn: sqlite3.Connection, sealer: Sealer, tmp_path: Path):
    load(conn, sealer)
    (tmp_path / "other").mkdir()
    with pytest.raises(StateError, match=r"secret\.key"):
        load(conn, Sealer.load(tmp_path / "other", {}))


def test_a_database_that_lost_its_key_is_told(conn: sqlite3.Connection, sealer: Sealer):
    load(conn, sealer)
    conn.execute("DELETE FROM signing_keys")
    with pytest.raises(StateError, match="Restore"):
        load(conn, sealer)
