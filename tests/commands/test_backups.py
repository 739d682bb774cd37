import asyncio
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from appliance.admin import peers
from appliance.backup import last, making, writing
from appliance.backup.archive import Manifest
from appliance.commands import backups
from appliance.commands.backups import Given
from appliance.commands.outcome import Outcome
from appliance.errors import AdminError, StateError
from appliance.settings import Settings, load
from appliance.store.ownership import sole_owner
from tests.admin.played import Daemon
from tests.backup.conftest import NOW, PASSPHRASE, cheap, installed, rows

__all__ = ["cheap"]  # every backup here


def settings(state_dir: Path, socket: Path | None = None) -> Settings:
    named = {"SYNAPSE_STATE_DIR": str(state_dir)}
    return load(None, named | ({"SYNAPSE_ADMIN_SOCKET": str(socket)} if socket else {}), system_file=Path("/none"))


@pytest.fixture
def given(tmp_path: Path) -> Given:
    (tmp_path / "pass").write_text(PASSPHRASE)
    return Given(str(tmp_path / "pass"), stdin=False)


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return installed(tmp_path / "installed")


class TestWithTheDaemonStopped:
    def make(self, state_dir: Path, file: Path, given: Given, *, keys: bool = True) -> Outcome:
        return backups.make(settings(state_dir), {}, lambda: NOW, file, given, keys=keys)

    def test_there_and_back(self, state_dir: Path, tmp_path: Path, given: Given):
        file = tmp_path / "a.backup"
        made = self.make(state_dir, file, given)
        assert made.document == {
            "file": str(file),
            "bytes": file.stat().st_size,
            "created": "2026-11-29T18:57:03.120Z",
            "version": made.document["version"],
            "schema": made.document["schema"],
            "installation": made.document["installation"],
            "keys": True,
        }
        assert made.lines[0].startswith(f"Backup {file} is written and read back: ")
        done = backups.restore(settings(tmp_path / "new"), {}, lambda: NOW, file, given)
        assert rows(tmp_path / "new") == rows(state_dir)
        assert done.document["replaced"] is None
        assert done.lines == (f"The state of 2026-11-29 18:57Z is restored in {tmp_path / 'new'}.",)
        again = backups.restore(settings(tmp_path / "new"), {}, lambda: NOW, file, given)
        assert again.document["replaced"] == str(tmp_path / "new" / "replaced-20261129T185703Z")
        assert "is kept in" in again.lines[1]

    def test_it_is_noted(self, state_dir: Path, tmp_path: Path, given: Given):
        made = self.make(state_dir, tmp_path / "a.backup", given)
        note = last.read(state_dir)
        assert note is not None
        assert (note.created, note.file, note.keys) == (NOW, str(tmp_path / "a.backup"), True)
        assert note.installation == made.document["installation"]

    def test_where_it_cannot_be_noted_it_is_good_all_the_same(
        self, state_dir: Path, tmp_path: Path, given: Given, monkeypatch: pytest.MonkeyPatch
    ):
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(last, "write", full)
        made = self.make(state_dir, tmp_path / "a.backup", given)
        assert (made.code, (tmp_path / "a.backup").exists()) == (0, True)
        assert "synapse doctor will not know of it" in " ".join(made.notes)

    def test_without_keys_says_what_else_to_keep(self, state_dir: Path, tmp_path: Path, given: Given):
        made = self.make(state_dir, tmp_path / "a.backup", given, keys=False)
        assert made.document["keys"] is False
        assert "secret.key is not in it" in " ".join(made.notes)

    def test_while_another_owns_the_directory(self, state_dir: Path, tmp_path: Path, given: Given):
        with sole_owner(state_dir), pytest.raises(StateError, match="Another daemon"):
            self.make(state_dir, tmp_path / "a.backup", given)

    def test_nothing_is_made_where_there_is_nothing(self, tmp_path: Path, given: Given):
        with pytest.raises(StateError, match="There is no state directory"):
            self.make(tmp_path / "none", tmp_path / "a.backup", given)
        assert not (tmp_path / "none").exists()

    def test_a_key_that_is_not_there_is_not_made(self, state_dir: Path, tmp_path: Path, given: Given):
        (state_dir / "secret.key").unlink()
        with pytest.raises(StateError, match=r"There is no secret\.key"):
            self.make(state_dir, tmp_path / "a.backup", given)
        assert not (state_dir / "secret.key").exists()

    def test_a_file_that_is_there_is_refused_before_the_passphrase_is_asked(self, state_dir: Path, tmp_path: Path):
        (tmp_path / "a.backup").write_text("another")
        with pytest.raises(StateError, match="is there already"):
            self.make(state_dir, tmp_path / "a.backup", Given(None, stdin=False))

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    def test_root_leaves_nothing_that_the_daemons_user_cannot_use(self, state_dir: Path, tmp_path: Path, given: Given):
        for path in (state_dir, *state_dir.iterdir()):
            os.chown(path, 12345, 12345)
        self.make(state_dir, tmp_path / "a.backup", given)
        assert {path.stat().st_uid for path in state_dir.iterdir()} == {12345}


class TestThroughTheDaemon:
    @pytest.fixture
    def hasty(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A daemon that gives an idle connection up at once."""
        monkeypatch.setattr(peers, "KEEP_ALIVE_SECONDS", 0.05)

    async def make(self, daemon: Daemon, file: Path, given: Given) -> Outcome:
        given_settings = settings(file.parent / "not-used", daemon.socket)
        return await asyncio.to_thread(backups.make, given_settings, {}, lambda: NOW, file, given, keys=True)

    async def test_there_and_back(self, listening: Daemon, tmp_path: Path, given: Given):
        made = await self.make(listening, tmp_path / "a.backup", given)
        assert made.document["keys"] is True
        note = last.read(tmp_path)
        assert note is not None
        assert (note.file, note.bytes) == (str(tmp_path / "a.backup"), made.document["bytes"])
        done = backups.restore(settings(tmp_path / "new"), {}, lambda: NOW, tmp_path / "a.backup", given)
        assert done.document["installation"] == made.document["installation"]
        assert (tmp_path / "new" / "secret.key").read_bytes() == bytes(32)

    async def test_it_is_noted_however_long_it_is_read_back(
        self, hasty: None, listening: Daemon, tmp_path: Path, given: Given, monkeypatch: pytest.MonkeyPatch
    ):
        real = writing.verify

        def slow(file: Path, passphrase: str) -> Manifest:
            time.sleep(0.3)
            return real(file, passphrase)

        monkeypatch.setattr(writing, "verify", slow)
        made = await self.make(listening, tmp_path / "a.backup", given)
        assert "will not know" not in " ".join(made.notes)
        assert last.read(tmp_path) is not None

    async def test_where_it_is_not_noted_it_is_good_all_the_same(
        self, listening: Daemon, tmp_path: Path, given: Given, monkeypatch: pytest.MonkeyPatch
    ):
        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(last, "write", full)
        made = await self.make(listening, tmp_path / "a.backup", given)
        assert (tmp_path / "a.backup").exists()
        assert "will not know of it" in " ".join(made.notes)

    async def test_what_breaks_off_leaves_nothing(
        self, listening: Daemon, tmp_path: Path, given: Given, monkeypatch: pytest.MonkeyPatch
    ):
        def breaks(*given: object) -> object:
            yield b"synapse-backup 1\n"
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(making.container, "sealed", breaks)
        with pytest.raises(AdminError, match="did not answer properly"):
            await self.make(listening, tmp_path / "a.backup", given)
        assert [name for name in os.listdir(tmp_path) if "a.backup" in name] == []  # noqa: PTH208

    async def test_the_daemon_says_why_not(
        self, listening: Daemon, tmp_path: Path, given: Given, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(making, "SPARE", 10**18)
        with pytest.raises(AdminError, match="too little disk space for a copy of the database"):
            await self.make(listening, tmp_path / "a.backup", given)


class TestRestore:
    def test_a_file_that_is_none_makes_no_directory(self, tmp_path: Path, given: Given):
        (tmp_path / "x").write_text("x")
        with pytest.raises(StateError, match="is no backup"):
            backups.restore(settings(tmp_path / "new"), {}, lambda: NOW, tmp_path / "x", given)
        assert not (tmp_path / "new").exists()

    def test_it_says_what_is_not_in_it(self, state_dir: Path, tmp_path: Path, given: Given):
        backups.make(settings(state_dir), {}, lambda: NOW, tmp_path / "a", given, keys=True)
        later = NOW + timedelta(days=1)
        done = backups.restore(settings(state_dir), {}, lambda: later, tmp_path / "a", given)
        assert "keys revoked since work again" in " ".join(done.notes)
        assert all(len(line) <= 80 for line in done.notes)
