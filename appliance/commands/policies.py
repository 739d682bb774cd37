"""`synapse policy show | allow | clear | active | unscannable | sensitive-on-open`: what calls may reach."""

from appliance.admin import looks
from appliance.admin import policy_wire as wire
from appliance.admin.client import Client
from appliance.admin.wire import encode
from appliance.commands import text
from appliance.commands.outcome import Outcome


async def show(client: Client, workspace: str | None) -> Outcome:
    return _outcome(await client.policy(workspace))


async def allow(client: Client, names: tuple[str, ...], workspace: str | None) -> Outcome:
    return _outcome(await client.set_allow_list(names, workspace))


async def clear(client: Client, workspace: str | None) -> Outcome:
    return _outcome(await client.clear_allow_list(workspace))


async def active(client: Client, name: str) -> Outcome:
    found = await client.set_active(name)
    listed = f"Workspace {found.workspace} has an allow-list, which goes before the active provider."
    return _outcome(found, *((listed,) if found.allow is not None else ()))


async def unscannable(client: Client, value: wire.RefuseOrAllow) -> Outcome:
    return _outcome(await client.set_unscannable(value))


async def sensitive_on_open(client: Client, value: wire.RefuseOrAllow) -> Outcome:
    return _outcome(await client.set_sensitive_on_open(value))


def _outcome(found: wire.Policy, *notes: str) -> Outcome:
    listed = "none: the active provider answers" if found.allow is None else ", ".join(found.allow)
    lines = (
        f"Policy of workspace {looks.printable(found.workspace)}",
        f"allow-list         {listed}",
        f"active provider    {found.active}{'' if found.allow is None else ' (where no list is)'}",
        f"full calls         {_chain(found.full)}",
        f"fast calls         {_chain(found.fast)}",
        f"mode               {found.app_mode}, shield {found.shield_mode}",
        f"unscannable        {found.unscannable}",
        f"sensitive-on-open  {found.sensitive_on_open}",
        "",
        *(line for sentence in found.explained for line in text.wrapped(looks.printable(sentence))),
    )
    return Outcome(encode(found), lines, notes=notes)


def _chain(names: tuple[str, ...]) -> str:
    return looks.printable(", then ".join(names)) or "refused"
