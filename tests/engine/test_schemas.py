"""JSON schema to grammar. The oracle is a validator of JSON Schema: what the grammar allows must satisfy the schema."""

import json
import random
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.engine.gbnf import MAX_STEPS, PRETTY_SPACE, Rules, TooLarge
from appliance.engine.schema_words import Inexpressible
from appliance.engine.schemas import SchemaWriter
from tests.engine.gbnf_reader import Reader


def reader(schema: object, *, lenient: bool = False) -> Reader:
    rules = Rules(PRETTY_SPACE)
    root = SchemaWriter(rules, schema, lenient=lenient).write(schema)
    return Reader(rules.grammar(root).text)


def refusal(schema: object) -> str:
    with pytest.raises(Inexpressible) as caught:
        reader(schema)
    return str(caught.value)


def check(schema: Any, count: int = 40) -> None:
    """Every sentence of the grammar is JSON that satisfies the schema."""
    grammar = reader(schema)
    validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    chance = random.Random(3)
    for _ in range(count):
        text = grammar.sentence(chance)
        value = json.loads(text)
        assert validator.is_valid(value), text


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "email": {"type": "string", "format": "email"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
    },
    "required": ["name", "age"],
}
TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["value", "children"],
        }
    },
    "$ref": "#/$defs/node",
}
UNION = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
            "required": ["kind"],
        },
        {"type": "object", "properties": {"kind": {"const": "dog"}}, "required": ["kind"]},
        {"type": "null"},
    ]
}
SCHEMAS: dict[str, Any] = {
    "person": PERSON,
    "tree": TREE,
    "union": UNION,
    "all optional": {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "boolean"}, "c": {}}},
    "required last": {"properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["b"]},
    "required but not listed": {"type": "object", "required": ["x"], "additionalProperties": {"type": "integer"}},
    "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
    "empty object": {"type": "object", "additionalProperties": False},
    "member that cannot be": {"properties": {"a": False, "b": {"const": 1}}},
    "any": {},
    "tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
    "open tuple": {"prefixItems": [{"const": 1}], "items": {"const": 2}, "minItems": 2, "maxItems": 4},
    "short tuple": {"prefixItems": [{"const": 1}, {"const": 2}], "maxItems": 1},
    "list": {"type": "array", "items": {"type": "number"}, "minItems": 2},
    "list of none": {"type": "array", "maxItems": 0},
    "several types": {"type": ["integer", "null", "string"], "minimum": 3, "maxLength": 2},
    "enum of one type": {"type": "string", "enum": ["a", 1, "b", None]},
    "const and enum": {"const": 2, "enum": [1, 2]},
    "enum with bounds": {"enum": ["a", "abc", 1, 7], "maxLength": 2, "minimum": 5},
    "enum in parts": {"allOf": [{"enum": [1, 2, 3]}, {"minimum": 2}]},
    "long": {"type": "string", "minLength": 1002, "maxLength": 5000},
    "many": {"type": "array", "items": {"const": 1}, "minItems": 2500, "maxItems": 2501},
    "nested const": {"const": {"a": [1, "é", None]}},
    "fraction": {"type": "number", "minimum": 0, "maximum": 1},
    "exclusive": {"type": "integer", "exclusiveMinimum": 9, "exclusiveMaximum": 12},
    "all of": {"allOf": [{"type": "object", "properties": {"a": {"const": 1}}}, {"required": ["a"]}]},
    "any of beside others": {
        "type": "object",
        "properties": {"a": {"const": 1}, "b": {"const": 2}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "reference with more": {"$defs": {"s": {"type": "string"}}, "$ref": "#/$defs/s", "maxLength": 2},
    "annotations": {"title": "T", "description": "D", "examples": [1], "type": "boolean", "default": False},
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_written_satisfies_the_schema(name: str):
    check(SCHEMAS[name])


@pytest.mark.parametrize("form", ["date", "time", "date-time", "uuid", "email", "hostname", "ipv4", "uri"])
def test_formats(form: str):
    check({"type": "string", "format": form}, 80)


def test_dates_are_in_the_calendar():
    dates = reader({"type": "string", "format": "date"})
    for text in ("2026-11-30", "1999-12-31", "2024-02-28"):
        assert dates.accepts(f'"{text}"')
    for text in ("2026-13-01", "2026-11-31", "2026-02-30", "30.11.2026", "2026-00-10", "2026-01-00"):
        assert not dates.accepts(f'"{text}"')


@pytest.mark.parametrize(
    ("schema", "yes", "no"),
    [
        (PERSON, ['{"name": "Ann", "age": 3}', '{"name":"A","age":0,"tags":["a"]}'], ['{"age": 3, "name": "Ann"}']),
        (PERSON, ['{"name":"A","age":1,"email":"a@b.c","tags":[]}'], ['{"name":"A"}', '{"name":"A","age":1,"x":1}']),
        (TREE, ['{"value": 1, "children": [{"value": 2, "children": []}]}'], ['{"value": 1}']),
        ({"properties": {"a": {}, "b": {}}}, ["{}", '{"a":1}', '{"b":1}', '{"a":1,"b":2}'], ['{"b":1,"a":2}']),
        ({"type": "integer", "minimum": 3}, ["3", "12"], ["2", "-3", "3.5"]),
        ({"enum": ["red", 3, None]}, ['"red"', "3", "null"], ['"blue"', "33"]),
        ({"type": "string", "minLength": 2}, ['"ab"', '"\\u00e9\\n"', '"abc"'], ['"a"']),
        ({}, ["1", '"a"', "[]", "{}", "null"], [""]),
        ({"type": "array", "items": {"const": 1}, "minItems": 1}, ["[1]", "[1,\n1]"], ["[]", "[2]"]),
    ],
)
def test_what_is_allowed(schema: object, yes: list[str], no: list[str]):
    grammar = reader(schema)
    assert [text for text in yes if not grammar.accepts(text)] == []
    assert [text for text in no if grammar.accepts(text)] == []


def test_nothing_after_the_end():
    assert not reader(PERSON).accepts('{"name": "Ann", "age": 3}\n')


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({"properties": {"a": {"not": {}}}}, '#/properties/a uses "not", which the engine cannot enforce'),
        ({"items": {"anyOf": [{"pattern": "a"}]}}, '#/items/anyOf/0 uses "pattern", which the engine cannot enforce'),
        ({"prefixItems": [{"multipleOf": 2}]}, '#/prefixItems/0 uses "multipleOf", which the engine cannot enforce'),
        ({"additionalProperties": {"not": {}}}, '#/additionalProperties uses "not", which the engine cannot enforce'),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"not": {}}}}, '#/$defs/a uses "not", which the engine cannot enforce'),
        ({"type": "text"}, "# has a type that JSON does not have"),
        ({"type": []}, "# has a type that JSON does not have"),
        ({"type": 3}, "# has a type that JSON does not have"),
        ({"enum": []}, "# allows no value"),
        ({"enum": ["a"], "type": "integer"}, "# allows no value"),
        ({"const": 1, "enum": [2]}, "# allows no value"),
        ({"const": True, "enum": [1]}, "# allows no value"),
        ({"properties": {"a": {"const": "abc", "maxLength": 2}}}, "#/properties/a allows no value"),
        ({"enum": [{}], "required": [], "properties": {}}, '# lists values and uses "properties"'),
        ({"type": "string", "maxLength": 10**9}, '# sets "maxLength" to more than'),
        ({"items": [{}], "$ref": "#/items/" + "9" * 5000}, 'has a "$ref" of more than'),
        ({"items": [{}], "$ref": "#/items/" + "9" * 500}, "which is not there"),
        ({"$ref": {"a": 1}}, "# refers to something outside"),
        ({"minItems": 3, "maxItems": 2, "type": "array"}, "# allows no value"),
        ({"minLength": 3, "maxLength": 2, "type": "string"}, "# allows no value"),
        ({"prefixItems": [{}], "items": False, "minItems": 2}, "# allows no value"),
        (
            {"type": "object", "required": ["a"], "additionalProperties": False},
            '# requires the member "a" and forbids it',
        ),
        ({"properties": {"a": False}, "required": ["a"], "additionalProperties": False}, "forbids it"),
        ({"type": "string", "format": "email", "maxLength": 9}, "# bounds the length of a format"),
        ({"$ref": "#"}, "# refers to itself"),
        ({"anyOf": [{"type": "null"}, {"$ref": "#"}]}, "refers to itself"),
        ({"$ref": "https://example.com/schema"}, "# refers to something outside of the schema"),
        (False, "# allows no value"),
        (3, "# is not a schema"),
    ],
)
def test_what_cannot_be_expressed_is_named(schema: object, sentence: str):
    assert sentence in refusal(schema)


def test_a_schema_that_is_nested_too_deeply():
    schema: dict[str, object] = {"type": "integer"}
    for _ in range(100):
        schema = {"type": "array", "items": schema}
    assert "nested too deeply" in refusal(schema)


def test_a_schema_that_is_too_large():
    schema = {"type": "object", "properties": {f"p{number}": {"enum": [number]} for number in range(5000)}}
    assert "too large" in refusal(schema)
    branch = {"$ref": "#/$defs/t", "title": "t", "maxLength": 3}  # unrolled, since it is not the reference alone
    tree = {"$defs": {"t": {"properties": {"l": branch, "r": branch}}}, "$ref": "#/$defs/t"}
    assert "too" in refusal(tree)


def branching(levels: int, branches: int) -> dict[str, Any]:
    """A small schema that means `branches ** levels` of them."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        alternatives = [{"description": str(number)} for number in range(branches)]
        schema = {"type": "object", "anyOf": alternatives, "properties": {"a": schema}}
    return schema


def tripled(levels: int) -> dict[str, Any]:
    schemas: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 3} for n in range(levels)}
    schemas[f"d{levels}"] = {"type": "object"}
    return {"$ref": "#/$defs/d0", "$defs": schemas}


def crossed(levels: int) -> dict[str, Any]:
    """Alternatives of alternatives, of which all are open at once."""
    schemas: dict[str, Any] = {
        f"d{n}": {"anyOf": [{"properties": {"a": {"$ref": f"#/$defs/d{n + 1}"}}, "required": ["a"]}] * 10}
        for n in range(levels)
    }
    schemas[f"d{levels}"] = {"type": "object"}
    return {"$ref": "#/$defs/d0", "$defs": schemas}


ENDLESS = [branching(22, 3), branching(10, 2), branching(6, 8), tripled(12), tripled(15), crossed(5)]


@pytest.mark.parametrize("lenient", [True, False])
@pytest.mark.parametrize("schema", ENDLESS)
def test_a_small_schema_that_means_endless_work_ends(schema: dict[str, Any], lenient: bool):
    rules = CountedRules()
    with pytest.raises(
        TooLarge if lenient else Inexpressible, match=None if lenient else "^#.* (too large|too deeply)"
    ):
        SchemaWriter(rules, schema, lenient=lenient).write(schema)
    assert rules.calls <= MAX_STEPS + 1


class CountedRules(Rules):
    def __init__(self) -> None:
        super().__init__(PRETTY_SPACE)
        self.calls = 0

    def spend(self, steps: int) -> None:
        self.calls += 1
        super().spend(steps)


@pytest.mark.parametrize(("levels", "branches"), [(3, 3), (2, 5)])
def test_alternatives_of_alternatives_that_are_few_are_written(levels: int, branches: int):
    check(branching(levels, branches), 5)


def test_many_members_may_share_a_bound():
    properties = {f"p{number}": {"type": "string", "maxLength": 900} for number in range(400)}
    assert reader({"properties": properties, "required": sorted(properties)}).rules


def test_a_place_that_may_refer_to_itself_is_known_after_one_that_could_not_be_expressed():
    schema = {"properties": {"a": {"items": {"pattern": "x"}}, "b": {"anyOf": [{"$ref": "#/properties/b"}, {}]}}}
    grammar = reader(schema, lenient=True)
    assert grammar.accepts('{"b": 1}')  # and is no rule that begins with itself


def test_where_it_is_lenient_what_cannot_be_expressed_is_any_value():
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}, "b": {"const": 1}}}
    schema["required"] = ["a", "b"]
    grammar = reader(schema, lenient=True)
    assert grammar.accepts('{"a": [3], "b": 1}')
    assert not grammar.accepts('{"a": [3], "b": 2}')
    assert not grammar.accepts('{"b": 1}')


LEAVES = st.one_of(
    st.sampled_from(["string", "integer", "number", "boolean", "null"]).map(lambda kind: {"type": kind}),
    st.lists(st.none() | st.booleans() | st.integers() | st.text(max_size=5), min_size=1).map(lambda v: {"enum": v}),
    st.tuples(st.integers(-1000, 1000), st.integers(0, 1000)).map(
        lambda pair: {"type": "integer", "minimum": pair[0], "maximum": sum(pair)}
    ),
    st.tuples(st.integers(0, 5), st.integers(0, 5)).map(
        lambda pair: {"type": "string", "minLength": pair[0], "maxLength": sum(pair)}
    ),
)
NAMES = st.text(max_size=4)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(NAMES, inner, max_size=4).flatmap(
        lambda properties: st.sets(st.sampled_from([*properties, "z"]), max_size=3).map(
            lambda required: {"type": "object", "properties": properties, "required": sorted(required)}
        )
    )


def arrays(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(inner, st.integers(0, 2), st.integers(0, 2)).map(
        lambda given: {"type": "array", "items": given[0], "minItems": given[1], "maxItems": given[1] + given[2]}
    )


@given(
    st.recursive(
        LEAVES,
        lambda inner: (
            objects(inner) | arrays(inner) | st.lists(inner, min_size=1, max_size=3).map(lambda v: {"anyOf": v})
        ),
        max_leaves=8,
    )
)
@settings(max_examples=100, deadline=None)
def test_any_schema_of_the_usual_words(schema: dict[str, Any]):
    check(schema, 8)
