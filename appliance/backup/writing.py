"""Writes a backup to a file that is whole or not there, and reads it back before it gets its name."""

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from appliance.backup import archive, container, making
from appliance.backup.archive import Manifest
from appliance.backup.container import Content
from appliance.errors import StateError
from appliance.store import replacing


def check_target(file: Path, state_dir: Path) -> None:
    """Raises `StateError` where the file is there already, its directory is not, or it would lie in what it saves."""
    if os.path.lexists(file):
        raise StateError(f"{file} is there already.", advice="Name a new file; a backup never replaces another.")
    if not file.parent.is_dir():
        raise StateError(f"There is no directory {file.parent}.", advice="Make it, or name another file.")
    if file.parent.resolve().is_relative_to(state_dir.resolve()):
        raise StateError(
            f"{file} would lie in the state directory, and be lost with it.",
            advice="Name a file on another disk, best on another machine.",
        )


class Target:
    """The file on its way: `put` each piece, then `finish`. Made by `target`."""

    def __init__(self, file: Path, part: Path, out: BinaryIO) -> None:
        self._file = file
        self._part = part
        self._out = out

    def expect(self, size: int) -> None:
        """Raises `StateError` where there is no room for so many bytes."""
        making.check_free(self._file.parent, size, "the backup")

    def put(self, piece: bytes) -> None:
        """Raises OSError."""
        self._out.write(piece)

    def finish(self, size: int, passphrase: str) -> Manifest:
        """Read what was written back with the passphrase, and give it its name.

        Raises:
            StateError: it is not of `size` bytes, or not what it was to be, or the name is taken by now.
            OSError: it cannot be written.
        """
        self._out.flush()
        descriptor = self._out.fileno()
        os.fsync(descriptor)
        if hasattr(os, "posix_fadvise"):  # so that what is read back comes from the disk
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        written = os.fstat(descriptor).st_size
        if written != size:
            raise StateError(f"The backup has {written} bytes instead of {size}.", advice="Make it again.")
        manifest = verify(self._part, passphrase)
        if os.path.lexists(self._file):
            raise StateError(f"{self._file} is there by now.", advice="Name a new file.")
        self._part.rename(self._file)
        replacing.sync(self._file.parent)
        return manifest


@contextmanager
def target(file: Path) -> Generator[Target]:
    """Without `finish`, nothing of it is left. Raises `StateError` where it cannot be written, in the block too."""
    part = file.with_name(f".{file.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            with os.fdopen(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as out:
                yield Target(file, part, out)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise StateError(
            f"{file} cannot be written ({error.strerror or type(error).__name__}).",
            advice="Name a file where this user may write, with free space.",
        ) from error


def verify(file: Path, passphrase: str) -> Manifest:
    """Read every byte of a backup, and say what it holds. Raises StateError: it is damaged. Raises OSError."""
    with file.open("rb") as opened:
        return archive.read(Content(opened, container.read_head(opened), passphrase), archive.nowhere)
