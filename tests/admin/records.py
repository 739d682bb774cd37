"""What was written down of machines: rows of the audit table, entries of the log, all bytes of the database."""

from typing import Any

from appliance.proofs.envelope import NODE_ADMIT, NODE_REVOKE
from appliance.proofs.log import signed
from appliance.store import audit, log_entries
from tests.admin.played import Daemon


async def trail(daemon: Daemon) -> list[Any]:
    """Rows of `store.audit`, the oldest first."""
    rows = await daemon.parts.database.read(lambda conn: audit.newest(conn, limit=99))
    return [row for row in reversed(rows) if row.action.startswith(("node.", "cluster-key."))]


async def actions(daemon: Daemon) -> list[tuple[str, str, str]]:
    return [(row.who, row.action, row.subject) for row in await trail(daemon)]


async def entries(daemon: Daemon) -> list[tuple[str, Any]]:
    """Of machines, type and payload of each, the oldest first."""
    last = await daemon.parts.database.read(log_entries.next_index)
    rows = [await daemon.parts.database.read(lambda conn, n=n: log_entries.get(conn, n)) for n in range(last)]
    kinds = (NODE_ADMIT, NODE_REVOKE)
    return [(row.payload_type, signed(row).payload) for row in rows if row is not None and row.payload_type in kinds]


def stored(daemon: Daemon) -> bytes:
    """All bytes of the database's files, the log of SQLite's too."""
    return b"".join(path.read_bytes() for path in daemon.socket.parent.parent.glob("synapse.db*"))
