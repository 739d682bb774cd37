"""Structured answers. Sources: JSON Schema 2020-12, and draft-07 by name; `jsonschema-rs` alone is the oracle."""

import json
import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects import structured
from appliance.dialects.chat import Format
from appliance.dialects.structured import check_json, check_value

CITY = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "pattern": "^[A-Z]"},
        "population": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"enum": ["capital", "port"]}, "uniqueItems": True},
    },
    "required": ["city"],
    "additionalProperties": False,
}
TREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "below": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name"],
}


class TestCheckJson:
    @pytest.mark.parametrize("text", ["{}", ' {"a": [1, null]}\n'])
    def test_any_object(self, text: str):
        assert check_json(text, Format()) is None

    @pytest.mark.parametrize(
        ("text", "wrong"),
        [
            ("", "is not JSON"),
            ("{", "is not JSON"),
            ("```json\n{}\n```", "is not JSON"),
            ('{"a": NaN}', "is not JSON"),
            ("{} {}", "is not JSON"),
            ("[]", "is not a JSON object"),
            ("5", "is not a JSON object"),
            ("null", "is not a JSON object"),
            ('{"a":' * 201 + "1" + "}" * 201, "is nested more than 200 levels deep"),
            ("[" * 100_000, "is not JSON"),
        ],
    )
    def test_what_is_no_object(self, text: str, wrong: str):
        assert check_json(text, Format()) == wrong

    def test_a_schema_may_ask_for_something_else_than_an_object(self):
        assert check_json("[1, 2]", Format({"type": "array"})) is None
        assert check_json("5", Format({})) is None

    @pytest.mark.parametrize(
        ("text", "where"),
        [
            ('{"city": "Paris", "population": 2102650, "tags": ["capital"]}', None),
            ('{"city": "Paris"}', None),
            ('{"population": 1}', "#/required"),
            ('{"city": "paris"}', "#/properties/city/pattern"),
            ('{"city": "Paris", "population": 1.5}', "#/properties/population/type"),
            ('{"city": "Paris", "population": -1}', "#/properties/population/minimum"),
            ('{"city": "Paris", "mayor": "x"}', "#/additionalProperties"),
            ('{"city": "Paris", "tags": ["inland"]}', "#/properties/tags/items/enum"),
            ('{"city": "Paris", "tags": ["port", "port"]}', "#/properties/tags/uniqueItems"),
            ("[]", "#/type"),
        ],
    )
    def test_the_place_that_is_broken_is_named(self, text: str, where: str | None):
        assert check_json(text, Format(CITY)) == (where and f"does not fit its schema at {where!r}")

    def test_the_answer_is_not_quoted(self):
        schema = {"additionalProperties": {"type": "integer"}}
        assert "secret" not in (check_json('{"secret name": "secret"}', Format(schema)) or "")


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, [1, 3, "x"], [0, 4]),
        ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, ["", 3, None], [2]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 3}]}, [2, 3.5], [3, 2.5]),
        ({"not": {"type": "null"}}, [0, ""], [None]),
        ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}}, ["ab", 2, None], ["a", 1]),
        ({"if": {"type": "string"}}, ["a", 1], []),
        ({"properties": {"a": False}}, [{}, {"b": 1}, 5], [{"a": 1}]),
        ({"patternProperties": {"^n": {"type": "integer"}}}, [{"n1": 1, "m": ""}], [{"n1": ""}]),
        ({"patternProperties": {"^n": {}}, "additionalProperties": False}, [{"n": 1}], [{"m": 1}]),
        ({"properties": {"n": {}}, "patternProperties": {"^n": {"type": "null"}}}, [{"n": None}], [{"n": 1}]),
        ({"propertyNames": {"maxLength": 2}}, [{"ab": 1}, {}], [{"abc": 1}]),
        ({"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, [[1, "a"], [], [1]], [["a"], [1, 2]]),
        ({"items": False}, [[], "x"], [[1]]),
        ({"contains": {"type": "null"}}, [[1, None], 5], [[], [1]]),
        ({"contains": {"type": "null"}, "minContains": 0, "maxContains": 1}, [[], [None]], [[None, None]]),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, [{}, {"a": 1, "b": 1}], [{"a": 1}]),
        ({"dependentRequired": {"a": ["b"]}}, [{}, {"a": 1, "b": 1}], [{"a": 1}]),
        ({"dependencies": {"a": ["b"], "c": {"minProperties": 2}}}, [{}, {"a": 1, "b": 1}], [{"a": 1}, {"c": 1}]),
        ({"const": {"a": [1, {"b": None}]}}, [{"a": [1.0, {"b": None}]}], [{"a": [True, {"b": None}]}]),
        ({"enum": [0, "a"]}, [0, 0.0, "a"], [False, "b"]),
        ({"multipleOf": 0.01}, [0.07, 1], [0.075]),
        ({"minProperties": 1, "minItems": 1, "minLength": 1}, [{"a": 1}, [1], "é", 0], [{}, [], ""]),
        ({"$ref": "#/$defs/a", "maximum": 5, "$defs": {"a": {"minimum": 3}}}, [3, 5], [2, 6]),
        ({"format": "date"}, ["not a date"], []),
        ({"allOf": [True]}, [1, None], []),
        ({"allOf": [False]}, [], [1]),
    ],
)
def test_keywords(schema: Any, good: list[object], bad: list[object]):
    assert [value for value in good if check_value(value, schema)] == []
    assert [value for value in bad if not check_value(value, schema)] == []


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "items": [{"type": "integer"}],
                "additionalItems": {"type": "null"},
            },
            [[1, None]],
            [["a"], [1, 2]],
        ),
        (
            # "All other properties in a "$ref" object MUST be ignored."
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "properties": {"a": {"$ref": "#/definitions/n", "maximum": 1}},
                "definitions": {"n": {"type": "integer"}},
            },
            [{"a": 5}],
            [{"a": "x"}],
        ),
        (
            {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True},
            [2],
            [1],
        ),
    ],
)
def test_older_drafts(schema: dict[str, object], good: list[object], bad: list[object]):
    assert [value for value in good if check_value(value, schema)] == []
    assert [value for value in bad if not check_value(value, schema)] == []


class TestHostile:
    """A schema is a caller's, and an answer may be led to be anything: neither may take long, or anything else."""

    @pytest.fixture(autouse=True)
    def _in_time(self):
        began = time.process_time()
        yield
        assert time.process_time() - began < 2

    def test_references_that_double(self):
        defs = {f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(60)}
        schema: dict[str, object] = {"$ref": "#/$defs/a0", "$defs": {**defs, "a60": {"type": "integer"}}}
        assert check_value(1, schema) is None
        assert check_value("x", schema) == "does not fit its schema at '#/$defs/a60/type'"

    def test_branches_that_multiply_with_depth(self):
        """Twenty kinds of nodes, each with two below: 20**30 ways without a memory."""
        kinds = [{"properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}, "kind": {"const": i}}} for i in range(20)]
        good: dict[str, object] = {"kind": 19}
        bad: dict[str, object] = {"kind": 20}
        for _ in range(30):
            good = {"l": good, "r": {"kind": 3}, "kind": 19}
            bad = {"l": bad, "r": {"kind": 3}, "kind": 19}
        assert check_value(good, {"anyOf": kinds}) is None
        assert check_value(bad, {"anyOf": kinds}) == "does not fit its schema at '#/anyOf'"

    def test_a_reference_to_nothing_but_itself_says_nothing(self):
        assert check_value(5, {"$ref": "#"}) is None
        assert check_value(5, {"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"allOf": [{"$ref": "#"}]}}}) is None

    @pytest.mark.parametrize("pattern", [r"^(a+)+$", r"^(a|a)*$", r"^(a|a?)+(?=b)\1$", r"^(?=(a+)+$)b"])
    def test_patterns_that_backtrack(self, pattern: str):
        assert check_value("a" * 10_000 + "!", {"pattern": pattern}) == "does not fit its schema at '#/pattern'"
        assert check_value({"a" * 10_000 + "!": 1}, {"patternProperties": {pattern: False}}) is None

    def test_nothing_is_fetched(self):
        for reference in ("http://127.0.0.1:9/s", "file:///etc/passwd", "other.json"):
            assert check_value(5, {"$ref": reference}) is None

    def test_depth(self):
        value: dict[str, object] = {"name": "x"}
        for _ in range(40):
            value = {"name": "x", "below": [value]}
        assert check_json(json.dumps(value), Format(TREE)) is None
        for _ in range(59):
            value = {"name": "x", "below": [value]}
        assert check_json(json.dumps(value), Format(TREE)) == "is too large or too deep to be checked with its schema"

    def test_size(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(structured, "MAX_STEPS", 100)
        assert check_value(list(range(99)), {"items": {"type": "integer"}}) is None
        assert check_value(list(range(1000)), {"items": {"type": "integer"}}) == (
            "is too large or too deep to be checked with its schema"
        )


@pytest.mark.parametrize(
    "schema",
    [
        {"required": True, "properties": {"a": {"required": "a"}}},
        {"type": 5, "anyOf": {}, "allOf": 5, "properties": [], "items": 5, "dependencies": []},
        {"$ref": "#/nope"},
        {"$ref": 5, "contains": {}, "minContains": "x"},
        {"pattern": "(", "patternProperties": {"(": False}},
    ],
)
@pytest.mark.parametrize("value", [{"a": 1}, [1], "x", None])
def test_what_is_not_valid_in_a_schema_never_raises(schema: dict[str, object], value: object):
    check_value(value, schema)


PLAIN = st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from([0.5, "", "a", "ab"])
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "ab"]), inner, max_size=3),
    max_leaves=8,
)
ASSERTIONS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["object", "array", "string", "integer", "number", "null", ["boolean", "array"]]),
        "enum": st.lists(VALUES, min_size=1, max_size=2),
        "const": VALUES,
        "minimum": st.integers(-1, 2),
        "maxLength": st.integers(0, 1),
        "pattern": st.sampled_from(["^a", "b$"]),
        "uniqueItems": st.booleans(),
        "minItems": st.integers(0, 2),
        "required": st.lists(st.sampled_from(["a", "b"]), max_size=1),
        "maxProperties": st.integers(0, 2),
    },
)


def applied(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "allOf": several,
            "anyOf": several,
            "oneOf": several,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "properties": named,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b$"]), inner, max_size=2),
            "additionalProperties": inner,
            "propertyNames": inner,
            "items": inner,
            "prefixItems": several,
            "contains": inner,
            "minContains": st.integers(0, 2),
            "maxContains": st.integers(0, 2),
            "dependentSchemas": named,
            "type": st.sampled_from(["object", "array"]),
        },
    )


SCHEMAS = st.recursive(ASSERTIONS | st.booleans(), applied, max_leaves=10)


@given(SCHEMAS, VALUES)
def test_the_library_alone_comes_to_the_same(schema: Any, value: Any):
    schema = schema if isinstance(schema, dict) else {"allOf": [schema]}
    assert (check_value(value, schema) is None) == jsonschema_rs.is_valid(schema, value, offline=True)
