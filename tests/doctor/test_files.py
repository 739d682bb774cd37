import os
import socket
from pathlib import Path

import pytest

from appliance.admin.peers import login_of
from appliance.doctor import files
from tests.backup.conftest import installed

LOCKS = """\
1: POSIX  ADVISORY  READ  11 08:01:77 128 128
2: FLOCK  ADVISORY  WRITE 42 fe:00:4711 0 EOF
2: -> FLOCK  ADVISORY  WRITE 43 fe:00:4712 0 EOF
3: FLOCK  ADVISORY  WRITE -1 fe:00:99 0 EOF
"""


@pytest.mark.parametrize(("inode", "process"), [(4711, 42), (77, 0), (471, 0), (99, 0), (1, 0)])
def test_who_holds_a_lock(inode: int, process: int):
    # The form is that of proc_locks(5).
    assert files.holder_of(inode, LOCKS) == process


def test_what_a_file_is(tmp_path: Path):
    (tmp_path / "file").touch(0o640)
    (tmp_path / "file").chmod(0o640)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(tmp_path / "sock"))
    os.mkfifo(tmp_path / "pipe")
    found = files.file(tmp_path / "file")
    assert (found.kind, found.mode, found.uid, found.owner) == ("file", 0o640, os.getuid(), login_of(os.getuid()))
    kinds = [files.file(tmp_path / name).kind for name in ("sock", "pipe", "none", "file/none")]
    assert kinds == ["socket", "other", "absent", "absent"]
    assert files.file(tmp_path).kind == "directory"


def test_a_state_directory(tmp_path: Path):
    state_dir = installed(tmp_path / "state")
    found = files.state(state_dir, {})
    assert found.directory.mode == 0o700
    assert {Path(file.path).name for file in found.files} == {"synapse.db"}
    assert (found.key_there, found.key_problem, found.holder, found.credential) == (True, None, 0, False)


def test_a_key_that_is_none_is_told_with_what_to_do(tmp_path: Path):
    assert files.state(tmp_path, {}).key_there is False
    (tmp_path / "secret.key").mkdir()
    problem = files.state(tmp_path, {}).key_problem
    assert problem is not None
    assert "is a directory" in problem.said
    assert "0600" in problem.advice


def test_where_the_system_tells_no_locks(tmp_path: Path):
    (tmp_path / "lock").touch()
    assert files.state(tmp_path, {}, locks=tmp_path / "none").holder == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_directory_that_hides_what_is_in_it(tmp_path: Path):
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "state").mkdir()
    (tmp_path / "closed").chmod(0)
    assert files.file(tmp_path / "closed" / "state").kind == "hidden"
    (tmp_path / "closed").chmod(0o700)


def test_what_may_not_be_looked_at_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def denied(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", denied)
        assert files.state(tmp_path, {}).directory.kind == "hidden"
    monkeypatch.setattr(Path, "stat", denied)
    assert files.file(tmp_path).kind == "hidden"
