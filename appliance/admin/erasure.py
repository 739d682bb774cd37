"""Erasing a user: what names the person goes from the database, and what proves that calls were made stays.

Certificates and the ledger hold ids and no word of a call, so that they stay as they are; the ids then lead to a
tombstone. Each kind of content that is kept for a user has its part here. A job for the database.
Source: architecture.md, rule 6; operations.md, "Commands".
"""

import sqlite3

from appliance.admin import changes, shapes, wire
from appliance.admin.changes import Change
from appliance.errors import AdminError
from appliance.store import audit, defaults, facts, keys, users
from appliance.store.migrate import forget_copies
from appliance.times import to_ms


def erase_user(conn: sqlite3.Connection, change: Change, name: str) -> wire.ErasedUser:
    """Revoke the user's keys, forget the names of both, and delete the facts that were found in what the user said.

    Raises:
        UnknownSubject: there is no such user.
        AdminError: it is the user that every installation has.
    """
    user = changes.find_user(conn, name)
    if user.name == defaults.USER:
        raise AdminError(
            f'The user "{user.name}" belongs to the installation and is nobody.',
            advice="Keys are taken away with `synapse key revoke`.",
        )
    # Else what is deleted stays in the file until something else takes its place.
    conn.execute("PRAGMA secure_delete = ON")
    now = to_ms(change.at)
    owned = [row for row in keys.list_all(conn) if row.user_n == user.n]
    for row in owned:
        keys.revoke(conn, row.key_n, now)
        keys.rename(conn, row.key_n, row.key_id)
    users.erase(conn, user.n, now)
    for subject in (user.id, *(row.key_id for row in owned)):
        audit.forget_values(conn, subject)
    deleted = facts.erase_user(conn, user.n)
    change.record(conn, "user.erase", user.id, None, None)
    forget_copies(conn)
    return wire.ErasedUser(shapes.named(changes.find_user(conn, user.id)), len(owned), deleted)
