import json
from datetime import timedelta

import pytest

from appliance.admin.client import Client
from appliance.admin.node_wire import NewClusterKey
from appliance.admin.wire import InvalidInput
from appliance.cluster.cluster_key import parse
from appliance.cluster.words import words
from appliance.commands import cluster
from tests.admin.played import Daemon
from tests.admin.records import actions


async def test_the_words_of_the_gateway(client: Client, listening: Daemon):
    outcome = await cluster.show_words(client)
    own = listening.cluster.identity.id
    assert outcome.lines == (" ".join(words(own)),)
    assert json.loads(json.dumps(outcome.document)) == {"gateway_id": own, "gateway_words": list(words(own))}
    assert "synapse node serve --gateway-words" in outcome.notes[0]
    assert "synapse node admit" in outcome.notes[0]


async def test_one_is_made_if_there_is_none_and_kept_while_it_can_be_used(client: Client, listening: Daemon):
    first = await cluster.key(client)
    [line] = first.lines
    assert parse(line).gateway_id == listening.cluster.identity.id
    assert first.notes == (
        "It holds until 2026-12-06 18:57Z. On the machine, beside Ollama: synapse node serve --cluster-key-stdin, and"
        " paste it.",
        "Whoever has it can put a machine into the cluster: keep it like a password.",
    )
    assert json.loads(json.dumps(first.document))["key"] == line
    assert (await cluster.key(client)).lines == first.lines
    listening.now += timedelta(days=7)
    assert (await cluster.key(client)).lines != first.lines
    assert [action for _, action, _ in await actions(listening)] == ["cluster-key.new"] * 2


async def test_showing_makes_none(client: Client, listening: Daemon):
    outcome = await cluster.show_key(client)
    assert (outcome.lines, outcome.notes, outcome.code) == (
        ("There is no cluster key.",),
        ("To make one: synapse cluster key new",),
        0,
    )
    assert json.loads(json.dumps(outcome.document)) == {"key": None}
    assert await actions(listening) == []


@pytest.mark.parametrize(
    ("new", "holds"),
    [
        (NewClusterKey(uses=1), "for one more machine"),
        (NewClusterKey(uses=3), "for 3 more machines"),
        (NewClusterKey(uses=2, expires="2027-01-31T00:00:00Z"), "until 2027-01-31 00:00Z and for 2 more machines"),
        (NewClusterKey(expires="2027-01-31T00:00:00Z"), "until 2027-01-31 00:00Z"),
    ],
)
async def test_how_long_it_holds(client: Client, new: NewClusterKey, holds: str):
    made = await cluster.new_key(client, new)
    assert made.notes[0].startswith(f"It holds {holds}. ")
    assert (await cluster.show_key(client)).lines == made.lines


async def test_one_that_has_expired_says_so(client: Client, listening: Daemon):
    made = await cluster.new_key(client, NewClusterKey())
    listening.now += timedelta(days=8)
    outcome = await cluster.show_key(client)
    assert (outcome.code, outcome.lines) == (1, made.lines)
    assert outcome.notes == ("It is used up or has expired; make another: synapse cluster key new",)


async def test_it_is_revoked_once(client: Client):
    await cluster.key(client)
    assert (await cluster.revoke_key(client)).lines == ("Nobody joins with the cluster key any more.",)
    outcome = await cluster.revoke_key(client)
    assert (outcome.lines, outcome.document) == (("There was no cluster key.",), {"was": False})


async def test_what_is_refused_says_what_may_be(client: Client):
    with pytest.raises(InvalidInput, match=r"It must be from 1 to 1000\.$"):
        await cluster.new_key(client, NewClusterKey(uses=1001))
