"""The commands `node …` and `cluster …` by their names, and how each is called with what was typed.

A part of `registry`, and like it imports what a command needs when it is called.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.commands.invocation import Invocation, online
from appliance.commands.outcome import Outcome

if TYPE_CHECKING:
    from appliance.admin.client import Client


def _node_serve(call: Invocation) -> Outcome:
    from appliance.commands import node_agent

    return node_agent.serve(call.typed, call.settings(), call.environ)


def _node_reset(call: Invocation) -> Outcome:
    from appliance.commands import node_agent

    return node_agent.reset(call.typed, call.settings())


async def _node_list(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import nodes

    return await nodes.show_all(client, everything=call.typed.all)


async def _node_add(client: "Client", call: Invocation) -> Outcome:
    from appliance.admin.node_wire import NewNode
    from appliance.commands import nodes, providers

    typed = call.typed
    new = NewNode(
        url=typed.url,
        kind=typed.kind,
        name=typed.name,
        key=providers.read_key("Key of the machine", "node add … --key-stdin") if typed.key_stdin else None,
        ca=None if typed.ca is None else nodes.read_ca(Path(typed.ca)),
        slots=typed.slots,
    )
    return await nodes.add(client, new)


async def _node_admit(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import nodes

    return await nodes.admit(client, call.typed.node, call.typed.words)


async def _node_reject(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import nodes

    return await nodes.reject(client, call.typed.node)


async def _node_drain(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import nodes

    return await nodes.drain(client, call.typed.node)


async def _node_resume(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import nodes

    return await nodes.resume(client, call.typed.node)


async def _node_remove(client: "Client", call: Invocation) -> Outcome:
    from appliance.commands import nodes

    return await nodes.remove(client, call.typed.node)


async def _cluster_words(client: "Client", _: Invocation) -> Outcome:
    from appliance.commands import cluster

    return await cluster.show_words(client)


async def _cluster_key(client: "Client", _: Invocation) -> Outcome:
    from appliance.commands import cluster

    return await cluster.key(client)


async def _cluster_key_show(client: "Client", _: Invocation) -> Outcome:
    from appliance.commands import cluster

    return await cluster.show_key(client)


async def _cluster_key_new(client: "Client", call: Invocation) -> Outcome:
    from appliance.admin.node_wire import NewClusterKey
    from appliance.commands import cluster
    from appliance.times import rfc3339

    expires = call.typed.expires
    return await cluster.new_key(client, NewClusterKey(call.typed.uses, rfc3339(expires) if expires else None))


async def _cluster_key_revoke(client: "Client", _: Invocation) -> Outcome:
    from appliance.commands import cluster

    return await cluster.revoke_key(client)


MACHINE_COMMANDS: Mapping[str, Callable[[Invocation], Outcome]] = {
    "node serve": _node_serve,
    "node reset": _node_reset,
    "node list": online(_node_list),
    "node add": online(_node_add),
    "node admit": online(_node_admit),
    "node reject": online(_node_reject),
    "node drain": online(_node_drain),
    "node resume": online(_node_resume),
    "node remove": online(_node_remove),
    "cluster words": online(_cluster_words),
    "cluster key": online(_cluster_key),
    "cluster key show": online(_cluster_key_show),
    "cluster key new": online(_cluster_key_new),
    "cluster key revoke": online(_cluster_key_revoke),
}
