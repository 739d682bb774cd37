"""What the admin API says of backups. Imports no more than `wire` does."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NewBackup:
    """A backup to be made. `file` is where the client will put it, for the record. `keys`: with the key that opens
    what is sealed in the database."""

    file: str
    passphrase: str = field(repr=False)
    keys: bool = True


@dataclass(frozen=True, slots=True)
class KeptBackup:
    """A backup that a client has written and read back. `created` is when the database was copied."""

    created: str
    file: str
    bytes: int
    keys: bool
