"""What exists from the start: a workspace and a user, so that the first key needs neither to be made."""

import sqlite3
from datetime import datetime

from appliance.ids import Ids
from appliance.store import audit, users, workspaces
from appliance.times import to_ms

WORKSPACE = "default"
USER = "admin"

_WHO = "synapse"
"""Who made them, in the audit table: the program itself."""


def ensure_defaults(conn: sqlite3.Connection, now: datetime, ids: Ids) -> None:
    """Make the default workspace and user where they are missing; otherwise change nothing.

    Source: operations.md, "A workspace `default` and a user `admin` exist from the start".
    """
    at_ms = to_ms(now)
    if workspaces.by_name(conn, WORKSPACE) is None:
        workspaces.insert(conn, workspace_id=ids.new("ws"), name=WORKSPACE, created_ms=at_ms)
        _record(conn, at_ms, "workspace.create", WORKSPACE)
    if users.by_name(conn, USER) is None:
        users.insert(conn, user_id=ids.new("usr"), name=USER, created_ms=at_ms)
        _record(conn, at_ms, "user.create", USER)


def _record(conn: sqlite3.Connection, at_ms: int, action: str, name: str) -> None:
    audit.insert(conn, at_ms=at_ms, who=_WHO, action=action, subject=name, before=None, after={"name": name})
