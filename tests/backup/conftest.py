"""A state directory as a first start leaves it, and backups of it that cost no time."""

import itertools
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from appliance.backup import making
from appliance.backup.container import Head
from appliance.backup.snapshot import Stop
from appliance.ids import Ids
from appliance.proofs import identity
from appliance.store.defaults import ensure_defaults
from appliance.store.migrate import migrate
from appliance.store.sealing import Sealer

NOW = datetime(2026, 11, 29, 18, 57, 3, 120_000, tzinfo=UTC)
PASSPHRASE = "correct horse battery"


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of a second for each passphrase is for those who guess."""
    monkeypatch.setattr(making, "Head", partial(Head, cost=2))


def installed(state_dir: Path) -> Path:
    """The directory after a first start, with a row that only this installation has."""
    state_dir.mkdir(mode=0o700, exist_ok=True)
    sealer = Sealer.load(state_dir, {})
    numbers = itertools.count(state_dir.stat().st_ino)
    ids = Ids(lambda size: next(numbers).to_bytes(size, "big"))
    with closing(sqlite3.connect(state_dir / "synapse.db", isolation_level=None)) as conn:
        conn.execute("PRAGMA journal_mode = WAL")
        migrate(conn)
        ensure_defaults(conn, NOW, ids)
        identity.load(conn, sealer, random=ids.random, now=NOW)
    (state_dir / "synapse.db").chmod(0o600)
    return state_dir


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return installed(tmp_path / "state")


def backed_up(state_dir: Path, file: Path, *, with_key: bool = True, passphrase: str = PASSPHRASE) -> Path:
    key = (state_dir / "secret.key").read_bytes()
    given = {"with_key": with_key, "version": "0.1.0", "now": NOW}
    with making.made(state_dir, key, passphrase, stop=Stop(), **given) as backup:
        file.write_bytes(b"".join(backup.pieces))
        assert file.stat().st_size == backup.size
    return file


@pytest.fixture
def backup(state_dir: Path, tmp_path: Path) -> Path:
    return backed_up(state_dir, tmp_path / "office.backup")


def rows(state_dir: Path) -> dict[str, list[object]]:
    """Everything that is in the database, but for what a restore adds to the audit table."""
    with closing(sqlite3.connect(f"file:{state_dir / 'synapse.db'}?mode=ro", uri=True)) as conn:
        tables = [row[0] for row in conn.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        found = {table: conn.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
    found["audit"] = [row for row in found["audit"] if row[3] != "backup.restore"]
    return found
