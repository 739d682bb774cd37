import fcntl
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.commands import tls
from appliance.errors import AdminError, StateError
from appliance.settings import Settings, load
from appliance.store import audit, tls_authority
from appliance.store.migrate import migrate
from appliance.store.sealing import Sealer

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SEALER = Sealer(b"k" * 32)


def opened(settings: Settings) -> "closing[sqlite3.Connection]":
    return closing(sqlite3.connect(settings.state_dir / "synapse.db", isolation_level=None))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of an installation with a CA, whose daemon is down."""
    (tmp_path / "run").mkdir()
    (tmp_path / "lock").touch()
    named = {"SYNAPSE_STATE_DIR": str(tmp_path), "SYNAPSE_ADMIN_SOCKET": str(tmp_path / "run" / "admin.sock")}
    found = load(None, named, system_file=tmp_path / "none.toml")
    with opened(found) as conn:
        migrate(conn)
        tls_authority.put(conn, SEALER, b"certificate", b"key")
    (tmp_path / "ca.pem").write_bytes(b"-----BEGIN CERTIFICATE-----\n")
    return found


def test_the_ca_is_written_as_it_is_with_what_tools_are_told(settings: Settings):
    outcome = tls.ca(settings)
    assert outcome.raw == b"-----BEGIN CERTIFICATE-----\n"
    for how in ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "curl --cacert", "certutil", "security"):
        assert how in "\n".join(outcome.notes)


def test_who_may_not_read_the_state_finds_it_beside_the_socket(settings: Settings):
    (settings.state_dir / "ca.pem").rename(settings.state_dir / "run" / "ca.pem")
    assert tls.ca(settings).raw == b"-----BEGIN CERTIFICATE-----\n"


def test_without_a_ca_it_says_where_one_comes_from(settings: Settings):
    (settings.state_dir / "ca.pem").unlink()
    with pytest.raises(AdminError, match=r'There is no CA.*gateway\.tls = "auto"'):
        tls.ca(settings)


def test_one_that_may_not_be_read_is_told_as_such(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(AdminError, match=r"Permission denied.*as root"):
        tls.ca(settings)


def test_a_forgotten_ca_is_in_no_place_any_more_and_in_the_audit(settings: Settings):
    (settings.state_dir / "run" / "ca.pem").touch()
    assert "forgotten" in tls.new_ca(settings, lambda: NOW).lines[0]
    with opened(settings) as conn:
        assert tls_authority.get(conn, SEALER) is None
        assert [row.action for row in audit.newest(conn, limit=5)] == ["tls.new-ca"]
    assert list(settings.state_dir.rglob("ca.pem")) == []
    with pytest.raises(AdminError, match="There is no CA"):
        tls.new_ca(settings, lambda: NOW)


def test_beside_a_daemon_it_is_refused(settings: Settings):
    with (settings.state_dir / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StateError, match="daemon is running"):
            tls.new_ca(settings, lambda: NOW)


def test_another_user_is_told_whose_it_is(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "geteuid", lambda: settings.state_dir.stat().st_uid + 1)
    with pytest.raises(StateError, match="sudo -u"):
        tls.new_ca(settings, lambda: NOW)


@pytest.mark.parametrize("damage", ["nothing", "no lock"])
def test_a_database_that_cannot_be_changed_is_told(settings: Settings, damage: str):
    (settings.state_dir / "synapse.db").write_bytes(b"no database" * 100)
    if damage == "no lock":
        (settings.state_dir / "lock").unlink()
    with pytest.raises(StateError, match="cannot be forgotten"):
        tls.new_ca(settings, lambda: NOW)
