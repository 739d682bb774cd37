"""Reads what the system says of the files of an installation. Changes nothing, and judges nothing."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from appliance.admin.peers import login_of
from appliance.doctor.facts import FileFact, Kind, Problem, StateFacts
from appliance.errors import StateError
from appliance.store import replacing
from appliance.store.ownership import LOCK
from appliance.store.replacing import KEY, STATE
from appliance.store.sealing import credential_is_given, read_key

LOCKS = Path("/proc/locks")


def file(path: Path) -> FileFact:
    try:
        found = path.stat()
    except PermissionError:
        return FileFact(str(path), "hidden", owner=_owner_of_nearest(path))
    except OSError:
        return FileFact(str(path), "absent")
    return FileFact(str(path), _kind(found.st_mode), stat.S_IMODE(found.st_mode), found.st_uid, login_of(found.st_uid))


def state(state_dir: Path, environ: Mapping[str, str], locks: Path = LOCKS) -> StateFacts:
    directory = file(state_dir)
    if directory.kind != "directory":
        return StateFacts(directory)
    try:
        names = sorted(entry.name for entry in state_dir.iterdir())
        unfinished = replacing.decided(state_dir)
    except OSError:
        return StateFacts(FileFact(str(state_dir), "hidden", directory.mode, directory.uid, directory.owner))
    key_there, key_problem = _key(state_dir, environ)
    # The key file's own mode is told by reading it.
    ours = [name for name in (*STATE, LOCK) if name in names and name != KEY]
    return StateFacts(
        directory=directory,
        files=tuple(file(state_dir / name) for name in ours),
        credential=credential_is_given(environ),
        key_there=key_there,
        key_problem=key_problem,
        holder=_holder(state_dir / LOCK, locks),
        unfinished=unfinished,
        replaced=tuple(path.name for path in sorted(state_dir.glob(replacing.REPLACED))),
    )


def holder_of(inode: int, locks: str) -> int:
    """The process that has locked a file, by the text of /proc/locks; 0 for none."""
    for line in locks.splitlines():
        fields = line.split()
        if len(fields) >= 6 and fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == str(inode):
            return max(0, int(fields[4]))
    return 0


def _key(state_dir: Path, environ: Mapping[str, str]) -> tuple[bool, Problem | None]:
    try:
        return read_key(state_dir, environ) is not None, None
    except StateError as error:
        return True, Problem(error.message, error.advice)
    except OSError as error:
        said = f"{state_dir / KEY} cannot be read ({(error.strerror or 'it fails').lower()})."
        return True, Problem(said, "It must belong to the user that runs Synapse, with mode 0600.")


def _holder(lock: Path, locks: Path) -> int:
    try:
        return holder_of(lock.stat().st_ino, locks.read_text())
    except (OSError, ValueError):
        return 0


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "socket" if stat.S_ISSOCK(mode) else "other"


def _owner_of_nearest(path: Path) -> str:
    """Whose directory it is that hides a file."""
    for parent in path.parents:
        try:
            found = parent.stat()
        except OSError:
            continue
        return "" if os.access(parent, os.X_OK) else login_of(found.st_uid)
    return ""
