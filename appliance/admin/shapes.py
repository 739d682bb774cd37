"""From rows of the database to the shapes of `wire`. Pure: takes rows and the time, reads nothing."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import orjson

from appliance.admin import event_wire, wire
from appliance.cluster.machine import canonical
from appliance.store.audit import AuditRow
from appliance.store.keys import Caller
from appliance.store.providers import ProviderRow
from appliance.store.users import UserRow
from appliance.store.workspaces import WorkspaceRow
from appliance.times import from_ms, rfc3339, to_ms

FALLBACK: Mapping[wire.Role, wire.Role] = {"fast": "full", "local": "full"}
"""Source: routing.md, "fast falls back to full; local falls back to the local lane's full model"."""


def change(row: AuditRow) -> event_wire.Change:
    before, after = (None if value is None else orjson.dumps(value).decode() for value in (row.before, row.after))
    return event_wire.Change(row.n, rfc3339(from_ms(row.at_ms)), row.who, row.action, row.subject, before, after)


def named(row: UserRow) -> wire.Named:
    return wire.Named(id=row.id, name=row.name, created=_time(row.created_ms))


def workspace(row: WorkspaceRow, used_milli: int) -> wire.Workspace:
    return wire.Workspace(row.id, row.name, _time(row.created_ms), row.allowance_milli, used_milli)


def key(row: Caller, now: datetime) -> wire.Key:
    return wire.Key(
        id=row.key_id,
        name=row.key_name,
        user=row.user,
        workspace=row.workspace,
        scopes=tuple(sorted(row.scopes)),
        read_only=row.read_only,
        ceiling_milli=row.ceiling_milli,
        requests_per_minute=row.requests_per_minute,
        created=_time(row.created_ms),
        expires=None if row.expires_ms is None else _time(row.expires_ms),
        revoked=None if row.revoked_ms is None else _time(row.revoked_ms),
        state="revoked" if row.revoked_ms is not None else "active" if row.usable(to_ms(now)) else "expired",
    )


def key_count(rows: Iterable[Caller], now: datetime) -> wire.KeyCount:
    states = [key(row, now).state for row in rows]
    return wire.KeyCount(
        active=states.count("active"), expired=states.count("expired"), revoked=states.count("revoked")
    )


def local_lane(machines: Sequence[wire.Machine], model: str | None, problem: str | None) -> wire.Lane:
    healthy = sum(machine.healthy for machine in machines)
    return wire.Lane(name="ollama", local=True, ready=problem is None, machines=healthy, model=model, why=problem)


def external_lane(row: ProviderRow) -> wire.Lane:
    why = None if row.full else "it has no full model"
    return wire.Lane(name=row.name, local=False, ready=why is None, machines=0, model=row.full, why=why)


def models(
    configured: Mapping[str, str], machines: Sequence[wire.Machine], default: str | None, revision: int = 0
) -> wire.ModelList:
    """What each role's model is, and whether a healthy machine has it. `default` stands in for a full model."""
    present = {canonical(model) for machine in machines if machine.healthy for model in machine.models}
    return wire.ModelList(
        roles=tuple(_role(role, configured, present, default) for role in wire.ROLES),
        machines=tuple(machines),
        revision=revision,
    )


def _role(role: wire.Role, configured: Mapping[str, str], present: set[str], default: str | None) -> wire.RoleModel:
    own = configured.get(role)
    follows = None if own else FALLBACK.get(role)
    effective = own or (None if role == "embedding" else configured.get("full") or default)
    return wire.RoleModel(
        role=role,
        configured=own,
        effective=effective,
        follows=follows,
        available=effective is not None and canonical(effective) in present,
    )


def _time(ms: int) -> str:
    return rfc3339(from_ms(ms))
