import asyncio
import sqlite3
import threading
from functools import partial
from pathlib import Path

import pytest

from appliance.admin import backups
from appliance.admin.backup_wire import KeptBackup, NewBackup
from appliance.admin.client import Client
from appliance.admin.wire import InvalidInput
from appliance.backup import last, making, snapshot, writing
from appliance.backup.container import Head
from appliance.backup.snapshot import Stop
from appliance.errors import AdminError, StateError
from appliance.store import audit
from appliance.times import rfc3339
from tests.admin.played import NOW, Daemon
from tests.waiting import until

PASSPHRASE = "correct horse battery"
NEW = NewBackup("/mnt/office.backup", PASSPHRASE)


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "Head", partial(Head, cost=2))


async def taken(daemon: Daemon, new: NewBackup = NEW) -> bytes:
    async with daemon.service.backups.made("zoe", new) as outgoing:
        content = b"".join([piece async for piece in outgoing.pieces])
        assert len(content) == outgoing.size
    return content


async def test_it_is_of_the_database_that_runs(daemon: Daemon, tmp_path: Path):
    (tmp_path / "a.backup").write_bytes(await taken(daemon))
    manifest = writing.verify(tmp_path / "a.backup", PASSPHRASE)
    assert (manifest.created, list(manifest.members)) == (NOW, ["secret.key", "synapse.db"])


async def test_without_keys(daemon: Daemon, tmp_path: Path):
    (tmp_path / "a.backup").write_bytes(await taken(daemon, NewBackup("a", PASSPHRASE, keys=False)))
    assert list(writing.verify(tmp_path / "a.backup", PASSPHRASE).members) == ["synapse.db"]


async def test_who_makes_one_is_written_down_first(daemon: Daemon):
    async with daemon.service.backups.made("zoe", NEW):
        (row,) = await daemon.parts.database.read(lambda conn: audit.newest(conn, limit=1))
    assert (row.who, row.action, row.subject, row.after) == (
        "zoe",
        "backup.make",
        "/mnt/office.backup",
        {"keys": True},
    )
    assert PASSPHRASE not in str(await daemon.parts.database.read(lambda conn: audit.newest(conn, limit=100)))


async def test_calls_are_recorded_while_one_is_taken(daemon: Daemon, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(backups, "PIECES", 1)
    async with daemon.service.backups.made("zoe", NEW) as outgoing:
        await anext(outgoing.pieces)
        await daemon.parts.database.write(lambda conn: conn.execute("UPDATE installation SET created_ms = 1").rowcount)
        assert [piece async for piece in outgoing.pieces]


@pytest.mark.parametrize("passphrase", ["", "elevenchars"])
async def test_a_short_passphrase_is_refused(daemon: Daemon, passphrase: str):
    with pytest.raises(InvalidInput, match="too short"):
        await taken(daemon, NewBackup("a", passphrase))


async def test_one_at_a_time(daemon: Daemon):
    async with daemon.service.backups.made("zoe", NEW):
        with pytest.raises(AdminError, match="made already"):
            await taken(daemon)
    assert await taken(daemon)


async def test_after_a_failure_the_next_can_be_made(daemon: Daemon, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        patch.setattr(making, "SPARE", 10**18)
        with pytest.raises(StateError, match="too little disk space"):
            await taken(daemon)
    assert await taken(daemon)


async def test_where_nobody_waits_any_more_the_copying_ends(daemon: Daemon, monkeypatch: pytest.MonkeyPatch):
    begun = threading.Event()
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"

    def slow(database: Path, into: Path, stop: Stop) -> None:
        conn = sqlite3.connect(":memory:")
        try:
            with stop.during(conn):
                begun.set()
                conn.execute(endless).fetchone()
        finally:
            conn.close()

    with monkeypatch.context() as patch:
        patch.setattr(snapshot, "copy", slow)
        work = asyncio.ensure_future(taken(daemon))
        await until(begun.is_set)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert await taken(daemon)


class TestKept:
    KEPT = KeptBackup(rfc3339(NOW), "/mnt/office.backup", 5, True)

    async def test_it_is_noted_beside_the_database(self, daemon: Daemon, tmp_path: Path):
        assert await daemon.service.backups.kept(self.KEPT) == self.KEPT
        note = last.read(tmp_path)
        assert note is not None
        assert (note.created, note.file, note.bytes, note.keys) == (NOW, "/mnt/office.backup", 5, True)
        assert note.installation

    @pytest.mark.parametrize("created", ["", "yesterday", "2026-11-29T18:57:03", "2026-11-29T18:57:04Z"])
    async def test_a_time_that_is_none_or_to_come(self, daemon: Daemon, tmp_path: Path, created: str):
        with pytest.raises(InvalidInput):
            await daemon.service.backups.kept(KeptBackup(created, "a", 5, True))
        assert last.read(tmp_path) is None

    async def test_where_it_cannot_be_noted(self, daemon: Daemon, monkeypatch: pytest.MonkeyPatch):
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(last, "write", full)
        with pytest.raises(StateError, match="No space left"):
            await daemon.service.backups.kept(self.KEPT)


class TestOverTheSocket:
    async def test_the_client_gets_every_byte(self, client: Client, listening: Daemon, tmp_path: Path):
        async with client.backup(NEW) as (size, pieces):
            content = b"".join([piece async for piece in pieces])
        assert len(content) == size
        (tmp_path / "a.backup").write_bytes(content)
        assert writing.verify(tmp_path / "a.backup", PASSPHRASE).created == NOW
        await client.keep_backup(TestKept.KEPT)
        assert last.read(tmp_path) is not None

    async def test_what_is_refused_is_told(self, client: Client, monkeypatch: pytest.MonkeyPatch):
        with pytest.raises(InvalidInput, match="too short"):
            async with client.backup(NewBackup("a", "short")):
                pass
        monkeypatch.setattr(making, "SPARE", 10**18)
        with pytest.raises(AdminError, match="too little disk space"):
            async with client.backup(NEW):
                pass
