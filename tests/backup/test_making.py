import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from appliance.backup import making, writing
from appliance.backup.snapshot import Stop
from appliance.errors import StateError
from tests.backup.conftest import NOW, PASSPHRASE, backed_up, installed

GIVEN: dict[str, Any] = {"with_key": True, "version": "0.1.0", "now": NOW}


def make(state_dir: Path, key: bytes | None = None, stop: Stop | None = None) -> bytes:
    key = (state_dir / "secret.key").read_bytes() if key is None else key
    with making.made(state_dir, key, PASSPHRASE, stop=stop or Stop(), **GIVEN) as backup:
        return b"".join(backup.pieces)


def test_it_holds_database_and_key_and_says_so(state_dir: Path, tmp_path: Path):
    manifest = writing.verify(backed_up(state_dir, tmp_path / "a"), PASSPHRASE)
    assert list(manifest.members) == ["secret.key", "synapse.db"]
    assert (manifest.version, manifest.created) == ("0.1.0", NOW)
    assert list(writing.verify(backed_up(state_dir, tmp_path / "b", with_key=False), PASSPHRASE).members) == [
        "synapse.db"
    ]


def test_the_copy_has_no_name_while_it_is_sent(state_dir: Path):
    key = (state_dir / "secret.key").read_bytes()
    before = {path.name for path in state_dir.iterdir()}
    with making.made(state_dir, key, PASSPHRASE, stop=Stop(), **GIVEN) as backup:
        assert {path.name for path in state_dir.iterdir()} - before <= {"synapse.db-wal", "synapse.db-shm"}
        assert next(backup.pieces).startswith(b"synapse-backup 1\n")


def test_neither_key_nor_content_can_be_read_in_it(state_dir: Path):
    made = make(state_dir)
    assert (state_dir / "secret.key").read_bytes() not in made
    assert b"SQLite format 3" not in made
    assert b"manifest.json" not in made


def test_two_of_the_same_have_nothing_in_common(state_dir: Path):
    first, second = make(state_dir), make(state_dir)
    assert len(first) == len(second)
    assert first[-64:] != second[-64:]


class TestRefused:
    def test_without_a_database(self, tmp_path: Path):
        with pytest.raises(StateError, match="There is no database"):
            make(tmp_path, bytes(32))

    def test_with_the_key_of_another(self, state_dir: Path, tmp_path: Path):
        other = installed(tmp_path / "other")
        with pytest.raises(StateError, match="does not open with this key file"):
            make(state_dir, (other / "secret.key").read_bytes())
        assert not (state_dir / "backup.part").exists()

    def test_a_damaged_database(self, state_dir: Path):
        file = state_dir / "synapse.db"
        with closing(sqlite3.connect(file)) as conn:
            conn.execute("PRAGMA journal_mode = DELETE")
        content = bytearray(file.read_bytes())
        content[4096 * 3 : 4096 * 9] = b"\xff" * 4096 * 6
        file.write_bytes(content)
        with pytest.raises(StateError, match=r"cannot be copied|damaged|cannot be read"):
            make(state_dir)
        assert not (state_dir / "backup.part").exists()

    def test_without_room_before_anything_is_written(self, state_dir: Path, monkeypatch: pytest.MonkeyPatch):
        size = making.bytes_of(state_dir / "synapse.db")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=size + making.SPARE - 1))
        with pytest.raises(StateError, match=r"too little disk space .* are needed in .* are free") as caught:
            make(state_dir)
        assert caught.value.advice == "Free some there, or use another disk."
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=size + making.SPARE))
        assert make(state_dir)

    def test_when_it_is_to_stop(self, state_dir: Path):
        stop = Stop()
        stop.stop()
        with pytest.raises(StateError, match="interrupted"):
            make(state_dir, stop=stop)
        assert not (state_dir / "backup.part").exists()


def test_a_copy_that_a_crash_left_is_no_hindrance(state_dir: Path):
    (state_dir / "backup.part").write_text("half")
    assert make(state_dir)
