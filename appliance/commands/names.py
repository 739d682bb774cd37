"""`synapse workspace create | list` and `synapse user create | list`."""

from appliance.admin import wire
from appliance.admin.client import Client
from appliance.commands import text
from appliance.commands.outcome import Outcome


async def create_workspace(client: Client, name: str) -> Outcome:
    made = await client.create_workspace(name)
    return Outcome(wire.encode(made), (f"Workspace {made.name} ({made.id}) is made.",))


async def show_workspaces(client: Client) -> Outcome:
    found = await client.workspaces()
    return Outcome(wire.encode(found), _table(found.workspaces))


async def create_user(client: Client, name: str) -> Outcome:
    made = await client.create_user(name)
    return Outcome(wire.encode(made), (f"User {made.name} ({made.id}) is made.",))


async def show_users(client: Client) -> Outcome:
    found = await client.users()
    return Outcome(wire.encode(found), _table(found.users))


def _table(rows: tuple[wire.Named, ...]) -> tuple[str, ...]:
    return text.table(("ID", "NAME", "CREATED"), [(row.id, row.name, text.moment(row.created)) for row in rows])
