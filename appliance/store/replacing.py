"""Puts other files in the place of a state directory's own, so that a crash leaves the old ones or the new, never both.

The new ones are collected in a directory beside. Its renaming decides: before it they are nothing, after it whoever
owns the state directory next goes on where the last one stopped. What was there is kept. Knows nothing of what is in
the files.
"""

import os
import shutil
from pathlib import Path

DATABASE = "synapse.db"
KEY = "secret.key"
PUBLIC_KEYS = "keys.json"
LAST_BACKUP = "backup.json"

# The database leaves last: one that has lost its log, or met another's, is nothing that anybody may open.
STATE = (f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal", PUBLIC_KEYS, LAST_BACKUP, KEY, DATABASE)
"""What makes up the state of an installation, in the order in which it leaves."""

COPIES = f"{DATABASE}.schema-*"
"""What migrations have left beside the database, and belongs to it."""

REPLACED = "replaced-*"
"""The directories that keep what was there."""

_PART = "restore.part"
_READY = "restore-*.ready"


def begin(state_dir: Path) -> Path:
    """An empty directory for the new files, in place of one that an earlier attempt left. Raises OSError."""
    abandon(state_dir)
    part = state_dir / _PART
    part.mkdir(mode=0o700)
    keep_owner(part, state_dir)
    return part


def abandon(state_dir: Path) -> None:
    """Forget what was collected. Raises OSError."""
    if (state_dir / _PART).is_dir():
        shutil.rmtree(state_dir / _PART)


def commit(state_dir: Path, when: str) -> Path | None:
    """Put what was collected in its place; where what was there before is kept now, None where nothing was.

    Every file must be on the disk. `when` goes into the name of the directory that keeps the old files.
    Raises OSError: once the renaming is done, the next owner finishes it.
    """
    sync(state_dir / _PART)
    name, count = when, 1
    while (state_dir / f"replaced-{name}").exists():
        count += 1
        name = f"{when}-{count}"
    (state_dir / _PART).rename(state_dir / f"restore-{name}.ready")
    sync(state_dir)
    return finish(state_dir)


def finish(state_dir: Path) -> Path | None:
    """Finish a replacement that was decided, and forget one that was not. As `commit`, and can be done again."""
    abandon(state_dir)
    replaced = None
    for ready in sorted(state_dir.glob(_READY)):
        replaced = state_dir / f"replaced-{ready.name.removeprefix('restore-').removesuffix('.ready')}"
        _move_out(state_dir, ready, replaced)
        _move_in(state_dir, ready)
        if not any(replaced.iterdir()):
            replaced.rmdir()
            replaced = None
        sync(state_dir)
    return replaced


def decided(state_dir: Path) -> bool:
    """Whether a replacement was decided and is not finished. Raises OSError."""
    return any(state_dir.glob(_READY))


def _move_out(state_dir: Path, ready: Path, replaced: Path) -> None:
    replaced.mkdir(mode=0o700, exist_ok=True)
    keep_owner(replaced, state_dir)
    if (ready / DATABASE).exists():  # else the new files are being moved in already
        copies = sorted(file.name for file in state_dir.glob(COPIES))
        for name in (*copies, *STATE):
            if (state_dir / name).exists():
                (state_dir / name).rename(replaced / name)
    sync(replaced)
    sync(state_dir)


def _move_in(state_dir: Path, ready: Path) -> None:
    """The database first: that it has left `ready` says that nothing of the old state is in its place any more."""
    for name in sorted((file.name for file in ready.iterdir()), key=lambda name: name != DATABASE):
        (ready / name).rename(state_dir / name)
    sync(state_dir)
    ready.rmdir()


def keep_owner(path: Path, like: Path) -> None:
    """Give what root made here to whom the directory `like` belongs, who could not use it else. Raises OSError."""
    if os.geteuid() == 0:
        owner = like.stat()
        os.chown(path, owner.st_uid, owner.st_gid)


def sync(directory: Path) -> None:
    """Make the names in a directory survive a loss of power. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
