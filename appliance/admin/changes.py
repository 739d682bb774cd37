"""What an administrator can change: each a job for the database that also writes the audit row.

Plain functions of a connection, run inside one transaction, so that no change is without its record and no
record without its change. An audit row never holds a key's secret.
"""

import difflib
import sqlite3
import unicodedata
from dataclasses import dataclass, replace
from datetime import datetime

from appliance.admin import seen, shapes, wire
from appliance.admin.seen import Subject
from appliance.cluster.machine import leaves_the_building
from appliance.errors import AdminError
from appliance.ids import Ids, digest
from appliance.metering.months import month_of
from appliance.store import audit, defaults, keys, live_settings, rollups, users, workspaces
from appliance.store.keys import Caller
from appliance.times import parse_rfc3339, to_ms

NAME_CHARACTERS = 64
"""Long enough for a person, a team or a program, and short enough for a table."""

MODEL_CHARACTERS = 256

MAX_CEILING_MILLI = 10**15
"""A trillion questions a month: beyond any use, and far from where 64 bits end."""

MAX_REQUESTS_PER_MINUTE = 1_000_000

MODELS = Subject("a role's model", "model.*set", wire.ROLES)
"""Not what machines pull, which is recorded by the model's name."""

SHIELD_MODE = Subject("the shield's mode", "shield.*", ("mode",))


@dataclass(frozen=True, slots=True)
class Change:
    """Who changes something, when, and where new ids come from."""

    who: str
    at: datetime
    ids: Ids

    def record(self, conn: sqlite3.Connection, action: str, subject: str, before: object, after: object) -> None:
        audit.insert(
            conn,
            at_ms=to_ms(self.at),
            who=self.who,
            action=action,
            subject=subject,
            before=before,
            after=after,
        )


def create_workspace(conn: sqlite3.Connection, change: Change, new: wire.NewName) -> wire.Workspace:
    """Raises `AdminError` where the name is taken, `InvalidInput` where it is none."""
    name = clean_name(new.name)
    workspaces.insert(conn, workspace_id=change.ids.new("ws"), name=name, created_ms=to_ms(change.at))
    made = shapes.workspace(find_workspace(conn, name), 0)
    change.record(conn, "workspace.create", made.id, None, {"name": made.name})
    return made


def set_allowance(conn: sqlite3.Connection, change: Change, new: wire.NewAllowance) -> wire.Workspace:
    """How many questions a workspace has in a month, from the next call on.

    Raises:
        InvalidInput: more than can be counted.
        UnknownSubject: there is no such workspace.
    """
    if new.allowance_milli is not None and not 0 <= new.allowance_milli <= MAX_CEILING_MILLI:
        raise wire.InvalidInput("That is no number of questions.", advice="Give one between 0 and a trillion.")
    before = find_workspace(conn, new.workspace)
    workspaces.set_allowance(conn, before.n, new.allowance_milli)
    change.record(conn, "workspace.allowance", before.id, before.allowance_milli, new.allowance_milli)
    return _workspace(conn, find_workspace(conn, new.workspace), change.at)


def _workspace(conn: sqlite3.Connection, row: workspaces.WorkspaceRow, now: datetime) -> wire.Workspace:
    month = month_of(now)
    first, last = month.days
    return shapes.workspace(row, rollups.month_milli(conn, workspace_n=row.n, first_day=first, last_day=last))


def list_keys(conn: sqlite3.Connection, now: datetime) -> tuple[wire.Key, ...]:
    """All of them, oldest first, with what each has used in the month of `now`."""
    first, last = month_of(now).days
    return tuple(
        replace(
            shapes.key(row, now),
            used_milli=rollups.month_milli(conn, key_n=row.key_n, first_day=first, last_day=last),
        )
        for row in keys.list_all(conn)
    )


def list_workspaces(conn: sqlite3.Connection, now: datetime) -> tuple[wire.Workspace, ...]:
    """All of them, oldest first, with what each has used in the month of `now`."""
    return tuple(_workspace(conn, row, now) for row in workspaces.list_all(conn))


def create_user(conn: sqlite3.Connection, change: Change, new: wire.NewName) -> wire.Named:
    """Raises `AdminError` where the name is taken, `InvalidInput` where it is none."""
    name = clean_name(new.name)
    if name.startswith("usr_"):
        raise wire.InvalidInput("A user's name cannot begin with usr_, as ids do.", advice="Choose another name.")
    users.insert(conn, user_id=change.ids.new("usr"), name=name, created_ms=to_ms(change.at))
    made = shapes.named(find_user(conn, name))
    change.record(conn, "user.create", made.id, None, wire.encode(made))
    return made


def create_key(conn: sqlite3.Connection, change: Change, new: wire.NewKey) -> wire.CreatedKey:
    """Make a key; its secret is in the result and nowhere else.

    Raises:
        InvalidInput: a value is not allowed.
        UnknownSubject: there is no such user or workspace.
    """
    name = clean_name(new.name)
    if name.startswith("key_"):
        raise wire.InvalidInput("A key's name cannot begin with key_, as ids do.", advice="Choose another name.")
    key_id, secret = change.ids.new("key"), change.ids.api_key()
    keys.insert(
        conn,
        key_id=key_id,
        digest=digest(secret),
        name=name,
        workspace_n=find_workspace(conn, new.workspace if new.workspace is not None else defaults.WORKSPACE).n,
        user_n=_present_user(conn, new.user if new.user is not None else defaults.USER).n,
        scopes=_scopes(new.scopes),
        read_only=new.read_only,
        ceiling_milli=_within("The ceiling", new.ceiling_milli, 0, MAX_CEILING_MILLI),
        requests_per_minute=_within("The rate", new.requests_per_minute, 1, MAX_REQUESTS_PER_MINUTE),
        expires_ms=_expiry(new.expires, change.at),
        created_ms=to_ms(change.at),
    )
    made = shapes.key(find_key(conn, key_id), change.at)
    change.record(conn, "key.create", key_id, None, wire.encode(made))
    return wire.CreatedKey(secret=secret, key=made)


def revoke_key(conn: sqlite3.Connection, change: Change, id_or_name: str) -> wire.Key:
    """Revoke a key. One that is revoked already stays as it is, and nothing is recorded.

    Raises:
        UnknownSubject: there is no such key.
        AdminError: several keys that are not revoked have this name.
    """
    row = find_key(conn, id_or_name)
    if row.revoked_ms is not None:
        return shapes.key(row, change.at)
    before = shapes.key(row, change.at)
    keys.revoke(conn, row.key_n, to_ms(change.at))
    after = shapes.key(find_key(conn, row.key_id), change.at)
    change.record(conn, "key.revoke", row.key_id, wire.encode(before), wire.encode(after))
    return after


def set_model(conn: sqlite3.Connection, change: Change, role: wire.Role, new: wire.NewModel) -> None:
    """Give a role of the local lane its model, whether or not a machine has it now.

    Raises:
        Conflict: it is not any more what was looked at, here and below.
        InvalidInput: that is no model's name, or the name of one that leaves the building.
    """
    seen.check(conn, new.seen, _model_of(role))
    _put_model(conn, change, "model.set", role, clean_model(new.name))


def unset_model(conn: sqlite3.Connection, change: Change, role: wire.Role, revision_seen: int | None = None) -> None:
    """Let a role fall back again. Raises `Conflict`."""
    seen.check(conn, revision_seen, _model_of(role))
    _put_model(conn, change, "model.unset", role, None)


def set_shield_mode(conn: sqlite3.Connection, change: Change, new: wire.NewShieldMode, configured: str) -> None:
    """Say what the shield masks from the next call on. `configured` holds while nothing was set. Raises `Conflict`."""
    seen.check(conn, new.seen, SHIELD_MODE)
    before = live_settings.shield_mode(conn) or configured
    live_settings.put(conn, live_settings.SHIELD_MODE, new.mode)
    if new.mode != before:
        change.record(conn, "shield.set", "mode", before, new.mode)


def _model_of(role: wire.Role) -> Subject:
    """With that of the role that it falls back to, which is shown in its place."""
    roles = (role, *((shapes.FALLBACK[role],) if role in shapes.FALLBACK else ()))
    return Subject(f"the model of {role}", MODELS.actions, roles)


def _put_model(conn: sqlite3.Connection, change: Change, action: str, role: wire.Role, name: str | None) -> None:
    before = live_settings.local_models(conn)
    after = {other: model for other, model in before.items() if other != role} | ({role: name} if name else {})
    if after != before:
        live_settings.put(conn, live_settings.LOCAL_MODELS, after)
        change.record(conn, action, role, before.get(role), name)


def find_key(conn: sqlite3.Connection, id_or_name: str) -> Caller:
    if (found := keys.by_id(conn, id_or_name)) is not None:
        return found
    same_name = keys.by_name(conn, unicodedata.normalize("NFC", id_or_name))
    open_ones = [row for row in same_name if row.revoked_ms is None]
    if len(open_ones) > 1:
        raise AdminError(
            f'{len(open_ones)} keys are named "{id_or_name}".',
            advice=f"Give the id of one: {', '.join(row.key_id for row in open_ones)}.",
        )
    if not same_name:
        raise wire.UnknownSubject(f'There is no key "{id_or_name}".', advice="synapse key list shows them all.")
    return (open_ones or same_name)[-1]


def find_workspace(conn: sqlite3.Connection, name: str) -> workspaces.WorkspaceRow:
    row = workspaces.by_name(conn, unicodedata.normalize("NFC", name))
    if row is None:
        raise _nothing_named("workspace", name, [row.name for row in workspaces.list_all(conn)])
    return row


def find_user(conn: sqlite3.Connection, name: str) -> users.UserRow:
    row = users.by_name(conn, unicodedata.normalize("NFC", name))
    if row is None:
        raise _nothing_named("user", name, [row.name for row in users.list_all(conn)])
    return row


def _present_user(conn: sqlite3.Connection, name: str) -> users.UserRow:
    row = find_user(conn, name)
    if row.erased_ms is not None:
        raise AdminError(f"The user {row.id} was erased.", advice="Make another: synapse user create NAME.")
    return row


def _nothing_named(kind: str, name: str, known: list[str]) -> wire.UnknownSubject:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f'Did you mean "{near[0]}"? ' if near else ""
    return wire.UnknownSubject(
        f'There is no {kind} "{name}".',
        advice=f"{hint}synapse {kind} list shows them all, synapse {kind} create NAME makes one.",
    )


def clean_name(name: str) -> str:
    """The name in Unicode's composed form, so that what looks the same is the same. Raises `InvalidInput`."""
    clean = unicodedata.normalize("NFC", name)
    if not 1 <= len(clean) <= NAME_CHARACTERS or not clean.isprintable() or clean != clean.strip():
        raise wire.InvalidInput(
            "That is no name.",
            advice=f"A name has 1 to {NAME_CHARACTERS} printable characters, and no space at its ends.",
        )
    return clean


def clean_model(name: str) -> str:
    """The name of a model that can run inside. Raises `InvalidInput` for what is none, or leaves the building."""
    if not 1 <= len(name) <= MODEL_CHARACTERS or not name.isprintable() or name != name.strip():
        raise wire.InvalidInput(
            "That is no model's name.", advice="synapse model list shows the models that the machines have."
        )
    if leaves_the_building(name, None):
        raise wire.InvalidInput(
            f"{name} runs on Ollama's own cloud, and the local lane never leaves the building.",
            advice="Choose a model that a machine of this installation has.",
        )
    return name


def _scopes(given: tuple[str, ...]) -> frozenset[str]:
    for scope in given:
        if scope not in wire.SCOPES:
            near = difflib.get_close_matches(scope, wire.SCOPES, n=1)
            raise wire.InvalidInput(
                f'There is no scope "{scope}".',
                advice=f'Did you mean "{near[0]}"?' if near else f"There are: {', '.join(wire.SCOPES)}.",
            )
    return frozenset(given) or frozenset({"engine"})


def _within(what: str, value: int | None, low: int, high: int) -> int | None:
    if value is not None and not low <= value <= high:
        raise wire.InvalidInput(f"{what} is {value}.", advice=f"It must be from {low} to {high}.")
    return value


def _expiry(text: str | None, now: datetime) -> int | None:
    if text is None:
        return None
    try:
        at = parse_rfc3339(text)
    except (ValueError, OverflowError) as error:
        raise wire.InvalidInput("expires must be a time of RFC 3339, such as 2027-01-31T00:00:00Z.") from error
    if at <= now:
        raise wire.InvalidInput("The key would have expired already.", advice="Give a time to come.")
    return to_ms(at)
