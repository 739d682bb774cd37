"""What an administrator can change about the policy: jobs for the database that also write the audit row.

As in `changes`. What changes nothing is not recorded.
"""

import sqlite3

from appliance.admin import policy_wire as wire
from appliance.admin import seen
from appliance.admin.changes import Change, find_workspace
from appliance.admin.provider_changes import find, unknown
from appliance.admin.seen import Subject
from appliance.admin.wire import InvalidInput
from appliance.calls.policy import LOCAL_PROVIDER
from appliance.store import allow_lists, defaults, live_settings, providers
from appliance.store.workspaces import WorkspaceRow

MAX_LISTED = 100
"""More providers than anybody ranks; bounds what every call goes through."""

INSTALLATION = "installation"
"""The subject of what holds for every workspace."""


def workspace(conn: sqlite3.Connection, name: str | None) -> WorkspaceRow:
    """The workspace of this name, or the default one. Raises `UnknownSubject`."""
    return find_workspace(conn, defaults.WORKSPACE if name is None else name)


def set_allow_list(conn: sqlite3.Connection, change: Change, new: wire.NewAllowList) -> WorkspaceRow:
    """Write a workspace's list, best first.

    Raises:
        Conflict: the policy is not any more what was looked at, here and below.
        UnknownSubject: there is no such workspace or provider.
        InvalidInput: the list is empty, too long, or names one twice.
    """
    of = workspace(conn, new.workspace)
    seen.check(conn, new.seen, _policy(of.id, INSTALLATION))
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


def clear_allow_list(
    conn: sqlite3.Connection, change: Change, name: str | None, revision_seen: int | None = None
) -> WorkspaceRow:
    """Take a workspace's list away: its calls go to the active provider. Raises `UnknownSubject`, `Conflict`."""
    of = workspace(conn, name)
    seen.check(conn, revision_seen, _policy(of.id, INSTALLATION))
    _put_list(conn, change, "policy.clear", of, ())
    return of


def set_active(conn: sqlite3.Connection, change: Change, new: wire.NewActive) -> None:
    """Say where calls go that no allow-list is written for.

    Raises:
        UnknownSubject: there is no such provider.
        InvalidInput: it has no full model, so that no call could be answered.
    """
    name = new.provider
    seen.check(conn, new.seen, _policy(INSTALLATION))
    if name != LOCAL_PROVIDER and find(conn, name).full is None:
        raise InvalidInput(
            f"{name} has no full model, which every call can fall back to.",
            advice=f"Give it one: synapse provider add {name} … --full MODEL.",
        )
    _put_setting(conn, change, live_settings.ACTIVE_PROVIDER, "policy.active", LOCAL_PROVIDER, name)


def set_unscannable(conn: sqlite3.Connection, change: Change, new: wire.NewChoice) -> None:
    seen.check(conn, new.seen, _policy(INSTALLATION))
    _put_setting(conn, change, live_settings.UNSCANNABLE, "policy.unscannable", "refuse", new.value)


def set_sensitive_on_open(conn: sqlite3.Connection, change: Change, new: wire.NewChoice) -> None:
    seen.check(conn, new.seen, _policy(INSTALLATION))
    _put_setting(conn, change, live_settings.SENSITIVE_ON_OPEN, "policy.sensitive-on-open", "refuse", new.value)


def revision(conn: sqlite3.Connection, of: WorkspaceRow) -> int:
    """Of what holds for this workspace."""
    return seen.revision(conn, _policy(of.id, INSTALLATION))


def _policy(*subjects: str) -> Subject:
    return Subject("the policy", "policy.*", subjects)


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
        change.record(conn, action, INSTALLATION, before, value)
