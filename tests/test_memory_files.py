import os
import tempfile
from pathlib import Path

import pytest

from appliance.memory_files import as_file


def test_the_content_is_read_from_the_path_and_gone_afterwards(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise AssertionError("a secret must not come to a disk")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with as_file(b"secret") as path:
        assert Path(path).read_bytes() == b"secret"
    assert not Path(path).exists()


def test_without_files_in_memory_it_is_a_private_file(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(os, "memfd_create")
    with as_file(b"secret") as path:
        assert Path(path).read_bytes() == b"secret"
        assert Path(path).stat().st_mode & 0o777 == 0o600
    assert not Path(path).exists()
