"""What an administrator can change about the policy: jobs for the database that also write the audit row.

As in `changes`. What changes nothing is not recorded.
"""

import sqlite3

from appliance.admin import policy_wire as wire
from appliance.admin.changes import Change, find_workspace
from appliance.admin.provider_changes import find, unknown
from appliance.admin.wire import InvalidInput
from appliance.calls.policy import LOCAL_PROVIDER
from appliance.store import allow_lists, defaults, live_settings, providers
from appliance.store.workspaces import WorkspaceRow

MAX_LISTED = 100
"""More providers than anybody ranks; bounds what every call goes through."""


def workspace(conn: sqlite3.Connection, name: str | None) -> WorkspaceRow:
    """The workspace of this name, or the default one. Raises `UnknownSubject`."""
    return find_workspace(conn, defaults.WORKSPACE if name is None else name)


def set_allow_list(conn: sqlite3.Connection, change: Change, new: wire.NewAllowList) -> WorkspaceRow:
    """Write a workspace's list, best first.

    Raises:
        UnknownSubject: there is no such workspace or provider.
        InvalidInput: the list is empty, too long, or names one twice.
    """
    of = workspace(conn, new.workspace)
    if not 1 <= len(new.providers) <= MAX_LISTED:
        raise InvalidInput(
            f"An allow-list names 1 to {MAX_LISTED} providers.", advice="synapse policy clear takes a list away."
        )
    known = [LOCAL_PROVIDER, *(row.name for row in providers.list_all(conn))]
    for name in new.providers:
        if name not in known:
            raise unknown(name, known)
    twice = next((name for name in new.providers if new.providers.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"{twice} is named twice.", advice="The order is the ranking: name each once.")
    _put_list(conn, change, "policy.allow", of, new.providers)
    return of


def clear_allow_list(conn: sqlite3.Connection, change: Change, name: str | None) -> WorkspaceRow:
    """Take a workspace's list away, so that its calls go to the active provider. Raises `UnknownSubject`."""
    of = workspace(conn, name)
    _put_list(conn, change, "policy.clear", of, ())
    return of


def set_active(conn: sqlite3.Connection, change: Change, name: str) -> None:
    """Say where calls go that no allow-list is written for.

    Raises:
        UnknownSubject: there is no such provider.
        InvalidInput: it has no full model, so that no call could be answered.
    """
    if name != LOCAL_PROVIDER and find(conn, name).full is None:
        raise InvalidInput(
            f"{name} has no full model, which every call can fall back to.",
            advice=f"Give it one: synapse provider add {name} … --full MODEL.",
        )
    _put_setting(conn, change, live_settings.ACTIVE_PROVIDER, "policy.active", LOCAL_PROVIDER, name)


def set_unscannable(conn: sqlite3.Connection, change: Change, value: wire.RefuseOrAllow) -> None:
    _put_setting(conn, change, live_settings.UNSCANNABLE, "policy.unscannable", "refuse", value)


def set_sensitive_on_open(conn: sqlite3.Connection, change: Change, value: wire.RefuseOrAllow) -> None:
    _put_setting(conn, change, live_settings.SENSITIVE_ON_OPEN, "policy.sensitive-on-open", "refuse", value)


def _put_list(conn: sqlite3.Connection, change: Change, action: str, of: WorkspaceRow, names: tuple[str, ...]) -> None:
    before = allow_lists.get(conn, of.n)
    after = names or None
    if after != before:
        allow_lists.put(conn, of.n, names)
        change.record(conn, action, of.id, before, after)


def _put_setting(conn: sqlite3.Connection, change: Change, setting: str, action: str, default: str, value: str) -> None:
    before = live_settings.get(conn, setting) or default
    if value != before:
        live_settings.put(conn, setting, value)
        change.record(conn, action, "installation", before, value)
