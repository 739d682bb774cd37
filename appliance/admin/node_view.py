"""Machines and candidates in the admin API's own shapes, with the reason why one is not used. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from appliance.admin.node_wire import ClusterKey, Node, NodeState
from appliance.admin.wire import InvalidInput, UnknownSubject
from appliance.cluster.cluster_key import ClusterKey as Key
from appliance.cluster.machine import DEFAULT_SLOTS, Machine, canonical
from appliance.cluster.newcomers import Newcomer
from appliance.cluster.words import words
from appliance.store.cluster_secrets import ClusterKeyRow
from appliance.store.nodes import NodeRow
from appliance.times import from_ms, rfc3339, to_ms

LEAST_OF_ID = 4
"""Characters of an id's beginning that may stand for it."""


def words_of(node_id: str) -> tuple[str, ...]:
    """Of what is known by a key; empty for the id of an address."""
    try:
        return words(node_id)
    except ValueError:
        return ()


def machine(found: Machine, row: NodeRow | None, models: Mapping[str, str], *, in_flight: int, resting: bool) -> Node:
    """One in use. `row` is None for one of the settings; `models` are those that calls ask for, by role; `resting`: it
    gets no calls after it failed several."""
    roles = tuple(role for role, model in models.items() if found.has(model))
    return Node(
        id=found.id,
        name=found.name,
        state=_state(found),
        trust=found.trust,
        kind=found.kind,
        url=found.url,
        engine=found.engine,
        models=tuple(canonical(model.name) for model in found.models if not model.remote),
        slots=found.slots,
        in_flight=in_flight,
        words=words_of(found.id),
        listed=row is None,
        way=row.way if row is not None else None,
        roles=roles,
        why=_why(found, in_flight, resting=resting) or (None if roles else _without(models)),
    )


def decided(row: NodeRow) -> Node:
    """One that was decided about and is not in use."""
    why = {
        "rejected": "it was rejected, and is shown no more; synapse node remove forgets that",
        "revoked": "it was put out; synapse node admit lets it in again",
    }.get(row.state, "its address or its certificate cannot be used; remove it and add it again")
    state: NodeState = row.state if row.state in ("rejected", "revoked") else "unhealthy"
    return _idle(row.id, row.name, state, row.trust == "pinned", row.url, why, row.kind)


def newcomer(found: Newcomer) -> Node:
    """One that may be let in."""
    why = found.why or ("" if found.proven else "it has not answered yet")
    return _idle(found.id, "", found.state, found.kind == "node", found.place, why or None)


def rejected(shown: Node) -> NodeRow:
    """What is kept of a candidate that is not to be shown again."""
    trust = "pinned" if shown.words else "open"
    return NodeRow(shown.id, "", trust, shown.kind, shown.url, "administrator", "rejected", 0)


def find(nodes: Sequence[Node], named: str) -> Node:
    """The one machine that is meant by an id, the beginning of one (`syn-` may stand before it), or a name.

    Raises:
        UnknownSubject: there is none.
        InvalidInput: several are meant.
    """
    begun = named.removeprefix("syn-")
    enough = len(begun.removeprefix("url-")) >= LEAST_OF_ID
    # A machine can call itself what others' ids begin with; as they are shown, ids are nobody's name.
    exact = [node for node in nodes if begun in (node.id, shown_id(node))]
    found = exact or [
        node for node in nodes if (node.name and node.name == named) or (enough and node.id.startswith(begun))
    ]
    if not found:
        raise UnknownSubject(f'There is no machine "{named}".', advice="synapse node list shows them all.")
    if len(found) > 1:
        ids = ", ".join(shown_id(node) for node in found)
        raise InvalidInput(f'{len(found)} machines are meant by "{named}".', advice=f"Give the id of one: {ids}.")
    return found[0]


def called(node: Node) -> str:
    """What to call it in a sentence."""
    return node.name or f"The machine {shown_id(node)}"


def shown_id(node: Node) -> str:
    """So much of its id as tables show: no two machines share it."""
    return node.id[:16]


def cluster_key(row: ClusterKeyRow, gateway_id: str, now: datetime) -> ClusterKey:
    return ClusterKey(
        key=Key(gateway_id, row.secret).text(),
        created=rfc3339(from_ms(row.created_ms)),
        expires=None if row.expires_ms is None else rfc3339(from_ms(row.expires_ms)),
        uses=row.uses,
        usable=row.usable(to_ms(now)),
        gateway_words=words(gateway_id),
    )


def _state(found: Machine) -> NodeState:
    if found.draining:
        return "draining"
    if found.healthy:
        return "active"
    return "unhealthy" if found.asked else "admitted"


def _why(found: Machine, in_flight: int, *, resting: bool) -> str | None:
    if not found.healthy:
        return found.why
    if found.draining:
        return f"it takes no more calls; {in_flight} still run" if in_flight else "it takes no more calls"
    if found.suspect:
        return f"{found.why}; it is being asked how it is"
    if resting:
        return "it failed several calls in a row, and gets one at a time until one is answered"
    return found.why or None


def _without(models: Mapping[str, str]) -> str:
    wanted = ", ".join(dict.fromkeys(models.values()))
    return f"no call goes there: it has none of the models in use ({wanted or 'none is set'})"


def _idle(
    node_id: str, name: str, state: NodeState, pinned: bool, url: str, why: str | None, kind: str = "ollama"
) -> Node:
    return Node(
        id=node_id,
        name=name,
        state=state,
        trust="pinned" if pinned else "open",
        kind="openai-compatible" if kind == "openai-compatible" else "ollama",
        url=url,
        engine="",
        models=(),
        slots=DEFAULT_SLOTS,
        in_flight=0,
        words=words_of(node_id),
        why=why,
    )
