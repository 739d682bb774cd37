"""The external providers that an administrator has added, each with its key, sealed."""

import sqlite3
from dataclasses import dataclass, field

from appliance.store.sealing import Sealer


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """A provider as it is stored. `kind` says which dialect it speaks; `full` and `fast` are its models' names."""

    name: str
    kind: str
    base_url: str
    full: str | None
    fast: str | None
    created_ms: int
    sealed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class OpenProvider:
    """A provider with its key in the clear, to be called now: never logged, never stored, shown to nobody."""

    name: str
    kind: str
    base_url: str
    full: str | None
    fast: str | None
    key: str = field(repr=False)


_COLUMNS = "name, kind, base_url, full_model, fast_model, created_ms, sealed"


def put(conn: sqlite3.Connection, row: ProviderRow) -> None:
    """Add a provider, or put another in the place of the one of that name."""
    conn.execute(
        f"INSERT INTO providers ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET"
        " kind = excluded.kind, base_url = excluded.base_url, sealed = excluded.sealed,"
        " full_model = excluded.full_model, fast_model = excluded.fast_model, created_ms = excluded.created_ms",
        (row.name, row.kind, row.base_url, row.full, row.fast, row.created_ms, row.sealed),
    )


def by_name(conn: sqlite3.Connection, name: str) -> ProviderRow | None:
    row = conn.execute(f"SELECT {_COLUMNS} FROM providers WHERE name = ?", (name,)).fetchone()
    return ProviderRow(*row) if row else None


def list_all(conn: sqlite3.Connection) -> list[ProviderRow]:
    """All of them, in the order in which they were first added."""
    return [ProviderRow(*row) for row in conn.execute(f"SELECT {_COLUMNS} FROM providers ORDER BY n")]


def remove(conn: sqlite3.Connection, name: str) -> None:
    """Forget a provider and its key. Lists that name it keep the name."""
    conn.execute("DELETE FROM providers WHERE name = ?", (name,))


def seal_key(sealer: Sealer, name: str, key: str) -> bytes:
    """The key, encrypted for the provider of this name: for another it does not open."""
    return sealer.seal(_secret(name), key.encode())


def opened(row: ProviderRow, sealer: Sealer) -> OpenProvider:
    """The provider, ready to be called. Raises `StateError` where the key file is not the one that sealed its key."""
    key = sealer.open(_secret(row.name), row.sealed).decode()
    return OpenProvider(row.name, row.kind, row.base_url, row.full, row.fast, key)


def _secret(name: str) -> str:
    return f"provider:{name}"
