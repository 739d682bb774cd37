import errno
import os
from pathlib import Path

import pytest

from appliance.errors import StateError
from appliance.store.sealing import CREDENTIAL, Sealer, credential_is_given, read_key


def test_what_is_sealed_opens_with_the_same_file_after_a_restart(tmp_path: Path):
    sealed = Sealer.load(tmp_path, {}).seal("name", b"secret")
    assert b"secret" not in sealed
    assert Sealer.load(tmp_path, {}).open("name", sealed) == b"secret"


def test_the_same_secret_never_looks_the_same_twice(tmp_path: Path):
    sealer = Sealer.load(tmp_path, {})
    assert sealer.seal("name", b"secret") != sealer.seal("name", b"secret")


def test_another_file_another_name_or_a_changed_byte_opens_nothing(tmp_path: Path):
    sealer = Sealer.load(tmp_path, {})
    sealed = sealer.seal("name", b"secret")
    (tmp_path / "other").mkdir()
    for wrong in (
        lambda: Sealer.load(tmp_path / "other", {}).open("name", sealed),
        lambda: sealer.open("another name", sealed),
        lambda: sealer.open("name", bytes([*sealed[:-1], sealed[-1] ^ 1])),
        lambda: sealer.open("name", b""),
    ):
        with pytest.raises(StateError, match=r"secret\.key"):
            wrong()


def test_the_file_is_its_owners_alone(tmp_path: Path):
    Sealer.load(tmp_path, {})
    path = tmp_path / "secret.key"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    with pytest.raises(StateError, match="chmod 600"):
        Sealer.load(tmp_path, {})


def test_a_file_of_another_length_is_refused(tmp_path: Path):
    path = tmp_path / "secret.key"
    path.write_bytes(b"short")
    path.chmod(0o600)
    with pytest.raises(StateError, match="5 bytes"):
        Sealer.load(tmp_path, {})


def test_a_start_that_was_interrupted_leaves_no_half_of_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StateError) as caught:
        Sealer.load(tmp_path, {})
    assert caught.value.advice == "Free disk space there."
    assert not (tmp_path / "secret.key").exists()
    monkeypatch.undo()
    sealed = Sealer.load(tmp_path, {}).seal("name", b"secret")
    assert Sealer.load(tmp_path, {}).open("name", sealed) == b"secret"
    assert [path.name for path in tmp_path.iterdir()] == ["secret.key"]


def test_a_directory_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(StateError, match="No such file"):
        Sealer.load(tmp_path / "none", {})


def test_a_systemd_credential_goes_before_the_file(tmp_path: Path):
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / CREDENTIAL).write_bytes(b"c" * 32)
    sealed = Sealer.load(tmp_path, {"CREDENTIALS_DIRECTORY": str(credentials)}).seal("name", b"secret")
    assert not (tmp_path / "secret.key").exists()
    with pytest.raises(StateError):
        Sealer.load(tmp_path, {}).open("name", sealed)


class TestReading:
    """Without making a key where there is none."""

    def test_the_key_of_the_file(self, tmp_path: Path):
        assert read_key(tmp_path, {}) is None
        assert list(tmp_path.iterdir()) == []
        made = Sealer.load(tmp_path, {})
        assert read_key(tmp_path, {}) == made.key
        (tmp_path / "secret.key").chmod(0o644)
        with pytest.raises(StateError, match="readable by others"):
            read_key(tmp_path, {})

    def test_the_credential_goes_first(self, tmp_path: Path):
        Sealer.load(tmp_path, {})
        given = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
        assert not credential_is_given(given)
        (tmp_path / CREDENTIAL).write_bytes(b"c" * 32)
        assert credential_is_given(given)
        assert read_key(tmp_path, given) == b"c" * 32
        assert not credential_is_given({"CREDENTIALS_DIRECTORY": ""})
