"""Opens the database and looks: is it whole, whose is it, does what is sealed in it open. Writes nothing."""

import os
import shutil
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from appliance.doctor.facts import DatabaseFacts, DiskFacts, Problem
from appliance.errors import StateError
from appliance.proofs import identity
from appliance.store import installation, providers
from appliance.store.migrate import APPLICATION_ID, migrations
from appliance.store.replacing import DATABASE
from appliance.store.sealing import Sealer, read_key
from appliance.times import from_ms

THOROUGH_BYTES = 1_000_000_000
"""Up to this size the indexes are compared with their tables too, which takes several times as long."""

BUSY_SECONDS = 10.0

FAULTS = 3


def database(state_dir: Path, environ: Mapping[str, str]) -> DatabaseFacts:
    path = state_dir / DATABASE
    facts = DatabaseFacts(newest_schema=migrations()[-1][0])
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return replace(facts, there=False)
    except OSError:
        return replace(facts, hidden=True)
    if not os.access(path, os.R_OK):
        return replace(facts, hidden=True, bytes=size)
    conn = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None, timeout=BUSY_SECONDS)
    facts = replace(facts, bytes=size, thorough=size <= THOROUGH_BYTES)
    try:
        return _looked_into(conn, facts, state_dir, environ)
    except sqlite3.Error as error:
        return replace(facts, problem=str(error))
    finally:
        conn.close()


def disk(state_dir: Path) -> DiskFacts | None:
    """Of the nearest directory that is there; None where the system does not say."""
    for directory in (state_dir, *state_dir.parents):
        try:
            usage = shutil.disk_usage(directory)
        except OSError:
            continue
        return DiskFacts(usage.free, usage.total)
    return None


def _looked_into(
    conn: sqlite3.Connection, facts: DatabaseFacts, state_dir: Path, environ: Mapping[str, str]
) -> DatabaseFacts:
    application: int = conn.execute("PRAGMA application_id").fetchone()[0]
    schema: int = conn.execute("PRAGMA user_version").fetchone()[0]
    facts = replace(facts, schema=schema, ours=application == APPLICATION_ID or (application, schema) == (0, 0))
    if not facts.ours or schema > facts.newest_schema or not schema:
        return facts
    pragma = "integrity_check" if facts.thorough else "quick_check"
    rows = [str(row[0]) for row in conn.execute(f"PRAGMA {pragma}({FAULTS})")]
    faults = tuple(row for row in rows if row != "ok")
    facts = replace(facts, faults=faults, installation=installation.get(conn))
    if faults or facts.installation is None:
        return facts
    newest: int | None = conn.execute("SELECT max(at_ms) FROM ledger").fetchone()[0]
    facts = replace(facts, newest_call=None if newest is None else from_ms(newest))
    try:
        key = read_key(state_dir, environ)
    except (StateError, OSError):
        key = None  # told with the key file
    return facts if key is None else _opened(conn, facts, Sealer(key))


def _opened(conn: sqlite3.Connection, facts: DatabaseFacts, sealer: Sealer) -> DatabaseFacts:
    try:
        identity.load(conn, sealer, random=bytes, now=datetime.fromtimestamp(0, UTC))  # there is one: none is made
    except StateError as error:
        return replace(facts, sealed_problem=Problem(error.message, error.advice))
    if facts.schema < facts.newest_schema:
        return facts
    return replace(
        facts, closed_providers=tuple(row.name for row in providers.list_all(conn) if not _opens(row, sealer))
    )


def _opens(row: providers.ProviderRow, sealer: Sealer) -> bool:
    try:
        providers.opened(row, sealer)
    except StateError:
        return False
    return True
