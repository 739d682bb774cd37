"""The settings that change while the daemon runs (routing.md), each a name and a JSON value."""

import sqlite3
from typing import Literal, cast

import orjson

ShieldMode = Literal["standard", "medical", "off"]

LOCAL_MODELS = "local.models"
"""The local lane's models: an object of role (`full`, `fast`, `local`, `embedding`) and model name."""

SHIELD_MODE = "shield.mode"
"""What an administrator has set instead of the settings file's mode."""
ACTIVE_PROVIDER = "policy.active"
"""Name of the provider that calls go to where a workspace has no allow-list."""

UNSCANNABLE = "policy.unscannable"
"""`refuse` or `allow`: pictures and files towards an external provider."""

SENSITIVE_ON_OPEN = "policy.sensitive_on_open"
"""`refuse` or `allow`: sensitive calls on machines that are known by their address only."""


def get(conn: sqlite3.Connection, name: str) -> object | None:
    """The value, or None where none was set."""
    row = conn.execute("SELECT value FROM live_settings WHERE name = ?", (name,)).fetchone()
    return orjson.loads(row[0]) if row else None


def put(conn: sqlite3.Connection, name: str, value: object) -> None:
    conn.execute(
        "INSERT INTO live_settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, orjson.dumps(value).decode()),
    )


def local_models(conn: sqlite3.Connection) -> dict[str, str]:
    """What `model set` has set; a role that is not set is not there."""
    value = get(conn, LOCAL_MODELS)
    return cast(dict[str, str], value) if isinstance(value, dict) else {}


def shield_mode(conn: sqlite3.Connection) -> ShieldMode | None:
    """What `shield set` has set; None while the settings file decides."""
    return cast("ShieldMode | None", get(conn, SHIELD_MODE))
