"""`synapse model list | set | unset`: which model each role of the local lane has, and what is on its way."""

from appliance.admin import looks, wire
from appliance.admin.client import Client
from appliance.commands import machines, pulling, text
from appliance.commands.outcome import Outcome


async def show_all(client: Client) -> Outcome:
    return _outcome(await client.models(), await pulling.running(client))


async def choose(client: Client, role: str, name: str) -> Outcome:
    return _outcome(await client.set_model(role, name))


async def unset(client: Client, role: str) -> Outcome:
    return _outcome(await client.unset_model(role))


def _outcome(found: wire.ModelList, running: tuple[str, ...] = ()) -> Outcome:
    rows = [(one.role, one.effective or looks.ABSENT, _because(one)) for one in found.roles]
    lines = (*text.table(("ROLE", "MODEL", "WHY"), rows, whole=(0,)), "", *machines.show(found.machines), *running)
    absent = [one for one in found.roles if one.configured and not one.available]
    notes = tuple(
        f"Calls for the {one.role} model are refused until a machine has it: synapse model pull {one.configured}, or"
        f" synapse model unset {one.role}."
        for one in absent
    )
    return Outcome(wire.encode(found), lines, notes=notes)


def _because(one: wire.RoleModel) -> str:
    if one.configured:
        return "set" if one.available else "set, but no healthy machine has it"
    if one.follows and one.effective:
        return f"not set: as {one.follows}"
    if one.effective:
        return "not set: the largest that the machines have"
    return "not set" if one.role == "embedding" else "not set, and no healthy machine has a model"
