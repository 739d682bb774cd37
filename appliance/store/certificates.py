"""Which log entry is whose certificate, and which intents still wait for theirs."""

import sqlite3

from appliance.store.log_entries import EntryRow

END = 2**62
"""Above every log index."""

_ENTRY = "log_entries.n, payload_type, body, keyid, signature, entry"


def open_intent(conn: sqlite3.Connection, proof_id: str, log_index: int) -> None:
    conn.execute("INSERT INTO open_intents (log_index, proof_id) VALUES (?, ?)", (log_index, proof_id))


def insert(
    conn: sqlite3.Connection, proof_id: str, log_index: int, workspace_n: int, *, internal: bool = False
) -> None:
    """Record the certificate and close its intent. `internal`: the workspace's keys do not see it.

    Raises:
        sqlite3.IntegrityError: the call has a certificate already.
    """
    conn.execute(
        "INSERT INTO certificates (log_index, proof_id, workspace_n, internal) VALUES (?, ?, ?, ?)",
        (log_index, proof_id, workspace_n, internal),
    )
    conn.execute("DELETE FROM open_intents WHERE proof_id = ?", (proof_id,))


def open_intents(conn: sqlite3.Connection) -> list[EntryRow]:
    """The intents without a certificate, oldest first."""
    rows = conn.execute(
        f"SELECT {_ENTRY} FROM open_intents JOIN log_entries ON log_entries.n = open_intents.log_index"
        " ORDER BY open_intents.log_index"
    )
    return [EntryRow(*row) for row in rows]


def get(conn: sqlite3.Connection, proof_id: str, workspace_n: int | None = None) -> EntryRow | None:
    """The certificate with this id; with `workspace_n` only if that workspace's keys see it."""
    row = conn.execute(
        f"SELECT {_ENTRY} FROM certificates JOIN log_entries ON log_entries.n = certificates.log_index"
        " WHERE proof_id = ?1 AND (?2 IS NULL OR (workspace_n = ?2 AND internal = 0))",
        (proof_id, workspace_n),
    ).fetchone()
    return EntryRow(*row) if row else None


def page(
    conn: sqlite3.Connection, *, limit: int, before: int | None = None, workspace_n: int | None = None
) -> list[EntryRow]:
    """At most `limit` certificates, newest first, whose log index is below `before`; with `workspace_n` those that the
    workspace's keys see."""
    rows = conn.execute(
        f"SELECT {_ENTRY} FROM certificates JOIN log_entries ON log_entries.n = certificates.log_index"
        " WHERE certificates.log_index < :before"
        + (" AND workspace_n = :workspace AND internal = 0" if workspace_n is not None else "")
        + " ORDER BY certificates.log_index DESC LIMIT :limit",
        {"before": END if before is None else before, "workspace": workspace_n, "limit": limit},
    )
    return [EntryRow(*row) for row in rows]
