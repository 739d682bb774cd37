import subprocess
import sys
from dataclasses import replace

import orjson
import pytest

from appliance.admin import pull_wire as wire
from appliance.admin.wire import InvalidInput, decode, encode

PULL = wire.Pull("pull_a", "qwen3:8b", "desk", "id", "running", "pulling manifest", 1, 2, "2026-11-29T18:57:03Z", None)


@pytest.mark.parametrize(
    "shape",
    [
        wire.NewPull("qwen3:8b"),
        wire.NewPull("qwen3:8b", "desk"),
        wire.PullRef("pull_a"),
        PULL,
        replace(PULL, state="failed", ended="2026-11-29T19:57:03Z", problem="It is full.", advice="Empty it."),
        wire.PullList(()),
        wire.PullList((PULL, PULL)),
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_every_shape_survives_json(shape: object):
    assert decode(type(shape), orjson.loads(orjson.dumps(encode(shape)))) == shape


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "name is missing"),
        ({"name": 5}, "name must be a string"),
        ({"name": "a", "node": 5}, "node must be a string"),
        ({"name": "a", "nod": "b"}, "nod is not known here. Did you mean node?"),
    ],
)
def test_what_is_refused_is_named(given: dict[str, object], said: str):
    with pytest.raises(InvalidInput) as caught:
        decode(wire.NewPull, given)
    assert str(caught.value).startswith(said)


def test_it_imports_nothing_of_ours():
    code = "import sys, appliance.admin.pull_wire; print(*(m for m in sys.modules if m.startswith('appliance.')))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["appliance.admin", "appliance.admin.pull_wire"]
