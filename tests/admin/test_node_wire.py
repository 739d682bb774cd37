import subprocess
import sys
from dataclasses import replace
from typing import get_args

import orjson
import pytest

from appliance.admin import node_wire as wire
from appliance.admin.wire import InvalidInput, decode, encode
from appliance.machine_arguments import KINDS

NODE = wire.Node("a", "desk", "active", "pinned", "ollama", "https://10.0.0.1", "ollama/1", ("m",), 4, 1, ("w",) * 8)
KEY = wire.ClusterKey("synk_a", "2026-11-29T18:57:03.120Z", None, 3, True, ("w",) * 8)


@pytest.mark.parametrize(
    "shape",
    [
        NODE,
        replace(NODE, listed=True, way="key", why="it sleeps"),
        wire.NodeList((NODE, NODE), "id", ("w",) * 8, 3, "no interface is up"),
        wire.NewNode("http://10.0.0.1"),
        wire.NewNode("http://10.0.0.1", "openai-compatible", "n", "k", "PEM", 4),
        wire.Admission("desk"),
        wire.Admission("desk", "zoo zoo"),
        wire.NodeRef("desk"),
        wire.NewClusterKey(),
        wire.NewClusterKey(3, "2027-01-31T00:00:00Z"),
        KEY,
        wire.CurrentClusterKey(KEY),
        wire.CurrentClusterKey(None),
        wire.RevokedClusterKey(True),
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_every_shape_survives_json(shape: object):
    assert decode(type(shape), orjson.loads(orjson.dumps(encode(shape)))) == shape


def test_the_states_are_those_of_the_design():
    # cluster.md, "States".
    states = {"candidate", "admitted", "active", "unhealthy", "draining", "rejected", "revoked", "changed"}
    assert set(get_args(wire.NodeState)) == states


@pytest.mark.parametrize(
    ("cls", "given", "said"),
    [
        (wire.NewNode, {}, "url is missing"),
        (wire.NewNode, {"url": 5}, "url must be a string"),
        (wire.NewNode, {"url": "a", "kind": "vllm"}, "kind must be one of: ollama, openai-compatible"),
        (wire.NewNode, {"url": "a", "slots": True}, "slots must be a whole number"),
        (wire.NewNode, {"url": "a", "slots": 1.5}, "slots must be a whole number"),
        (wire.NewNode, {"url": "a", "slot": 1}, "slot is not known here. Did you mean slots?"),
        (wire.Admission, {"node": "a", "words": ["zoo", "zoo"]}, "words must be a string"),
        (wire.NewClusterKey, {"uses": "3"}, "uses must be a whole number"),
    ],
)
def test_what_is_refused_is_named(cls: type, given: dict[str, object], said: str):
    with pytest.raises(InvalidInput) as caught:
        decode(cls, given)
    assert str(caught.value).startswith(said)


def test_the_command_line_has_its_kinds():
    assert get_args(wire.NodeKind) == wire.NODE_KINDS == KINDS


def test_it_imports_nothing_of_ours():
    code = "import sys, appliance.admin.node_wire; print(*(m for m in sys.modules if m.startswith('appliance.')))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["appliance.admin", "appliance.admin.node_wire"]
