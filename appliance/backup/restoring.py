"""Brings back what a backup holds, checked to the last byte before anything of what is there is touched.

The caller owns the state directory (`store.ownership`).
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from appliance.backup import archive, container, last, making, snapshot
from appliance.backup.archive import Manifest
from appliance.backup.container import Content, Head
from appliance.backup.last import LastBackup
from appliance.backup.snapshot import Checked, Stop
from appliance.errors import StateError
from appliance.store import audit, replacing
from appliance.store.sealing import CREDENTIAL, credential_is_given, read_key
from appliance.times import rfc3339, to_ms


@dataclass(frozen=True, slots=True)
class Opened:
    """A backup after its head. `path` is for the records; the file is closed by who opened it."""

    path: Path
    file: BinaryIO
    head: Head


@dataclass(frozen=True, slots=True)
class Restored:
    """`replaced`: the directory that keeps what was there before, None where nothing was."""

    manifest: Manifest
    replaced: Path | None


def opened(path: Path) -> Opened:
    """A backup whose head was read.

    Raises:
        StateError: it cannot be read, is no backup, or is newer than this version.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise StateError(f"{path} cannot be read ({error.strerror}).", advice="Name a backup.") from error
    try:
        head = container.read_head(file)
        snapshot.check_schema(head.schema)
    except BaseException:
        file.close()
        raise
    return Opened(path, file, head)


def restore(
    backup: Opened, passphrase: str, state_dir: Path, environ: Mapping[str, str], *, who: str, now: datetime
) -> Restored:
    """Put what the backup holds in the place of what is there, which is kept beside it. `who`: a login name.

    Raises:
        StateError: the passphrase is wrong, the backup is damaged, there is no room, or no key that goes with it.
            Nothing has changed.
    """
    try:
        size = os.fstat(backup.file.fileno()).st_size
        making.check_free(state_dir, size, "what the backup holds")
        content = Content(backup.file, backup.head, passphrase)
        part = replacing.begin(state_dir)
        try:
            manifest = _unpack(content, part)
            if not backup.head.keys:
                _add_key(part, state_dir, environ)
            checked = _check(part, manifest, environ)
            (part / replacing.PUBLIC_KEYS).write_bytes(checked.public_keys)
            _record(part, manifest, who, backup.path, now)
            note = LastBackup(manifest.created, str(backup.path), size, backup.head.keys, manifest.installation)
            last.write(part, note)
            if credential_is_given(environ):
                (part / replacing.KEY).unlink()  # the same key, which need not lie here too
            _settle(part, state_dir)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        return Restored(manifest, replacing.commit(state_dir, f"{now:%Y%m%dT%H%M%SZ}"))
    except OSError as error:
        raise StateError(
            f"The backup cannot be restored to {state_dir} ({error.strerror or type(error).__name__}).",
            advice="Free disk space there, and see that this user may write to it.",
        ) from error


def _unpack(content: Content, part: Path) -> Manifest:
    def keep(name: str, pieces: Iterator[bytes]) -> None:
        with _new(part / name) as out:
            for piece in pieces:
                out.write(piece)

    return archive.read(content, keep)


def _add_key(part: Path, state_dir: Path, environ: Mapping[str, str]) -> None:
    """A backup without the key goes with the key that is here."""
    key = read_key(state_dir, environ)
    if key is None:
        raise StateError(
            f"This backup was made without the key, and {state_dir} has no secret.key.",
            advice="Put the secret.key of that installation there (mode 0600), and try again.",
        )
    with _new(part / replacing.KEY) as out:
        out.write(key)


def _check(part: Path, manifest: Manifest, environ: Mapping[str, str]) -> Checked:
    key = (part / replacing.KEY).read_bytes()
    checked = snapshot.check(part / replacing.DATABASE, key, Stop())
    if (checked.schema, checked.installation) != (manifest.schema, manifest.installation):
        raise container.damaged("its database is not the one that it names")
    if credential_is_given(environ) and read_key(part, environ) != key:
        raise StateError(
            f"systemd gives this installation another key than the backup's (the credential {CREDENTIAL}).",
            advice="Make that credential of the backup's key, or take it out of the unit.",
        )
    return checked


def _record(part: Path, manifest: Manifest, who: str, path: Path, now: datetime) -> None:
    """In the audit table of the database that is coming, so that nobody takes it for one that was always there."""
    conn = sqlite3.connect(part / replacing.DATABASE, isolation_level=None)
    try:
        conn.execute("PRAGMA synchronous = FULL")
        audit.insert(
            conn,
            at_ms=to_ms(now),
            who=who,
            action="backup.restore",
            subject=manifest.installation,
            before=None,
            after={"created": rfc3339(manifest.created), "file": os.fsencode(path).decode(errors="replace")},
        )
    except sqlite3.Error as error:
        raise StateError(
            f"The restored database cannot be written ({error}).", advice="Free disk space there."
        ) from error
    finally:
        conn.close()


def _settle(part: Path, state_dir: Path) -> None:
    """Everything on the disk, and whose it is to be."""
    for path in part.iterdir():
        path.chmod(0o600)
        replacing.keep_owner(path, state_dir)
        with path.open("rb+") as file:
            os.fsync(file.fileno())


def _new(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")
