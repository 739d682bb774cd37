from dataclasses import fields, is_dataclass

import orjson
import pytest

from appliance.admin import policy_wire, wire

KEY = "sk-a-key-that-nobody-may-see"


def test_a_key_is_in_no_repr_and_in_no_shape_that_leaves_the_daemon():
    new = policy_wire.NewProvider("openai", "openai", key=KEY)
    assert KEY not in repr(new)
    shapes = [shape for shape in vars(policy_wire).values() if isinstance(shape, type) and is_dataclass(shape)]
    with_key = {shape.__name__ for shape in shapes if any("key" in item.name for item in fields(shape))}
    assert with_key == {"NewProvider", "PutProvider"}
    assert [item.type for item in fields(policy_wire.PutProvider) if "key" in item.name] == [bool]


@pytest.mark.parametrize(
    "shape",
    [
        policy_wire.NewProvider("a", "openai-compatible", "https://x/v1", KEY, "m", None),
        policy_wire.PutProvider(
            policy_wire.Provider("a", "mistral", "https://x", "m", None, "t", True, policy_wire.Price(1, 2), None),
            before=None,
            new_key=True,
        ),
        policy_wire.RemovedProvider(
            policy_wire.Provider("a", "mistral", "https://x", None, "f", "t", False), True, ("w",), ()
        ),
        policy_wire.Policy("w", "local", "off", "ollama", None, "refuse", "allow", ("a/b",), (), (), ("It is so.",)),
        policy_wire.Policy("w", "cloud", "off", "ollama", ("a",), "allow", "refuse", (), (), ("a",), ()),
        policy_wire.ProviderCheck(False, "The key is wrong.", "Give another."),
    ],
)
def test_a_shape_survives_the_way(shape: object):
    assert wire.decode(type(shape), orjson.loads(orjson.dumps(wire.encode(shape)))) == shape


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"name": "a", "kind": "openia"}, "kind must be one of: openai, anthropic, mistral, openai-compatible."),
        ({"name": "a"}, "kind is missing."),
        ({"name": "a", "kind": "openai", "key": [KEY]}, "key must be a string."),
        ({"name": "a", "kind": "openai", "keys": KEY}, "keys is not known here."),
    ],
)
def test_a_refused_body_is_not_quoted(value: dict[str, object], message: str):
    with pytest.raises(wire.InvalidInput) as caught:
        wire.decode(policy_wire.NewProvider, value)
    assert caught.value.message == message
    assert KEY not in str(caught.value)
