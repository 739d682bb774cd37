import contextlib
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance.backup import making, writing
from appliance.errors import StateError
from tests.backup.conftest import PASSPHRASE


def write(file: Path, content: bytes, size: int | None = None, passphrase: str = PASSPHRASE) -> None:
    with writing.target(file) as target:
        target.expect(len(content))
        for start in range(0, len(content), 100_000):
            target.put(content[start : start + 100_000])
        target.finish(len(content) if size is None else size, passphrase)


def test_a_file_is_written_read_back_and_its_owners_alone(backup: Path, tmp_path: Path):
    content = backup.read_bytes()
    write(tmp_path / "b", content)
    assert (tmp_path / "b").read_bytes() == content
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600


class TestNothingIsLeft:
    """Neither the file nor a half of it."""

    @pytest.fixture
    def target(self, tmp_path: Path):
        (tmp_path / "disk").mkdir()
        yield tmp_path / "disk" / "office.backup"
        assert list((tmp_path / "disk").iterdir()) == []

    def test_where_it_comes_short(self, backup: Path, target: Path):
        content = backup.read_bytes()
        with pytest.raises(StateError, match="bytes instead of"):
            write(target, content[:-1], len(content))

    def test_where_it_comes_damaged(self, backup: Path, target: Path):
        content = bytearray(backup.read_bytes())
        content[-5] ^= 1
        with pytest.raises(StateError, match="damaged"):
            write(target, bytes(content))

    def test_where_it_is_of_another_passphrase(self, backup: Path, target: Path):
        with pytest.raises(StateError, match="passphrase"):
            write(target, backup.read_bytes(), passphrase="another passphrase")

    def test_where_the_disk_does_not_keep_it(self, backup: Path, target: Path, monkeypatch: pytest.MonkeyPatch):
        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StateError, match="No space left"):
            write(target, backup.read_bytes())
        monkeypatch.undo()

    def test_where_there_is_no_room(self, backup: Path, target: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=making.SPARE))
        with pytest.raises(StateError, match="too little disk space for the backup"):
            write(target, backup.read_bytes())
        monkeypatch.undo()

    def test_where_it_is_broken_off(self, backup: Path, target: Path):
        with contextlib.suppress(KeyboardInterrupt), writing.target(target) as opened:
            opened.put(backup.read_bytes()[:1000])
            raise KeyboardInterrupt


def test_a_file_that_came_to_be_meanwhile_stays(backup: Path, tmp_path: Path):
    file = tmp_path / "b"
    content = backup.read_bytes()
    with writing.target(file) as target:
        target.put(content)
        file.write_text("another's")
        with pytest.raises(StateError, match="is there by now"):
            target.finish(len(content), PASSPHRASE)
    assert file.read_text() == "another's"


def test_where_it_may_not_lie(state_dir: Path, tmp_path: Path):
    writing.check_target(tmp_path / "new", state_dir)
    (tmp_path / "there").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "link").symlink_to(state_dir)
    for file, what in (
        (tmp_path / "there", "is there already"),
        (tmp_path / "dangling", "is there already"),
        (tmp_path / "none" / "new", "There is no directory"),
        (state_dir / "new", "would lie in the state directory"),
        (tmp_path / "link" / "new", "would lie in the state directory"),
    ):
        with pytest.raises(StateError, match=what):
            writing.check_target(file, state_dir)


def test_a_directory_that_may_not_be_written_is_told(tmp_path: Path):
    with pytest.raises(StateError, match="cannot be written"), writing.target(tmp_path / "none" / "x"):
        pass
