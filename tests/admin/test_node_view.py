from dataclasses import replace
from datetime import timedelta

import pytest

from appliance.admin import node_view
from appliance.admin.node_wire import Node
from appliance.admin.wire import InvalidInput, UnknownSubject
from appliance.cluster.cluster_key import parse
from appliance.cluster.identity import Identity
from appliance.cluster.machine import Machine, Model
from appliance.cluster.newcomers import Newcomer
from appliance.cluster.words import words
from appliance.store.cluster_secrets import ClusterKeyRow
from appliance.store.nodes import NodeRow, State
from appliance.times import to_ms
from tests.admin.played import NOW

ID = Identity.create().id
ROW = NodeRow(ID, "desk", "pinned", "ollama", "https://10.0.0.2:11435", "key", "admitted", 5, b"der", slots=2)
OWN = Model("qwen3:latest", "d", 1, frozenset(), remote=False)
CLOUD = Model("big:cloud", "d", 1, frozenset(), remote=True)
WELL = Machine(ID, "desk", ROW.url, "pinned", "ollama/0.32", healthy=True, why="", models=(OWN, CLOUD), slots=2)
MODELS = {"full": "qwen3", "fast": "smollm2"}


def view(found: Machine, *, in_flight: int = 0, resting: bool = False) -> Node:
    return node_view.machine(found, ROW, MODELS, in_flight=in_flight, resting=resting)


def test_one_that_is_well():
    assert view(WELL, in_flight=1) == Node(
        id=ID,
        name="desk",
        state="active",
        trust="pinned",
        kind="ollama",
        url=ROW.url,
        engine="ollama/0.32",
        models=("qwen3",),  # what leaves the building is none of its models
        slots=2,
        in_flight=1,
        words=words(ID),
        listed=False,
        way="key",
        roles=("full",),
        why=None,
    )


def test_one_that_has_none_of_the_models_in_use_is_said_to_get_no_calls():
    found = node_view.machine(WELL, ROW, {"full": "other", "fast": "other"}, in_flight=0, resting=False)
    assert (found.state, found.roles) == ("active", ())
    assert found.why == "no call goes there: it has none of the models in use (other)"


def test_one_of_the_settings():
    found = node_view.machine(WELL, None, MODELS, in_flight=0, resting=False)
    assert (found.listed, found.way) == (True, None)


@pytest.mark.parametrize(
    ("found", "resting", "state", "why"),
    [
        (Machine(ID, "desk", "", "pinned"), False, "admitted", "not asked yet"),
        (WELL.failed("it sleeps"), False, "unhealthy", "it sleeps"),
        (replace(WELL, draining=True), False, "draining", "it takes no more calls; 2 still run"),
        (replace(WELL, draining=True), True, "draining", "it takes no more calls; 2 still run"),
        (replace(WELL.failed("it sleeps"), draining=True), False, "draining", "it sleeps"),
        (replace(WELL, suspect=True, why="it broke off"), True, "active", "it broke off; it is being asked how it is"),
        (WELL, True, "active", "it failed several calls in a row, and gets one at a time until one is answered"),
        (replace(WELL, why="it has no models"), False, "active", "it has no models"),
    ],
)
def test_state_and_reason(found: Machine, resting: bool, state: str, why: str):
    shown = view(found, in_flight=2, resting=resting)
    assert (shown.state, shown.why) == (state, why)


@pytest.mark.parametrize("state", ["rejected", "revoked"])
def test_what_was_decided_says_what_undoes_it(state: State):
    found = node_view.decided(replace(ROW, state=state))
    assert (found.state, found.trust, found.name) == (state, "pinned", "desk")
    assert found.why is not None
    assert "synapse node" in found.why


def test_one_in_use_that_cannot_run_is_unhealthy():
    found = node_view.decided(replace(ROW, kind="openai-compatible", trust="open"))
    assert (found.state, found.kind, found.trust) == ("unhealthy", "openai-compatible", "open")
    assert found.why is not None
    assert "remove it and add it again" in found.why


def test_candidates():
    node = Newcomer(ID, "node", "candidate", "https://10.0.0.2:1", proven=False, why="")
    found = node_view.newcomer(node)
    assert (found.name, found.trust, found.words, found.why) == ("", "pinned", words(ID), "it has not answered yet")
    assert node_view.newcomer(replace(node, proven=True)).why is None
    changed = node_view.newcomer(replace(node, state="changed", why="it has another key"))
    assert (changed.state, changed.why) == ("changed", "it has another key")
    plain = node_view.newcomer(Newcomer("url-abcdefgh", "ollama", "candidate", "http://10.0.0.2:1", True, ""))
    assert (plain.trust, plain.words) == ("open", ())


def test_what_is_kept_of_a_rejected_one():
    node = node_view.newcomer(Newcomer(ID, "node", "candidate", "https://10.0.0.2:1", True, ""))
    row = node_view.rejected(node)
    assert (row.id, row.trust, row.state, row.certificate, row.in_use) == (ID, "pinned", "rejected", None, False)


def test_the_cluster_key_with_what_is_left_of_it():
    row = ClusterKeyRow(bytes(20), to_ms(NOW), to_ms(NOW + timedelta(days=1)), 3)
    key = node_view.cluster_key(row, ID, NOW)
    assert (key.created, key.expires) == ("2026-11-29T18:57:03.120Z", "2026-11-30T18:57:03.120Z")
    assert (key.uses, key.usable, key.gateway_words) == (3, True, words(ID))
    assert (parse(key.key).gateway_id, parse(key.key).secret) == (ID, bytes(20))
    assert not node_view.cluster_key(row, ID, NOW + timedelta(days=1)).usable
    assert not node_view.cluster_key(replace(row, uses=0), ID, NOW).usable


class TestFind:
    A = replace(view(WELL), id="aaaa" + "b" * 48, name="desk")
    B = replace(view(WELL), id="aaaa" + "c" * 48, name="attic")
    OPEN = replace(view(WELL), id="url-abcdefghijklmnop", name="10.0.0.3:8000")
    CANDIDATE = replace(view(WELL), id="dddd" + "b" * 48, name="")
    ALL = (A, B, OPEN, CANDIDATE)

    @pytest.mark.parametrize(
        ("named", "found"),
        [
            (A.id, A),
            ("aaaab", A),
            ("syn-aaaabbbbbbbbbbbb", A),
            ("syn-aaaac", B),
            ("attic", B),
            ("dddd", CANDIDATE),
            ("url-abcdefghijkl", OPEN),
            ("url-abcd", OPEN),
            ("10.0.0.3:8000", OPEN),
        ],
    )
    def test_one_is_meant(self, named: str, found: Node):
        assert node_view.find(self.ALL, named) is found

    @pytest.mark.parametrize(
        "named", ["", "aaa", "aaab", "syn-", "syn-aaa", "url-", "url-abc", "desk 3", "Desk", "aaaabx", "x" * 99]
    )
    def test_nobody_is_meant(self, named: str):
        with pytest.raises(UnknownSubject, match=r"synapse node list shows them all\.$"):
            node_view.find(self.ALL, named)

    def test_several_are_meant(self):
        with pytest.raises(InvalidInput, match=r'^2 machines are meant by "aaaa"') as caught:
            node_view.find(self.ALL, "aaaa")
        assert caught.value.advice == f"Give the id of one: {self.A.id[:16]}, {self.B.id[:16]}."

    @pytest.mark.parametrize("name", [A.id, A.id[:16], f"syn-{A.id[:16]}"])
    def test_a_machine_cannot_hide_another_behind_its_name(self, name: str):
        """What a table shows as its id means one machine, whatever another calls itself."""
        thief = replace(self.B, name=name)
        assert node_view.find((self.A, thief), name) is self.A
        assert node_view.find((thief, self.A), name) is self.A

    def test_a_name_that_is_the_beginning_of_an_id_is_told(self):
        with pytest.raises(InvalidInput, match="2 machines are meant"):
            node_view.find((self.A, replace(self.CANDIDATE, name="aaaab")), "aaaab")
