import asyncio
import os
import resource
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from appliance.admin.client import AdminError
from tui.files import NotWritten, Taken, directory_problem, full_path, holds, problem, taken, whole, write


async def pieces(*each: bytes) -> AsyncIterator[bytes]:
    for one in each:
        yield one


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


async def test_every_byte_for_the_owner_alone(tmp_path: Path):
    path = tmp_path / "calls.csv"
    assert await write(path, pieces(b"a,b\r\n", b"1,2\r\n")) == 10
    assert path.read_bytes() == b"a,b\r\n1,2\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(tmp_path) == ["calls.csv"]


async def test_another_file_stays_as_it_is_unless_told_so(tmp_path: Path):
    path = tmp_path / "calls.csv"
    path.write_bytes(b"mine")
    with pytest.raises(Taken, match=r"calls\.csv is there already\. Name another file\."):
        await write(path, whole(b"new"))
    assert path.read_bytes() == b"mine"
    assert names(tmp_path) == ["calls.csv"]
    assert await write(path, whole(b"new"), replace=True) == 3
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_link_that_leads_nowhere_is_a_name_that_is_taken(tmp_path: Path):
    path = tmp_path / "calls.csv"
    path.symlink_to(tmp_path / "elsewhere")
    assert taken(path)
    with pytest.raises(Taken):
        await write(path, whole(b"new"))
    assert names(tmp_path) == ["calls.csv"]


async def test_a_name_that_somebody_takes_meanwhile_is_theirs(tmp_path: Path):
    path = tmp_path / "calls.csv"

    async def slow() -> AsyncIterator[bytes]:
        yield b"mine"
        path.write_bytes(b"theirs")

    with pytest.raises(Taken):
        await write(path, slow())
    assert path.read_bytes() == b"theirs"


async def test_a_directory_that_is_not_there_or_is_a_file(tmp_path: Path):
    with pytest.raises(NotWritten, match="No such file or directory"):
        await write(tmp_path / "none" / "calls.csv", whole(b"x"))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotWritten, match="Not a directory"):
        await write(tmp_path / "file" / "calls.csv", whole(b"x"))
    with pytest.raises(NotWritten, match="Is a directory"):
        await write(tmp_path, whole(b"x"), replace=True)


async def test_a_full_disk_leaves_nothing_of_it_and_what_was_there(tmp_path: Path):
    path = tmp_path / "calls.csv"
    path.write_bytes(b"before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))  # the kernel refuses to write on, as on a full disk
    try:
        with pytest.raises(NotWritten, match=r"calls\.csv is not written \(.+\)\. Name a file where you may write"):
            await write(path, pieces(*[b"x" * 50_000] * 4), replace=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == b"before"
    assert names(tmp_path) == ["calls.csv"]


async def test_pieces_that_break_off_leave_nothing(tmp_path: Path):
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise AdminError("The daemon is gone.")

    with pytest.raises(AdminError, match="gone"):
        await write(tmp_path / "calls.csv", broken())
    assert names(tmp_path) == []


async def test_neither_does_a_person_who_leaves(tmp_path: Path):
    begun = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"half"
        begun.set()
        await asyncio.Event().wait()

    writing = asyncio.ensure_future(write(tmp_path / "calls.csv", endless()))
    await begun.wait()
    assert len(names(tmp_path)) == 1
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert names(tmp_path) == []


def test_what_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert full_path("~/calls.csv") == tmp_path / "calls.csv"
    assert full_path("sub/../calls.csv") == tmp_path / "calls.csv"
    assert problem("~/calls.csv") == ""
    assert problem("") == "Give the path of a file, such as ~/calls.csv."
    assert problem("a\0b") == "Give the path of a file, such as ~/calls.csv."
    assert problem("~nobody-of-this-name/x") == "Give a path whose home directory exists."
    assert problem("~") == f"{tmp_path} is a directory: name a file in it."
    assert problem("none/calls.csv") == f"There is no directory {tmp_path}/none: make it, or name another."
    assert directory_problem("~") == ""
    assert directory_problem("") == "Give a directory, such as ~."
    assert directory_problem("~/none") == f"There is no directory {tmp_path}/none: make it, or name another."


def test_a_file_that_has_the_same_bytes(tmp_path: Path):
    path = tmp_path / "keys.json"
    assert not holds(path, b"")
    path.write_bytes(b"keys")
    assert holds(path, b"keys")
    assert not holds(path, b"Keys")
    assert not holds(path, b"keys ")
    assert not holds(tmp_path, b"")


def test_a_name_that_is_too_long_is_said_before_anything_is_written(tmp_path: Path):
    assert problem(str(tmp_path / ("x" * 256))).startswith("A file's name has at most 255 bytes")
    assert problem(str(tmp_path / ("é" * 128))).startswith("A file's name has at most 255 bytes")
    assert problem(str(tmp_path / ("x" * 255))) == ""
    assert "cannot be looked into (File name too long)" in directory_problem(str(tmp_path / ("x" * 300)))


def test_a_directory_that_may_not_be_entered_is_no_crash(tmp_path: Path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    script = (
        "import os, sys; from tui import files;"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534);"
        "print(files.problem(sys.argv[1])); print(files.directory_problem(sys.argv[1]))"
    )
    if os.getuid() != 0:
        pytest.skip("only root can become somebody who may not")
    tmp_path.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", script, str(closed / "a" / "calls.csv")], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("cannot be looked into (Permission denied)") == 2
