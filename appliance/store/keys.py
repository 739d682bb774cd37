"""The API keys, each with the workspace and the user that it acts for. Holds digests, never a key."""

import sqlite3
from dataclasses import dataclass

_COLUMNS = """
    keys.n, keys.id, keys.name, workspaces.n, workspaces.id, workspaces.name, users.n, users.id, users.name,
    keys.scopes, keys.read_only, keys.ceiling_milli, keys.requests_per_minute,
    keys.created_ms, keys.expires_ms, keys.revoked_ms, workspaces.allowance_milli
"""

_TABLES = """
    keys JOIN workspaces ON workspaces.n = keys.workspace_n JOIN users ON users.n = keys.user_n
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """A key and whom it acts for: what a request is once its key is known.

    `key_n`, `workspace_n` and `user_n` are row numbers, for other tables to refer to. `ceiling_milli` is in
    thousandths of a question a calendar month, and so is the `allowance_milli` of the workspace; times are
    milliseconds since the epoch.
    """

    key_n: int
    key_id: str
    key_name: str
    workspace_n: int
    workspace_id: str
    workspace: str
    user_n: int
    user_id: str
    user: str
    scopes: frozenset[str]
    read_only: bool
    ceiling_milli: int | None
    requests_per_minute: int | None
    created_ms: int
    expires_ms: int | None
    revoked_ms: int | None
    allowance_milli: int | None = None

    def usable(self, now_ms: int) -> bool:
        """Whether the key opens anything at that time: neither revoked nor expired."""
        return self.revoked_ms is None and (self.expires_ms is None or now_ms < self.expires_ms)


def insert(
    conn: sqlite3.Connection,
    *,
    key_id: str,
    digest: bytes,
    name: str,
    workspace_n: int,
    user_n: int,
    scopes: frozenset[str],
    created_ms: int,
    read_only: bool = False,
    ceiling_milli: int | None = None,
    requests_per_minute: int | None = None,
    expires_ms: int | None = None,
) -> None:
    conn.execute(
        "INSERT INTO keys (id, digest, name, workspace_n, user_n, scopes, read_only, ceiling_milli,"
        " requests_per_minute, expires_ms, created_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            key_id,
            digest,
            name,
            workspace_n,
            user_n,
            " ".join(sorted(scopes)),
            int(read_only),
            ceiling_milli,
            requests_per_minute,
            expires_ms,
            created_ms,
        ),
    )


def by_digest(conn: sqlite3.Connection, digest: bytes) -> Caller | None:
    """The key whose SHA-256 is `digest`, revoked and expired ones included: ask `usable`."""
    row = conn.execute(f"SELECT {_COLUMNS} FROM {_TABLES} WHERE keys.digest = ?", (digest,)).fetchone()
    return _caller(row) if row else None


def by_id(conn: sqlite3.Connection, key_id: str) -> Caller | None:
    row = conn.execute(f"SELECT {_COLUMNS} FROM {_TABLES} WHERE keys.id = ?", (key_id,)).fetchone()
    return _caller(row) if row else None


def by_name(conn: sqlite3.Connection, name: str) -> list[Caller]:
    """Every key of that name, oldest first: a name may be used again."""
    rows = conn.execute(f"SELECT {_COLUMNS} FROM {_TABLES} WHERE keys.name = ? ORDER BY keys.n", (name,))
    return [_caller(row) for row in rows]


def list_all(conn: sqlite3.Connection) -> list[Caller]:
    """All of them, oldest first, revoked ones included."""
    return [_caller(row) for row in conn.execute(f"SELECT {_COLUMNS} FROM {_TABLES} ORDER BY keys.n")]


def revoke(conn: sqlite3.Connection, key_n: int, revoked_ms: int) -> None:
    """A key that was revoked before keeps its first time."""
    conn.execute("UPDATE keys SET revoked_ms = ? WHERE n = ? AND revoked_ms IS NULL", (revoked_ms, key_n))


def rename(conn: sqlite3.Connection, key_n: int, name: str) -> None:
    conn.execute("UPDATE keys SET name = ? WHERE n = ?", (name, key_n))


def _caller(row: tuple[object, ...]) -> Caller:
    values = list(row)
    values[9] = frozenset(str(values[9]).split())
    values[10] = bool(values[10])
    return Caller(*values)  # type: ignore[arg-type]  the columns are in the order of the fields
