"""Which schemas answers can be checked with. Source: JSON Schema 2020-12, and draft-07 and draft-04 by name."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.schema_checks import MAX_PATTERNS, MAX_SCHEMAS, schema_error

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": ["string", "null"]}}},
        {"$ref": "#"},
        {"properties": {"below": {"items": {"$ref": "#"}}}},
        {"$schema": DRAFT_7, "definitions": {"a": {}}, "items": [{"$ref": "#/definitions/a"}]},
        {"$schema": DRAFT_4, "minimum": 1, "exclusiveMinimum": True},
        {"pattern": r"^(?=a)\d{4}-\d{2}$"},
        {"x-unknown": {"type": 5}, "format": "no-such-format", "$comment": "c"},
        {"enum": [{"type": 5}], "default": {"$ref": "http://example.com"}},
    ],
)
def test_usable(schema: dict[str, object]):
    assert schema_error(schema) is None


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"type": "text"}, "#/type"),
        ({"type": 5}, "#/type"),
        ({"properties": {"a/b": {"minimum": "1"}}}, "#/properties/a~1b/minimum"),
        ({"required": True}, "#/required"),
        ({"items": {"enum": 5}}, "#/items/enum"),
        ({"minimum": 1, "exclusiveMinimum": True}, "#/exclusiveMinimum"),
        ({"$ref": 5}, "#/$ref"),
        ({"$schema": 5}, "#/$schema"),
    ],
)
def test_what_is_not_a_schema_is_shown(schema: dict[str, object], where: str):
    assert schema_error(schema) == f"is not a valid JSON schema, at {where!r}"


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "http://127.0.0.1:9/s"}, "outside itself"),
        ({"items": {"anyOf": [{"$ref": "file:///etc/passwd"}]}}, "outside itself"),
        ({"$id": "http://x/", "$ref": "other"}, "outside itself"),
        ({"$ref": "#anchor", "$defs": {"a": {"$anchor": "anchor"}}}, "outside itself"),
        ({"$ref": "#/$defs/a"}, "does not have"),
        ({"items": {"$dynamicRef": "#a"}}, "not a plain"),
        ({"items": {"$recursiveRef": "#"}}, "not a plain"),
    ],
)
def test_only_plain_references_into_itself(schema: dict[str, object], why: str):
    assert why in (schema_error(schema) or "")


@pytest.mark.parametrize("pattern", ["(", "((a{1000}){1000}){1000}", "[z-a]"])
def test_a_pattern_that_cannot_be_used(pattern: str):
    assert "pattern" in (schema_error({"pattern": pattern}) or "")
    assert "pattern" in (schema_error({"properties": {"a": {"patternProperties": {pattern: {}}}}}) or "")


def test_nothing_is_fetched():
    """The draft that a schema names is one of five or is not looked at; no connection is tried, which would be slow."""
    assert schema_error({"$schema": "http://127.0.0.1:9/draft", "type": "object"}) is None
    assert schema_error({"$schema": "file:///etc/passwd", "type": "object"}) is None
    assert schema_error({"properties": {"a": {"$schema": "http://127.0.0.1:9/draft"}}}) is None


def test_the_size_is_bounded():
    def wide(count: int) -> dict[str, object]:
        return {"properties": {f"p{i}": {"type": "integer"} for i in range(count)}}

    assert schema_error(wide(MAX_SCHEMAS - 1)) is None
    assert "more than" in (schema_error(wide(MAX_SCHEMAS)) or "")
    patterns: dict[str, object] = {"patternProperties": {f"^p{i}$": {} for i in range(MAX_PATTERNS + 1)}}
    assert "more than" in (schema_error(patterns) or "")
    assert "more than" in (schema_error({"anyOf": [{"pattern": "a"}] * (MAX_PATTERNS + 1)}) or "")


def test_references_that_double_take_no_time():
    defs = {f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(60)}
    began = time.process_time()
    assert schema_error({"$ref": "#/$defs/a0", "$defs": {**defs, "a60": {}}}) is None
    assert time.process_time() - began < 1


KEYWORDS = st.sampled_from(
    ["type", "$ref", "$schema", "items", "properties", "required", "pattern", "allOf", "not", "enum", "minimum", "$id"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3) | st.sampled_from(["#", "object", "(", "^a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(KEYWORDS, JSON, max_size=4))
def test_any_object_is_a_schema_or_refused_with_a_reason(schema: dict[str, object]):
    wrong = schema_error(schema)
    assert wrong is None or wrong
