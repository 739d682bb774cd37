"""What a person is told who may not use the socket: asked as a real second user, in a process of its own."""

import errno
import grp
import os
import pwd
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.admin import wire
from appliance.admin.unreachable import FIRST_PERSON, UNITS, unreachable

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from appliance.admin.client import Client
from appliance.errors import AdminError

async def ask():
    async with Client(Path(sys.argv[1])) as client:
        await client.status()

uid, gid = int(sys.argv[2]), int(sys.argv[3])
os.setgroups([])
os.setresgid(gid, gid, gid)
os.setresuid(uid, uid, uid)
try:
    asyncio.run(ask())
except AdminError as error:
    print(type(error).__name__, error.message, error.advice, sep="\\n")
"""

NOBODY = "nobody"
SERVICE = "daemon"
"""A user of the system, as `synapse` is one, with a group of its own name; both are on every Linux."""


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody may enter, with a socket that root alone may use."""
    if os.geteuid() != 0:
        pytest.skip("only root can ask as another user")
    with tempfile.TemporaryDirectory() as name, socket.socket(socket.AF_UNIX) as bound:
        place = Path(name) / "run"
        place.mkdir()
        for path in (place, place.parent):
            path.chmod(0o755)
        bound.bind(str(place / "admin.sock"))
        (place / "admin.sock").chmod(0o660)
        bound.listen()
        yield place


def told(place: Path, user: str | int, group: str | int = NOBODY) -> list[str]:
    """What somebody is told: the kind of error, its sentence and its advice."""
    uid = user if isinstance(user, int) else pwd.getpwnam(user).pw_uid
    gid = pwd.getpwnam(group).pw_gid if isinstance(group, str) else group
    words = [sys.executable, "-c", PROGRAM, place / "admin.sock", str(uid), str(gid)]
    return subprocess.run(words, capture_output=True, text=True, timeout=30, check=True).stdout.splitlines()


def given(path: Path, user: str | int, group: str) -> str:
    """Give the path to this user and this group; the group's name."""
    owner = user if isinstance(user, int) else pwd.getpwnam(user).pw_uid
    os.chown(path, owner, pwd.getpwnam(group).pw_gid)
    return grp.getgrgid(pwd.getpwnam(group).pw_gid).gr_name


def test_a_stranger_is_told_the_group_of_the_socket(place: Path):
    group = given(place / "admin.sock", SERVICE, SERVICE)
    assert told(place, NOBODY) == [
        "AccessDenied",
        f"You may not use the admin socket {place / 'admin.sock'}: that takes membership of the group {group}.",
        f"sudo usermod -aG {group} nobody, then log in again; or run this with sudo.",
    ]


def test_a_member_whose_login_is_older_is_told_to_log_in_again(place: Path):
    group = given(place / "admin.sock", "root", SERVICE)
    assert told(place, SERVICE) == [
        "AccessDenied",
        f"You may not use the admin socket {place / 'admin.sock'} yet: you are a member of the group {group}, but this"
        " login is older.",
        "Log in again.",
    ]


def test_nobody_is_sent_into_the_group_of_root(place: Path):
    assert told(place, NOBODY) == [
        "AccessDenied",
        f"You may not use the admin socket {place / 'admin.sock'}: it is root's.",
        "Run this with sudo.",
    ]


def test_nobody_is_sent_into_the_group_of_one_person(place: Path):
    person = next(one for one in pwd.getpwall() if one.pw_uid >= FIRST_PERSON)
    given(place / "admin.sock", person.pw_uid, person.pw_name)
    assert told(place, SERVICE, SERVICE) == [
        "AccessDenied",
        f"You may not use the admin socket {place / 'admin.sock'}: it is {person.pw_name}'s.",
        f"Run this as that user (sudo -u {person.pw_name}), or with sudo.",
    ]


def test_a_socket_that_its_group_may_not_use_is_its_owners(place: Path):
    given(place / "admin.sock", SERVICE, SERVICE)
    (place / "admin.sock").chmod(0o600)
    assert told(place, NOBODY)[1].endswith(f"admin.sock: it is {SERVICE}'s.")


def test_to_whom_the_group_is_no_help_it_is_not_recommended(place: Path):
    given(place / "admin.sock", SERVICE, SERVICE)
    (place / "admin.sock").chmod(0o060)  # what its owner may do counts for the owner, not what the group may
    assert told(place, SERVICE, SERVICE)[1].endswith(f"admin.sock: it is {SERVICE}'s.")


def test_a_directory_that_may_not_be_entered_is_named(place: Path):
    given(place, SERVICE, SERVICE)
    place.chmod(0o700)
    assert told(place, NOBODY) == [
        "AccessDenied",
        f"You may not enter {place}, where the admin socket is: it is {SERVICE}'s.",
        f"Run this as that user (sudo -u {SERVICE}), or with sudo.",
    ]


def test_a_directory_for_a_group(place: Path):
    group = given(place.parent, "root", SERVICE)
    place.parent.chmod(0o750)
    assert told(place, NOBODY)[1:] == [
        f"You may not enter {place.parent}, where the admin socket is: that takes membership of the group {group}.",
        f"sudo usermod -aG {group} nobody, then log in again; or run this with sudo.",
    ]


def test_whoever_may_use_it_is_told_nothing_of_groups(place: Path):
    (place / "admin.sock").unlink()
    assert told(place, NOBODY)[:2] == [
        "DaemonDown",
        f"The daemon is not running (no answer on {place / 'admin.sock'}).",
    ]


def test_a_user_and_a_group_without_names(place: Path):
    nameless = next(number for number in range(50_000, 60_000) if not _is_known(number))
    os.chown(place / "admin.sock", nameless, nameless)
    assert told(place, nameless + 1, nameless + 1)[1].endswith(f"membership of the group {nameless}.")


def _is_known(number: int) -> bool:
    return any(number in (one.pw_uid - 1, one.pw_uid) for one in pwd.getpwall()) or any(
        number in (one.gr_gid - 1, one.gr_gid) for one in grp.getgrall()
    )


def test_a_socket_that_is_gone_by_now(tmp_path: Path):
    error = unreachable(tmp_path / "admin.sock", PermissionError(errno.EACCES, "Permission denied"))
    assert type(error) is wire.AccessDenied
    assert error.message == f"You may not use the admin socket {tmp_path / 'admin.sock'}."


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ECONNREFUSED])
def test_where_nobody_answers_the_daemon_is_down(tmp_path: Path, number: int):
    error = unreachable(tmp_path / "admin.sock", OSError(number, "x"), units=(tmp_path / "synapse.service",))
    assert isinstance(error, wire.DaemonDown)
    assert error.advice == "Start it: ./scripts/up, or synapse serve."


def test_a_daemon_that_is_installed_as_a_service_is_started_as_one(tmp_path: Path):
    here, there = tmp_path / "synapse.service", tmp_path / "lib" / "synapse.service"
    here.touch()
    error = unreachable(tmp_path / "admin.sock", OSError(errno.ENOENT, "x"), units=(there, here))
    assert error.advice == "Start it: sudo systemctl start synapse."
    installed = Path(__file__).parents[2] / "systemd" / UNITS[0].name
    assert installed.is_file()
