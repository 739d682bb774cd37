"""Brings the schema up to date: numbered SQL files, each in one transaction, counted in `user_version`."""

import re
import sqlite3
from importlib.resources import files
from pathlib import Path

from appliance.errors import StateError

APPLICATION_ID = 0x53594E41
"""`SYNA`: marks the file as ours, so that another program's database is never migrated by mistake."""


def migrations() -> list[tuple[int, str]]:
    """The numbered migrations as `(number, SQL)`, in order."""
    found: list[tuple[int, str]] = []
    for entry in files("appliance.store.migrations").iterdir():
        match = re.fullmatch(r"(\d{4})_\w+\.sql", entry.name)
        if match:
            found.append((int(match[1]), entry.read_text(encoding="utf-8")))
    return sorted(found)


def migrate(conn: sqlite3.Connection) -> None:
    """Apply what is missing, after a copy of what is there.

    Raises:
        StateError: the file is another program's, or was written by a newer version.
    """
    version: int = conn.execute("PRAGMA user_version").fetchone()[0]
    application: int = conn.execute("PRAGMA application_id").fetchone()[0]
    if application not in (0, APPLICATION_ID) or (application == 0 and _has_tables(conn)):
        raise StateError(
            "The database file belongs to another program.", advice="Point `state_dir` at a directory of its own."
        )
    steps = migrations()
    newest = steps[-1][0]
    if version > newest:
        raise StateError(
            f"The database has schema {version}; this version knows schemas up to {newest}.",
            advice="Install the version of Synapse that wrote it, or a newer one.",
        )
    if 0 < version < newest:
        _back_up(conn, version)
    for number, sql in steps:
        if number > version:
            _apply(conn, number, sql)


def forget_copies(conn: sqlite3.Connection) -> int:
    """Delete the copies that migrations have left beside the file; how many there were.

    They hold what was erased since, and an older program that went on with one would bring it back.
    """
    if not (file := _file(conn)):
        return 0
    copies = list(Path(file).parent.glob(f"{Path(file).name}.schema-*"))
    for copy in copies:
        copy.unlink(missing_ok=True)
    return len(copies)


def _back_up(conn: sqlite3.Connection, version: int) -> None:
    """Keep the file as it was, beside it: an older program can go on with the copy."""
    file = _file(conn)
    copy, part = Path(f"{file}.schema-{version}"), Path(f"{file}.schema-{version}.new")
    part.unlink(missing_ok=True)
    conn.execute("VACUUM INTO ?", (str(part),))
    part.chmod(Path(file).stat().st_mode & 0o777)
    part.rename(copy)


def _file(conn: sqlite3.Connection) -> str:
    """The path of the database, "" for one in memory."""
    return conn.execute("PRAGMA database_list").fetchone()[2]


def _apply(conn: sqlite3.Connection, number: int, sql: str) -> None:
    try:
        conn.executescript(
            f"BEGIN IMMEDIATE; {sql}\nPRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number}; COMMIT;"
        )
    except sqlite3.Error:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise


def _has_tables(conn: sqlite3.Connection) -> bool:
    return conn.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() is not None
