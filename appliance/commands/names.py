"""`synapse workspace create | list | allowance`, `synapse user create | list` and `synapse erase`."""

from appliance.admin import looks, wire
from appliance.admin.client import Client
from appliance.commands import text
from appliance.commands.outcome import Outcome


async def create_workspace(client: Client, name: str) -> Outcome:
    made = await client.create_workspace(name)
    return Outcome(wire.encode(made), (f"Workspace {made.name} ({made.id}) is made.",))


async def show_workspaces(client: Client) -> Outcome:
    found = await client.workspaces()
    rows = [
        (one.id, one.name, looks.moment(one.created), looks.questions(one.used_milli), _allowance(one))
        for one in found.workspaces
    ]
    headers = ("ID", "NAME", "CREATED", "USED", "OF")
    notes = ("Used: questions in this month, of the allowance.",)
    return Outcome(wire.encode(found), text.table(headers, rows), notes=notes)


async def set_allowance(client: Client, workspace: str, allowance_milli: int | None) -> Outcome:
    now = await client.set_allowance(workspace, allowance_milli)
    if now.allowance_milli is None:
        line = f"Workspace {now.name} has no allowance any more: its calls are counted, and not limited."
    else:
        line = f"Workspace {now.name} has {_allowance(now)} questions a month, from the next call on;"
        line += f" {looks.questions(now.used_milli)} of this month's are used."
    status = await client.status()
    notes = () if status.app_mode == "cloud" else ('It counts where app_mode is "cloud"; here it is "local".',)
    return Outcome(wire.encode(now), text.wrapped(line), notes=notes)


async def create_user(client: Client, name: str) -> Outcome:
    made = await client.create_user(name)
    return Outcome(wire.encode(made), (f"User {made.name} ({made.id}) is made.",))


async def show_users(client: Client) -> Outcome:
    found = await client.users()
    return Outcome(wire.encode(found), _table(found.users))


async def erase_user(client: Client, name: str) -> Outcome:
    erased = await client.erase_user(name)
    revoked = {0: "", 1: " Their key is revoked."}.get(erased.keys, f" Their {erased.keys} keys are revoked.")
    deleted = {0: "", 1: " The fact that they had extracted is deleted."}.get(
        erased.facts, f" {erased.facts} facts that they had extracted are deleted."
    )
    line = (
        f"The user is erased: what named them is gone, and {erased.user.id} stands in its place.{revoked}{deleted}"
        " Certificates and the ledger stay: they hold ids, and the model name that each call asked for."
        " Backups that you made before still have what is gone."
    )
    return Outcome(wire.encode(erased), text.wrapped(line))


def _allowance(workspace: wire.Workspace) -> str:
    milli = workspace.allowance_milli
    return looks.ABSENT if milli is None else looks.questions(milli)


def _table(rows: tuple[wire.Named, ...]) -> tuple[str, ...]:
    return text.table(("ID", "NAME", "CREATED"), [(row.id, row.name, looks.moment(row.created)) for row in rows])
