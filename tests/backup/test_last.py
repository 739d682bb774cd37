import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.backup import last
from appliance.backup.last import LastBackup

NOTE = LastBackup(datetime(2026, 11, 29, 18, 57, tzinfo=UTC), "/mnt/office.backup", 5, True, "office")


def test_what_was_noted_is_read(tmp_path: Path):
    last.write(tmp_path, NOTE)
    assert last.read(tmp_path) == NOTE
    assert [path.name for path in tmp_path.iterdir()] == ["backup.json"]
    assert (tmp_path / "backup.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"created": "yesterday"}', "null"])
def test_what_cannot_be_read_is_no_note(tmp_path: Path, text: str):
    assert last.read(tmp_path) is None
    (tmp_path / "backup.json").write_text(text)
    assert last.read(tmp_path) is None


def test_a_crash_leaves_the_note_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    last.write(tmp_path, NOTE)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        last.write(tmp_path, LastBackup(NOTE.created, "other", 6, False, "office"))
    monkeypatch.undo()
    assert last.read(tmp_path) == NOTE
    last.write(tmp_path, NOTE)
