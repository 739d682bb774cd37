"""The join key: shown with what to do with it, made, and taken out of force. A part of the page Nodes.

Whoever has the key can put a machine in, so that it is asked for each time and kept nowhere in the console.
"""

from collections.abc import Mapping
from datetime import datetime

from appliance.admin.client import looks, node_wire, values
from tui.actions import Action
from tui.screens.page import Page
from tui.widgets.dialogs import Ask, Show
from tui.widgets.form import Field, Form, Given
from tui.widgets.reading import optional, problem

_NEW = Action("new", "N", "new", "Make another key in the place of this one.")
_REVOKE = Action("revoke", "X", "revoke", "Let nobody join with this key any more.")

_FIELDS = (
    Field("uses", "Machines", "how many may join with it, such as 3; empty: any number"),
    Field("expires", "Holds until", "its last day (2027-01-31) or a time from now (2w); empty: see above"),
)


async def run(page: Page) -> None:
    """Show the key in force, or offer to make one, until the person leaves."""
    client = page.desk.client
    current = await page.tried(client.cluster_key())
    if current is None:
        return
    key = current.key
    if (key is None or not key.usable) and not await page.ask(_offer(key)):
        return
    if key is None or not key.usable:
        key = await page.tried(client.new_cluster_key(node_wire.NewClusterKey()))
    while key is not None:
        done = await page.ask(Show("Join key", shown(key), copy=key.key, actions=(_NEW, _REVOKE)))
        if done == _NEW.name:
            key = await _another(page, key)
        elif done == _REVOKE.name:
            key = await _revoked(page, key)
        else:
            return


def shown(key: node_wire.ClusterKey) -> list[str]:
    """The key, how long it holds, and what is to be done with it."""
    return [
        key.key,
        "",
        f"It holds {bounds(key)}.",
        "Whoever has it can put a machine in: keep it like a password.",
        "",
        "On the machine, beside its Ollama, type this, and paste the key:",
        "",
        "    synapse node serve --cluster-key-stdin",
        "",
        "The machine then joins by itself, and stands in the list as active.",
    ]


def bounds(key: node_wire.ClusterKey) -> str:
    """How long, and for how many machines."""
    said = [f"until {looks.moment(key.expires)}"] if key.expires else []
    if key.uses is not None:
        said.append("for one more machine" if key.uses == 1 else f"for {key.uses} more machines")
    return " and ".join(said) or "until it is revoked"


def _offer(key: node_wire.ClusterKey | None) -> Ask:
    title = (
        "There is no join key. Make one?" if key is None else "The join key is used up or has expired. Make another?"
    )
    lines = (
        "A machine that is given it joins by itself, without a click. It holds for a week.",
        "Whoever has it can put a machine in. It is shown here as often as you ask.",
    )
    return Ask(title, lines, "make it")


async def _another(page: Page, key: node_wire.ClusterKey) -> node_wire.ClusterKey:
    """A new key, or this one where the person thinks better of it."""
    now = page.desk.tools.now()
    lines = ("With neither filled in it holds for a week, for any number of machines.",)

    async def make(given: Given) -> node_wire.ClusterKey | None:
        warning = ("The one before lets nobody in any more. Machines that have joined stay.",)
        if not await page.ask(Ask("Make a new join key in its place?", warning, "make it")):
            return None
        return await page.desk.client.new_cluster_key(_new(given, now))

    form = Form(
        "Make a new join key",
        _FIELDS,
        lines=lines,
        done="go on",
        check=lambda given: _wrong(given, now),
        submit=make,
    )
    return await page.ask(form) or key


async def _revoked(page: Page, key: node_wire.ClusterKey) -> node_wire.ClusterKey | None:
    """None once nobody can join with it."""
    lines = ("Nobody joins with it any more. Machines that have joined stay.",)
    if not await page.ask(Ask("Revoke the join key?", lines, "revoke it")):
        return key
    if await page.tried(page.desk.client.revoke_cluster_key()) is None:
        return key
    page.say("Nobody joins with the join key any more.")
    return None


def _wrong(given: Mapping[str, str], now: datetime) -> str:
    return problem(
        given, {"uses": ("Machines", values.count), "expires": ("Holds until", lambda text: values.expiry(text, now))}
    )


def _new(given: Mapping[str, str], now: datetime) -> node_wire.NewClusterKey:
    expires = optional(given["expires"], lambda text: values.expiry(text, now))
    return node_wire.NewClusterKey(optional(given["uses"], values.count), expires.isoformat() if expires else None)
