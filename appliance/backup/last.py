"""The note of the newest backup, in the state directory beside the database.

Not in the database: it is wanted most where that cannot be opened, and a restored database would tell of its own past.
It names the installation, so that a note that was left beside another's database says nothing.
"""

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from appliance.store.replacing import LAST_BACKUP, keep_owner
from appliance.times import parse_rfc3339, rfc3339


@dataclass(frozen=True, slots=True)
class LastBackup:
    """`created` is when the database was copied, `file` where the backup was put then."""

    created: datetime
    file: str
    bytes: int
    keys: bool
    installation: str


def read(directory: Path) -> LastBackup | None:
    """None where there is no note, or none that can be read."""
    try:
        told: Any = orjson.loads((directory / LAST_BACKUP).read_bytes())
        created = parse_rfc3339(told["created"])
        return LastBackup(created, told["file"], told["bytes"], told["keys"], told["installation"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write(directory: Path, last: LastBackup) -> None:
    """Whole or not at all. Raises OSError."""
    told = {
        "created": rfc3339(last.created),
        "file": last.file,
        "bytes": last.bytes,
        "keys": last.keys,
        "installation": last.installation,
    }
    fresh = directory / f"{LAST_BACKUP}.new"
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        file.flush()
        os.fsync(file.fileno())
    keep_owner(fresh, directory)
    fresh.rename(directory / LAST_BACKUP)
