"""`synapse cluster words | key`: what machines are given so that they trust this gateway."""

from appliance.admin import looks
from appliance.admin import node_wire as wire
from appliance.admin.client import Client
from appliance.admin.wire import encode
from appliance.commands.outcome import FAILED, Outcome

_USE = "On the machine, beside Ollama: synapse node serve --cluster-key-stdin, and paste it."
_SECRET = "Whoever has it can put a machine into the cluster: keep it like a password."


async def show_words(client: Client) -> Outcome:
    found = await client.nodes()
    return Outcome(
        {"gateway_id": found.gateway_id, "gateway_words": list(found.gateway_words)},
        (" ".join(found.gateway_words),),
        notes=('On the machine, beside Ollama: synapse node serve --gateway-words "…"; then synapse node admit here.',),
    )


async def key(client: Client) -> Outcome:
    """The key in force, made now if there is none that can be used."""
    found = await client.cluster_key()
    if found.key is None or not found.key.usable:
        return await new_key(client, wire.NewClusterKey())
    return _shown(found.key)


async def show_key(client: Client) -> Outcome:
    found = await client.cluster_key()
    if found.key is None:
        return Outcome(encode(found), ("There is no cluster key.",), notes=("To make one: synapse cluster key new",))
    return _shown(found.key)


async def new_key(client: Client, new: wire.NewClusterKey) -> Outcome:
    return _shown(await client.new_cluster_key(new))


async def revoke_key(client: Client) -> Outcome:
    revoked = await client.revoke_cluster_key()
    said = "Nobody joins with the cluster key any more." if revoked.was else "There was no cluster key."
    return Outcome(encode(revoked), (said,))


def _shown(found: wire.ClusterKey) -> Outcome:
    bounds = [f"until {looks.moment(found.expires)}"] if found.expires else []
    if found.uses is not None:
        bounds.append(f"for {found.uses} more machines" if found.uses != 1 else "for one more machine")
    holds = " and ".join(bounds) or "until it is revoked"
    if not found.usable:
        return Outcome(
            encode(found),
            (found.key,),
            notes=("It is used up or has expired; make another: synapse cluster key new",),
            code=FAILED,
        )
    return Outcome(encode(found), (found.key,), notes=(f"It holds {holds}. {_USE}", _SECRET))
