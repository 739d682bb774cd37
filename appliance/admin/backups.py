"""What the admin API does about backups: a part of `service`, on parts that are handed in.

A backup holds everything, so that who makes one is written down before it is begun.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from appliance.admin.backup_wire import KeptBackup, NewBackup
from appliance.admin.changes import Change
from appliance.admin.wire import InvalidInput
from appliance.backup import last, making
from appliance.backup.last import LastBackup
from appliance.backup.making import MIN_PASSPHRASE, Backup
from appliance.backup.snapshot import Stop
from appliance.errors import AdminError, StateError
from appliance.ids import Clock, Ids
from appliance.store import installation
from appliance.store.database import Database
from appliance.store.sealing import Sealer
from appliance.times import parse_rfc3339, rfc3339

PIECES = 16
"""Chunks that one turn in a thread makes: a megabyte."""


@dataclass(frozen=True, slots=True)
class Parts:
    state_dir: Path
    database: Database
    sealer: Sealer
    clock: Clock
    ids: Ids
    version: str


@dataclass(frozen=True, slots=True)
class Outgoing:
    """`pieces` are `size` bytes."""

    size: int
    pieces: AsyncIterator[bytes]


class Backups:
    """One backup is made at a time."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._busy = False

    @asynccontextmanager
    async def made(self, who: str, new: NewBackup) -> AsyncGenerator[Outgoing]:
        """A backup, to be sent while the block lasts.

        Raises:
            InvalidInput: the passphrase is too short.
            AdminError: another is being made.
            StateError: it cannot be made.
        """
        if len(new.passphrase) < MIN_PASSPHRASE:
            raise InvalidInput("The passphrase is too short.", advice=f"It has at least {MIN_PASSPHRASE} characters.")
        if self._busy:
            raise AdminError("A backup is being made already.", advice="Wait for its end.")
        self._busy = True
        try:
            with ExitStack() as stack:
                await self._record(who, new)
                backup = await self._prepared(stack, new)
                yield Outgoing(backup.size, _in_turns(backup))
        finally:
            self._busy = False

    async def kept(self, kept: KeptBackup) -> KeptBackup:
        """Note a backup that is where it is to be. Raises InvalidInput: its time is none, or is to come."""
        try:
            created = parse_rfc3339(kept.created)
        except (ValueError, OverflowError) as error:
            raise InvalidInput("created must be a time of RFC 3339, such as 2027-01-31T00:00:00Z.") from error
        if created > self._parts.clock():
            raise InvalidInput("The backup would be from a time to come.")
        name = await self._parts.database.read(installation.get)
        note = LastBackup(created, kept.file, kept.bytes, kept.keys, name or "")
        try:
            await asyncio.to_thread(last.write, self._parts.state_dir, note)
        except OSError as error:
            raise StateError(
                f"The backup cannot be noted in {self._parts.state_dir} ({error.strerror}).",
                advice="Free disk space there.",
            ) from error
        return kept

    async def newest(self) -> str | None:
        """When the newest backup of this installation was made, None where none was."""
        name = await self._parts.database.read(installation.get)
        note = await asyncio.to_thread(last.read, self._parts.state_dir)
        return rfc3339(note.created) if note is not None and note.installation == (name or "") else None

    async def _record(self, who: str, new: NewBackup) -> None:
        change = Change(who, self._parts.clock(), self._parts.ids)
        await self._parts.database.write(
            lambda conn: change.record(conn, "backup.make", new.file, None, {"keys": new.keys})
        )

    async def _prepared(self, stack: ExitStack, new: NewBackup) -> Backup:
        """What takes minutes with a large database; it ends soon where nobody waits for it any more."""
        parts, stop = self._parts, Stop()
        making_it = making.made(
            parts.state_dir,
            parts.sealer.key,
            new.passphrase,
            with_key=new.keys,
            version=parts.version,
            now=parts.clock(),
            stop=stop,
        )
        work = asyncio.ensure_future(asyncio.to_thread(stack.enter_context, making_it))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            stop.stop()
            await asyncio.gather(work, return_exceptions=True)
            raise


async def _in_turns(backup: Backup) -> AsyncIterator[bytes]:
    """The pieces, made beside the event loop."""
    while piece := await asyncio.to_thread(lambda: b"".join(islice(backup.pieces, PIECES))):
        yield piece
