"""Listed values. The oracle is a validator of JSON Schema: a value stays if it satisfies the whole schema."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.engine.schema_values import listed, types
from appliance.engine.schema_words import Inexpressible


def left(words: dict[str, Any]) -> list[object]:
    return listed(words, "#/a", lambda _: None)


def why(words: dict[str, Any]) -> str:
    with pytest.raises(Inexpressible) as caught:
        left(words)
    return str(caught.value)


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ({"enum": ["a", "abc", 5], "maxLength": 2}, ["a", 5]),
        ({"enum": ["a", "abc"], "minLength": 2}, ["abc"]),
        ({"enum": [1, 5, 9], "minimum": 2, "exclusiveMaximum": 9}, [5]),
        ({"enum": [1, 5, 9], "maximum": 5, "exclusiveMinimum": 1}, [5]),
        ({"enum": [0.5, 1.5], "minimum": 0.75}, [1.5]),
        ({"enum": [[], [1], [1, 2]], "minItems": 1, "maxItems": 1}, [[1]]),
        ({"enum": [{"x": 1}, {"y": 1}, "z"], "required": ["x"]}, [{"x": 1}, "z"]),
        ({"enum": [1, "a", None], "type": ["integer", "null"]}, [1, None]),
        ({"const": 1.0, "enum": [2, 1]}, [1]),
        ({"const": "a", "format": "unknown"}, ["a"]),
        ({"enum": ["a", {}], "properties": {}, "type": "string"}, ["a"]),
    ],
)
def test_what_stands_beside_the_values_counts(words: dict[str, Any], values: list[object]):
    assert left(words) == values


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"const": "abc", "maxLength": 2}, "#/a allows no value"),
        ({"const": True, "enum": [1]}, "#/a allows no value"),
        ({"enum": [{}], "properties": {"x": {}}}, 'lists values and uses "properties"'),
        ({"enum": [[1]], "items": {}}, 'lists values and uses "items"'),
        ({"enum": ["a"], "format": "date"}, 'lists values and uses "format"'),
        ({"enum": ["a"], "maxLength": "2"}, '"maxLength" that is not a whole number'),
        ({"enum": [1], "minimum": "2"}, '"minimum" that is not a number'),
        ({"enum": {}}, '"enum" that is not an array'),
        ({"enum": [1], "type": "text"}, "a type that JSON does not have"),
    ],
)
def test_what_leaves_nothing_or_cannot_be_told(words: dict[str, Any], sentence: str):
    assert sentence in why(words)


@pytest.mark.parametrize("given_type", [[], "text", 3, ["string", "x"], {}])
def test_types_that_are_none(given_type: object):
    with pytest.raises(Inexpressible):
        types({"type": given_type}, "#")


BOUNDS = st.dictionaries(
    st.sampled_from(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]), st.integers(-3, 3)
)
SIZES = st.dictionaries(st.sampled_from(["minLength", "maxLength", "minItems", "maxItems"]), st.integers(0, 3))
VALUES = st.lists(
    st.none() | st.booleans() | st.integers(-4, 4) | st.text(max_size=4) | st.lists(st.integers(), max_size=4),
    min_size=1,
)


@given(bounds=BOUNDS, sizes=SIZES, values=VALUES)
def test_a_value_stays_if_it_satisfies_the_schema(bounds: dict[str, int], sizes: dict[str, int], values: list[object]):
    words = bounds | sizes
    validator = jsonschema_rs.Draft202012Validator(words)
    expected = [value for value in values if validator.is_valid(value)]
    try:
        assert left({"enum": values} | words) == expected
    except Inexpressible:
        assert expected == []
