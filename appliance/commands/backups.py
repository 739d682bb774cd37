"""`synapse backup | restore`: everything in one file, and back again."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from appliance import DISTRIBUTION
from appliance.admin import looks
from appliance.admin.backup_wire import KeptBackup, NewBackup
from appliance.admin.client import Client
from appliance.admin.peers import login_of
from appliance.admin.wire import DaemonDown
from appliance.backup import last, making, restoring, writing
from appliance.backup.archive import KEY, Manifest
from appliance.backup.last import LastBackup
from appliance.backup.snapshot import Stop
from appliance.commands import passphrases, text
from appliance.commands.outcome import Outcome
from appliance.errors import AdminError, StateError
from appliance.ids import Clock
from appliance.settings import Settings
from appliance.store.ownership import sole_owner
from appliance.store.sealing import read_key
from appliance.times import rfc3339


@dataclass(frozen=True, slots=True)
class Given:
    """Where the passphrase was said to be; nowhere: it is asked for at a terminal."""

    file: str | None
    stdin: bool


def make(
    settings: Settings, environ: Mapping[str, str], clock: Clock, file: Path, given: Given, *, keys: bool
) -> Outcome:
    """Raises InvalidInput, StateError, AdminError: there is no backup then."""
    file = file.absolute()
    writing.check_target(file, settings.state_dir)
    passphrase = passphrases.for_a_new_backup(given.file, stdin=given.stdin)
    new = NewBackup(os.fsencode(file).decode(errors="replace"), passphrase, keys)
    try:
        return asyncio.run(_through_the_daemon(settings.admin.socket, file, new))
    except DaemonDown:
        return _directly(settings.state_dir, environ, clock(), file, new)


def restore(settings: Settings, environ: Mapping[str, str], clock: Clock, file: Path, given: Given) -> Outcome:
    """Raises InvalidInput, StateError: nothing has changed then."""
    state_dir = settings.state_dir
    backup = restoring.opened(file.absolute())
    with backup.file, sole_owner(state_dir):
        passphrase = passphrases.for_a_backup(given.file, stdin=given.stdin)
        who = login_of(os.getuid())
        done = restoring.restore(backup, passphrase, state_dir, environ, who=who, now=clock())
    document = {"state_dir": str(state_dir), "replaced": str(done.replaced) if done.replaced else None}
    lines = [f"The state of {looks.moment(rfc3339(backup.head.created))} is restored in {state_dir}."]
    if done.replaced is not None:
        lines.append(f"What was there is kept in {done.replaced}: remove it when you need it no more.")
    notes = (
        "What came after the backup is not in it: keys revoked since work again, and users erased since are back.",
        "Start the daemon, and look: synapse doctor",
    )
    return Outcome(document | _told(done.manifest), tuple(lines), notes=_wrapped(notes))


async def _through_the_daemon(socket: Path, file: Path, new: NewBackup) -> Outcome:
    async with Client(socket) as client, client.backup(new) as (size, pieces):
        with writing.target(file) as target:
            target.expect(size)
            async for piece in pieces:
                target.put(piece)
            manifest = target.finish(size, new.passphrase)
    unnoted = None
    try:
        # Over another connection: while a large file was read back, the daemon has given up the first one.
        async with Client(socket) as client:
            await client.keep_backup(KeptBackup(rfc3339(manifest.created), new.file, size, new.keys))
    except AdminError as error:  # the file is good all the same
        unnoted = str(error)
    return _made(file, size, manifest, unnoted)


def _directly(state_dir: Path, environ: Mapping[str, str], now: datetime, file: Path, new: NewBackup) -> Outcome:
    if not state_dir.is_dir():
        raise StateError(f"There is no state directory {state_dir}.", advice="Name the right one: SYNAPSE_STATE_DIR.")
    installed = version(DISTRIBUTION)
    with sole_owner(state_dir):
        key = _key(state_dir, environ)
        with (
            making.made(
                state_dir, key, new.passphrase, with_key=new.keys, version=installed, now=now, stop=Stop()
            ) as backup,
            writing.target(file) as target,
        ):
            target.expect(backup.size)
            for piece in backup.pieces:
                target.put(piece)
            manifest = target.finish(backup.size, new.passphrase)
        unnoted = None
        try:
            last.write(state_dir, LastBackup(now, new.file, backup.size, new.keys, backup.installation))
        except OSError as error:
            unnoted = f"{state_dir} cannot be written ({error.strerror})."
    return _made(file, backup.size, manifest, unnoted)


def _key(state_dir: Path, environ: Mapping[str, str]) -> bytes:
    try:
        key = read_key(state_dir, environ)
    except OSError as error:
        raise StateError(
            f"The key file in {state_dir} cannot be read ({error.strerror}).",
            advice="Run this as the user that runs the daemon, or as root.",
        ) from error
    if key is None:
        raise StateError(
            f"There is no secret.key in {state_dir}.",
            advice="Where systemd gives the key to the daemon, start that first: it makes the backup.",
        )
    return key


def _made(file: Path, size: int, manifest: Manifest, unnoted: str | None) -> Outcome:
    lines = (f"Backup {file} is written and read back: {size / 1_000_000:.1f} MB.",)
    notes = ["Keep the passphrase apart from it: without it nobody can open the file."]
    if KEY not in manifest.members:
        notes.append("secret.key is not in it: keep that file too, or the backup cannot be restored.")
    if unnoted is not None:
        notes.append(f"synapse doctor will not know of it: {unnoted}")
    return Outcome({"file": str(file), "bytes": size} | _told(manifest), lines, notes=_wrapped(notes))


def _told(manifest: Manifest) -> dict[str, object]:
    return {
        "created": rfc3339(manifest.created),
        "version": manifest.version,
        "schema": manifest.schema,
        "installation": manifest.installation,
        "keys": KEY in manifest.members,
    }


def _wrapped(notes: "list[str] | tuple[str, ...]") -> tuple[str, ...]:
    return tuple(line for note in notes for line in text.wrapped(note))
