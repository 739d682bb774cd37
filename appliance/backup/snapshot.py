"""Copies a database while others use it, and checks a copy by opening it. Knows nothing of what becomes of it."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from urllib.parse import quote

from appliance.errors import StateError
from appliance.proofs import identity
from appliance.store import installation
from appliance.store.migrate import APPLICATION_ID, migrations
from appliance.store.sealing import Sealer

BUSY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Checked:
    """`installation` is the installation's own name, `public_keys` the JWK set that its certificates are checked
    with."""

    schema: int
    installation: str
    public_keys: bytes


class Stop:
    """Lets another thread end what SQLite is doing."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._conn: sqlite3.Connection | None = None
        self._stopped = False

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._conn is not None:
                self._conn.interrupt()

    @contextmanager
    def during(self, conn: sqlite3.Connection) -> Generator[None]:
        """Raises `sqlite3.OperationalError`, here or in the block, once it is to stop."""
        with self._lock:
            if self._stopped:
                raise sqlite3.OperationalError("interrupted")
            self._conn = conn
        try:
            yield
        finally:
            with self._lock:
                self._conn = None


def copy(database: Path, into: Path, stop: Stop) -> None:
    """Write the database as it is now into a new file, which its owner alone can read.

    Raises:
        StateError: it cannot be read, or there is no room.
        OSError: the file cannot be made.
    """
    into.unlink(missing_ok=True)
    os.close(os.open(into, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    conn = _connected(database, "mode=ro")
    try:
        with stop.during(conn):
            conn.execute("VACUUM INTO ?", (str(into),))
    except sqlite3.Error as error:
        raise StateError(
            f"The database {database} cannot be copied ({error}).",
            advice="Check the disk of the state directory and its free space; synapse doctor says more.",
        ) from error
    finally:
        conn.close()


def check(file: Path, key: bytes, stop: Stop) -> Checked:
    """Open a copy that nobody else uses, read every page of it, and open what is sealed in it with this key.

    Raises:
        StateError: it is damaged, another program's, newer than this version, or sealed with another key.
    """
    conn = _connected(file, "mode=ro&immutable=1")
    try:
        with stop.during(conn):
            return _checked(conn, key)
    except sqlite3.Error as error:
        raise StateError(
            f"The copy of the database cannot be read ({error}).", advice="synapse doctor says how the database is."
        ) from error
    finally:
        conn.close()


def check_schema(schema: int) -> None:
    """Raises `StateError` where the backup is of a newer version."""
    newest = migrations()[-1][0]
    if schema > newest:
        raise StateError(
            f"The backup has schema {schema}; this version knows schemas up to {newest}.",
            advice="Install the version of Synapse that made it, or a newer one.",
        )


def _checked(conn: sqlite3.Connection, key: bytes) -> Checked:
    if conn.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StateError("The database is another program's.", advice="Point `state_dir` at the right directory.")
    schema: int = conn.execute("PRAGMA user_version").fetchone()[0]
    check_schema(schema)
    faults = [row[0] for row in conn.execute("PRAGMA integrity_check(1)") if row[0] != "ok"]
    if faults:
        raise StateError(
            f"The database is damaged ({faults[0]}).", advice="Restore the newest good backup: synapse restore FILE."
        )
    name = installation.get(conn)
    if name is None:
        raise StateError("The database holds no installation yet.", advice="Start the daemon once: synapse serve.")
    # Where there is an installation nothing is made: neither clock nor random source are used.
    identity.load(conn, Sealer(key), random=bytes, now=datetime.fromtimestamp(0, UTC))
    return Checked(schema, name, identity.public_keys(conn).to_json())


def _connected(file: Path, how: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(f"file:{quote(str(file))}?{how}", uri=True, isolation_level=None, timeout=BUSY_SECONDS)
    except sqlite3.Error as error:
        raise StateError(
            f"The database {file} cannot be opened ({error}).",
            advice="Run this as the user that runs the daemon, or as root.",
        ) from error
