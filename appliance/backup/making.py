"""Makes a backup as a stream of bytes: copies the database, checks the copy, and seals it with the installation's key.

Knows nothing of where the bytes go: the daemon sends them to who asked, and the command line writes them to a file.
"""

import io
import secrets
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from appliance.backup import archive, container, snapshot
from appliance.backup.container import Head
from appliance.backup.snapshot import Stop
from appliance.errors import StateError
from appliance.store.ownership import COPY
from appliance.store.replacing import DATABASE

SPARE = 64 * 1024 * 1024
"""Bytes that a backup leaves free, so that the calls that are recorded meanwhile find room."""

MIN_PASSPHRASE = 12
"""Characters. Whoever finds a backup can try passphrases for years (NIST SP 800-63B asks for 15, or 8 with another
factor: to have the file is one)."""


@dataclass(frozen=True, slots=True)
class Backup:
    """`pieces` can be taken once, while the block of `made` lasts; they are `size` bytes."""

    head: Head
    installation: str
    size: int
    pieces: Iterator[bytes]


@contextmanager
def made(
    state_dir: Path, key: bytes, passphrase: str, *, with_key: bool, version: str, now: datetime, stop: Stop
) -> Generator[Backup]:
    """A backup of the database as it is now, checked and ready to be taken.

    Raises:
        StateError: there is too little disk space, or the database is damaged or not this key's.
    """
    database, part = state_dir / DATABASE, state_dir / COPY
    try:
        if not database.exists():
            raise StateError(
                f"There is no database in {state_dir}.",
                advice="Name the right state directory (SYNAPSE_STATE_DIR or --config).",
            )
        check_free(state_dir, bytes_of(database), "a copy of the database")
        try:
            snapshot.copy(database, part, stop)
            checked = snapshot.check(part, key, stop)
            file = part.open("rb")
        finally:
            part.unlink(missing_ok=True)  # once it is open nothing else needs its name
    except OSError as error:
        raise StateError(
            f"The database cannot be copied in {state_dir} ({error.strerror}).",
            advice="Run this as the user that runs the daemon, or as root; free disk space there.",
        ) from error
    with file:
        members = {archive.KEY: archive.measured(io.BytesIO(key))} if with_key else {}
        members[archive.DATABASE] = archive.measured(file)
        manifest = archive.Manifest(version, checked.schema, now, checked.installation, members)
        head = Head(version, checked.schema, now, with_key, secrets.token_bytes(container.SALT_BYTES))
        content = archive.pieces(manifest, key if with_key else None, file)
        yield Backup(
            head,
            checked.installation,
            container.size_of(head, archive.size_of(manifest)),
            container.sealed(head, passphrase, content),
        )


def bytes_of(database: Path) -> int:
    """Of a database with its log; 0 where there is none."""
    files = (database, database.with_name(f"{database.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def check_free(directory: Path, needed: int, what: str) -> None:
    """Raises `StateError` where so many bytes, and some to spare, are not free, `OSError` where that is not known."""
    free = shutil.disk_usage(directory).free
    if free < needed + SPARE:
        raise StateError(
            f"There is too little disk space for {what}: {_mb(needed + SPARE)} are needed in {directory}, and"
            f" {_mb(free)} are free.",
            advice="Free some there, or use another disk.",
        )


def _mb(size: int) -> str:
    return f"{-(-size // 1_000_000)} MB"
