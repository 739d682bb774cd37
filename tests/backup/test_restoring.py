import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from appliance.backup import archive, last, making, restoring, snapshot
from appliance.backup.archive import Manifest
from appliance.backup.restoring import Restored
from appliance.errors import StateError
from appliance.store import replacing
from appliance.store.ownership import sole_owner
from appliance.store.sealing import CREDENTIAL
from tests.backup.conftest import NOW, PASSPHRASE, backed_up, installed, rows

LATER = NOW + timedelta(days=3)


def restore(
    file: Path, state_dir: Path, passphrase: str = PASSPHRASE, environ: dict[str, str] | None = None
) -> Restored:
    opened = restoring.opened(file)
    with opened.file, sole_owner(state_dir):
        return restoring.restore(opened, passphrase, state_dir, environ or {}, who="zoe", now=LATER)


def files(state_dir: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in state_dir.iterdir() if path.is_file() and path.name != "lock"}


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return installed(tmp_path / "other")


class TestRestored:
    def test_into_a_directory_that_is_not_there(self, backup: Path, state_dir: Path, tmp_path: Path):
        done = restore(backup, tmp_path / "new" / "state")
        assert done.replaced is None
        assert rows(tmp_path / "new" / "state") == rows(state_dir)
        assert (tmp_path / "new" / "state" / "secret.key").read_bytes() == (state_dir / "secret.key").read_bytes()
        kept = {path.name for path in (tmp_path / "new" / "state").iterdir()}
        assert kept == {"lock", "synapse.db", "secret.key", "keys.json", "backup.json"}
        assert {(tmp_path / "new" / "state" / name).stat().st_mode & 0o777 for name in kept} == {0o600}

    def test_over_another_installation_which_is_kept(self, backup: Path, state_dir: Path, other: Path):
        (other / "synapse.db-wal").write_bytes(b"")
        (other / "synapse.db.schema-3").write_bytes(b"older still")
        before, of_backup = files(other), rows(state_dir)
        done = restore(backup, other)
        assert done.replaced == other / "replaced-20261202T185703Z"
        assert files(done.replaced) == before
        assert rows(other) == of_backup

    def test_who_did_it_is_in_the_audit_table(self, backup: Path, other: Path):
        restore(backup, other)
        with closing(sqlite3.connect(other / "synapse.db")) as conn:
            who, action, after = conn.execute("SELECT who, action, after FROM audit ORDER BY n DESC LIMIT 1").fetchone()
        assert (who, action) == ("zoe", "backup.restore")
        assert "2026-11-29T18:57:03.120Z" in after
        assert str(backup) in after

    def test_the_newest_backup_is_then_the_restored_one(self, backup: Path, state_dir: Path):
        """Not the one of the state that was replaced, which may be newer."""
        newer = last.LastBackup(LATER, "newer", 5, True, "x")
        last.write(state_dir, newer)
        done = restore(backup, state_dir)
        found = last.read(state_dir)
        assert found is not None
        assert (found.created, found.file) == (NOW, str(backup))
        assert done.replaced is not None
        assert last.read(done.replaced) == newer

    def test_the_public_keys_are_those_of_the_backup(self, backup: Path, state_dir: Path, other: Path):
        key = (state_dir / "secret.key").read_bytes()
        restore(backup, other)
        expected = snapshot.check(other / "synapse.db", key, snapshot.Stop()).public_keys
        assert (other / "keys.json").read_bytes() == expected

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    def test_by_root_it_belongs_to_whom_the_directory_belongs(self, backup: Path, other: Path):
        for path in (other, *other.iterdir()):
            os.chown(path, 12345, 12346)
        done = restore(backup, other)
        assert done.replaced is not None
        found = [*other.iterdir(), *done.replaced.iterdir()]
        assert {(path.stat().st_uid, path.stat().st_gid) for path in found} == {(12345, 12346)}

    def test_an_older_schema(self, state_dir: Path, other: Path, tmp_path: Path):
        with closing(sqlite3.connect(state_dir / "synapse.db")) as conn:
            conn.execute("PRAGMA user_version = 3")
        restore(backed_up(state_dir, tmp_path / "old"), other)
        with closing(sqlite3.connect(other / "synapse.db")) as conn:
            assert conn.execute("PRAGMA user_version").fetchone() == (3,)


class TestRefused:
    """And nothing has changed."""

    @pytest.fixture(autouse=True)
    def unchanged(self, other: Path):
        before = files(other)
        yield
        assert files(other) == before
        assert [path.name for path in other.iterdir() if path.is_dir()] == []

    def test_a_wrong_passphrase(self, backup: Path, other: Path):
        with pytest.raises(StateError, match="The passphrase is wrong"):
            restore(backup, other, "another passphrase")

    @pytest.mark.parametrize("share", [0.5, 0.9, 0.999])
    def test_a_file_that_is_cut(self, backup: Path, other: Path, share: float):
        backup.write_bytes(backup.read_bytes()[: int(backup.stat().st_size * share)])
        with pytest.raises(StateError, match="damaged"):
            restore(backup, other)

    @pytest.mark.parametrize("place", [20, 200, 70_000, -1])
    def test_a_byte_that_was_changed(self, backup: Path, other: Path, place: int):
        content = bytearray(backup.read_bytes())
        content[place] ^= 0x40
        backup.write_bytes(content)
        with pytest.raises(StateError, match="damaged"):
            restore(backup, other)

    def test_a_newer_schema_before_the_passphrase_is_asked(self, backup: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(snapshot, "migrations", lambda: [(3, "")])
        with pytest.raises(StateError, match="this version knows schemas up to 3"):
            restoring.opened(backup)

    def test_a_manifest_that_names_another_database(
        self, state_dir: Path, other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        for wrong in ({"installation": "another"}, {"schema": 3}):
            real = archive.Manifest

            def named(*given: Any, wrong: dict[str, Any] = wrong, real: type[Manifest] = real) -> Manifest:
                return replace(real(*given), **wrong)

            with monkeypatch.context() as patch:
                patch.setattr(archive, "Manifest", named)
                backed_up(state_dir, tmp_path / "wrong")
            with pytest.raises(StateError, match="its database is not the one that it names"):
                restore(tmp_path / "wrong", other)

    def test_what_is_no_backup(self, other: Path, tmp_path: Path):
        with pytest.raises(StateError, match="is no backup"):
            restore(other / "secret.key", other)
        with pytest.raises(StateError, match="cannot be read"):
            restore(tmp_path / "none", other)

    def test_while_a_daemon_owns_the_directory(self, backup: Path, other: Path):
        with sole_owner(other), pytest.raises(StateError, match="Another daemon uses"):
            restore(backup, other)

    def test_without_room(self, backup: Path, other: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=making.SPARE))
        with pytest.raises(StateError, match="too little disk space for what the backup holds"):
            restore(backup, other)

    def test_where_the_disk_fails(self, backup: Path, other: Path, monkeypatch: pytest.MonkeyPatch):
        def fails(_: Path, __: Path) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(restoring, "_settle", fails)
        with pytest.raises(StateError, match="Input/output error"):
            restore(backup, other)


class TestWithoutKeys:
    @pytest.fixture
    def bare(self, state_dir: Path, tmp_path: Path) -> Path:
        return backed_up(state_dir, tmp_path / "bare", with_key=False)

    def test_it_goes_with_the_key_that_is_here(self, bare: Path, state_dir: Path):
        key, before = (state_dir / "secret.key").read_bytes(), rows(state_dir)
        done = restore(bare, state_dir)
        assert rows(state_dir) == before
        assert (state_dir / "secret.key").read_bytes() == key
        assert done.replaced is not None
        assert (done.replaced / "secret.key").read_bytes() == key

    def test_without_that_key_it_is_refused(self, bare: Path, other: Path, tmp_path: Path):
        with pytest.raises(StateError, match=r"has no secret\.key"):
            restore(bare, tmp_path / "empty")
        before = files(other)
        with pytest.raises(StateError, match="does not open with this key file"):
            restore(bare, other)
        assert files(other) == before


class TestCredential:
    def given(self, directory: Path, key: bytes) -> dict[str, str]:
        directory.mkdir()
        (directory / CREDENTIAL).write_bytes(key)
        return {"CREDENTIALS_DIRECTORY": str(directory)}

    def test_the_same_key_need_not_lie_in_a_file(self, backup: Path, state_dir: Path, tmp_path: Path):
        environ = self.given(tmp_path / "given", (state_dir / "secret.key").read_bytes())
        restore(backup, tmp_path / "new", environ=environ)
        assert not (tmp_path / "new" / "secret.key").exists()

    def test_another_key_is_refused(self, backup: Path, tmp_path: Path):
        environ = self.given(tmp_path / "given", bytes(32))
        with pytest.raises(StateError, match="another key than the backup's"):
            restore(backup, tmp_path / "new", environ=environ)
        assert not (tmp_path / "new" / "synapse.db").exists()


def test_a_crash_after_the_decision_is_finished_by_the_next_owner(
    backup: Path, state_dir: Path, other: Path, monkeypatch: pytest.MonkeyPatch
):
    class Crash(BaseException):
        pass

    def dies(*_: Path) -> None:
        raise Crash

    monkeypatch.setattr(replacing, "_move_in", dies)
    with pytest.raises(Crash):
        restore(backup, other)
    monkeypatch.undo()
    assert replacing.decided(other)
    with sole_owner(other):
        assert rows(other) == rows(state_dir)
