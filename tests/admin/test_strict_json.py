import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.admin import wire

KEY = wire.Key(
    id="key_1",
    name="laptop",
    user="admin",
    workspace="default",
    scopes=("engine", "proofs"),
    read_only=False,
    ceiling_milli=12_500,
    requests_per_minute=None,
    created="2026-11-29T18:57:03.120Z",
    expires=None,
    revoked=None,
    state="active",
)
IN_JSON = orjson.loads(orjson.dumps(wire.encode(KEY)))


def test_a_shape_survives_json():
    created = wire.CreatedKey(secret="sk_live_x", key=KEY)
    assert wire.decode(wire.CreatedKey, orjson.loads(orjson.dumps(wire.encode(created)))) == created


def test_what_has_a_default_may_be_missing():
    assert wire.decode(wire.NewKey, {"name": "a"}) == wire.NewKey("a")
    assert wire.decode(wire.NewKey, {"name": "a", "user": None, "scopes": []}) == wire.NewKey("a")


@pytest.mark.parametrize(
    ("cls", "value", "message"),
    [
        (wire.NewKey, [], "The body must be a JSON object."),
        (wire.NewKey, None, "The body must be a JSON object."),
        (wire.NewKey, {}, "name is missing."),
        (wire.NewKey, {"name": 3}, "name must be a string."),
        (wire.NewKey, {"name": None}, "name must be a string."),
        (wire.NewKey, {"name": "a", "read_only": 1}, "read_only must be true or false."),
        (wire.NewKey, {"name": "a", "ceiling_milli": True}, "ceiling_milli must be a whole number."),
        (wire.NewKey, {"name": "a", "ceiling_milli": 1.0}, "ceiling_milli must be a whole number."),
        (wire.NewKey, {"name": "a", "scopes": "engine"}, "scopes must be a list."),
        (wire.NewKey, {"name": "a", "scopes": ["engine", 3]}, "scopes[1] must be a string."),
        (wire.NewKey, {"name": "a", "scope": []}, "scope is not known here. Did you mean scopes?"),
        (wire.NewKey, {"name": "a", "zzz": []}, "zzz is not known here."),
        (wire.CreatedKey, {"secret": "s", "key": 3}, "key must be a JSON object."),
        (wire.CreatedKey, {"secret": "s", "key": {}}, "key.id is missing."),
        (wire.KeyList, {"keys": [IN_JSON | {"state": "lost"}]}, "keys[0].state must be one of: active, "),
    ],
)
def test_what_does_not_fit_is_named(cls: type, value: object, message: str):
    with pytest.raises(wire.InvalidInput) as caught:
        wire.decode(cls, value)
    assert str(caught.value).startswith(message)


def test_a_newer_daemon_may_say_more():
    value = IN_JSON | {"colour": "red"}
    assert wire.decode(wire.Key, value, lenient=True) == KEY
    with pytest.raises(wire.InvalidInput):
        wire.decode(wire.Key, value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["name", "user", "scopes", "read_only", "ceiling_milli", "x"]), JSON),
    st.booleans(),
)
def test_any_json_is_a_shape_or_a_refusal(value: dict[str, object], lenient: bool):
    try:
        shape = wire.decode(wire.NewKey, value, lenient=lenient)
    except wire.InvalidInput:
        return
    assert isinstance(shape.name, str)
    assert all(isinstance(scope, str) for scope in shape.scopes)
