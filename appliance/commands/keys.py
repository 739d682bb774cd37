"""`synapse key create | list | revoke`."""

from datetime import datetime, timedelta

from appliance.admin import looks, wire
from appliance.admin.client import Client
from appliance.commands import text
from appliance.commands.outcome import Outcome


async def create(client: Client, new: wire.NewKey) -> Outcome:
    made = await client.create_key(new)
    key = made.key
    lines = (
        f"Key {key.name} is made, for user {key.user} in workspace {key.workspace}.",
        f"It may: {_rights(key)}.",
        "",
        f"  id   {key.id}",
        f"  key  {made.secret}",
        "",
        "The key is shown this once only: keep it now.",
    )
    return Outcome(wire.encode(made), lines)


async def show_all(client: Client) -> Outcome:
    found = await client.keys()
    rows = [
        (key.id, key.name, f"{key.user}@{key.workspace}", _rights(key), _state(key))
        for key in found.keys
        if key.state != "revoked"
    ]
    none = "There is no key that works." if found.keys else "There is no key yet."
    lines = text.table(("ID", "NAME", "FOR", "MAY", "STATE"), rows, whole=(0, 4)) if rows else (none,)
    hidden = sum(key.state == "revoked" for key in found.keys)
    notes = (f"Revoked keys are not shown ({hidden}); --json lists all.",) if hidden else ()
    return Outcome(wire.encode(found), lines, notes=notes)


async def revoke(client: Client, id_or_name: str) -> Outcome:
    key = await client.revoke_key(id_or_name)
    return Outcome(wire.encode(key), (f"Key {key.name} ({key.id}) is revoked: the next request with it is refused.",))


def _rights(key: wire.Key) -> str:
    parts = [*key.scopes]
    if key.read_only:
        parts.append("read-only")
    if key.ceiling_milli is not None:
        used = "" if key.used_milli is None else f"{looks.questions(key.used_milli)} of "
        parts.append(f"{used}{looks.questions(key.ceiling_milli)} questions a month")
    if key.requests_per_minute is not None:
        parts.append(f"{key.requests_per_minute} requests a minute")
    return ", ".join(parts)


def _state(key: wire.Key) -> str:
    """For a key that works until some day, its last day: the list has no room for the hour."""
    if key.state != "active" or key.expires is None:
        return key.state
    last = datetime.fromisoformat(key.expires) - timedelta(milliseconds=1)
    return f"to {last.date().isoformat()}"
