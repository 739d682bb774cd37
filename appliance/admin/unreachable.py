"""Why the daemon's admin socket cannot be reached, and what a person can do about it.

File permission is who may: the group of the socket's file are the administrators (operations.md, "Admin API and
console"). Asks the system about that file, its directories and this login, and nothing else.
"""

import errno
import grp
import os
import pwd
import stat
from collections.abc import Iterable
from pathlib import Path

from appliance.admin import wire
from appliance.errors import AdminError

FIRST_PERSON = 1000
"""User ids from here on are people's (login.defs(5), UID_MIN): nobody is added to the group that is one's own."""


UNITS = tuple(Path(place) / "synapse.service" for place in ("/etc/systemd/system", "/lib/systemd/system"))
"""Where the daemon is installed as a service, one of these is there (docs/service.md)."""


def unreachable(socket: Path, error: OSError, *, units: Iterable[Path] = UNITS) -> AdminError:
    """What to say where connecting has failed so: `DaemonDown` where nobody answers, else `AccessDenied`."""
    if error.errno not in (errno.EACCES, errno.EPERM):
        how = "sudo systemctl start synapse" if any(map(os.path.exists, units)) else "./scripts/up, or synapse serve"
        return wire.DaemonDown(f"The daemon is not running (no answer on {socket}).", advice=f"Start it: {how}.")
    closed = next((path for path in reversed(socket.parents) if not os.access(path, os.X_OK)), None)
    if closed is not None:
        return _refused(f"You may not enter {closed}, where the admin socket is", closed, stat.S_IXGRP)
    return _refused(f"You may not use the admin socket {socket}", socket, stat.S_IWGRP)


def _refused(said: str, path: Path, right: int) -> wire.AccessDenied:
    """`path` is what stands in the way, and `right` what its group must have there."""
    try:
        found = path.stat()
    except OSError:  # it is gone by now
        return wire.AccessDenied(f"{said}.", advice="Run this as the user that runs the daemon, or with sudo.")
    owner, group = _user(found.st_uid), _group(found.st_gid)
    has_it = found.st_gid in (os.getegid(), *os.getgroups())
    if has_it or not (found.st_mode & right and _can_be_joined(found)):
        as_owner = f"as that user (sudo -u {owner}), or " if found.st_uid else ""
        return wire.AccessDenied(f"{said}: it is {owner}'s.", advice=f"Run this {as_owner}with sudo.")
    if _is_member(found.st_gid):
        return wire.AccessDenied(
            f"{said} yet: you are a member of the group {group}, but this login is older.", advice="Log in again."
        )
    join = f"sudo usermod -aG {group} {_user(os.geteuid())}, then log in again; or run this with sudo."
    return wire.AccessDenied(f"{said}: that takes membership of the group {group}.", advice=join)


def _can_be_joined(found: os.stat_result) -> bool:
    """Whether its group is there for others: not root's, and not that of one person alone."""
    if found.st_gid == 0:
        return False
    try:
        own = pwd.getpwuid(found.st_uid).pw_gid == found.st_gid
    except KeyError:
        return True
    return not (own and found.st_uid >= FIRST_PERSON)


def _is_member(gid: int) -> bool:
    """Whether this user has the group by now: what a login may do is settled when it begins."""
    try:
        user = pwd.getpwuid(os.geteuid())
        return gid == user.pw_gid or user.pw_name in grp.getgrgid(gid).gr_mem
    except KeyError:
        return False


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"#{uid}"  # as sudo -u takes it


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
