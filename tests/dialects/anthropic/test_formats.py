"""Schemas that the API can hold an answer to. Sources: Anthropic's documentation ("Structured outputs") and its SDK."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.anthropic.formats import can_say
from tests.upstreams.anthropic_schemas import check_format


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


STRING = {"type": "string"}

SAYABLE = [
    closed(title=STRING),  # what Claude Code itself asks for (recordings, claude-resume-02)
    closed(),
    closed(a={"type": ["string", "null"]}, b={"enum": ["x", 1, None]}, c={"const": True}, d={"type": "integer"}),
    closed(when={"type": "string", "format": "date-time"}, names={"type": "array", "items": STRING, "minItems": 1}),
    closed(a={"anyOf": [STRING, {"type": "null"}], "description": "d", "title": "t"}),
    {**closed(a={"$ref": "#/$defs/a"}), "$defs": {"a": closed(b={"$ref": "#/$defs/b"}), "b": STRING}},
    {"$ref": "#/$defs/a", "$defs": {"a": closed(b=STRING)}},
]
NOT_SAYABLE = [
    {},
    {"type": "object"},
    {"type": "object", "additionalProperties": False},
    {**closed(a=STRING), "additionalProperties": True},
    {**closed(a=STRING), "additionalProperties": STRING},
    {"type": "object", "properties": {"a": STRING}},
    {**closed(a=STRING), "$schema": "http://json-schema.org/draft-07/schema#"},
    {**closed(a=STRING), "minProperties": 1},
    closed(a={"type": "integer", "minimum": 1}),
    closed(a={"type": "string", "pattern": "^x"}),
    closed(a={"type": "string", "maxLength": 3}),
    closed(a={"type": "string", "format": "color"}),
    closed(a={"type": "array"}),
    closed(a={"type": "array", "items": STRING, "minItems": 2}),
    closed(a={"type": ["object", "null"]}),
    closed(a={"enum": [{"x": 1}]}),
    closed(a={"oneOf": [STRING]}),
    closed(a={"description": "anything"}),
    closed(a=True),
    closed(a={"$ref": "#"}),
    closed(a={"$ref": "#/$defs/none"}),
    {**closed(a={"$ref": "#/$defs/a"}), "$defs": {"a": closed(b={"$ref": "#/$defs/b"}), "b": {"$ref": "#/$defs/a"}}},
]


@pytest.mark.parametrize("schema", SAYABLE)
def test_what_the_api_takes_is_sayable(schema: dict[str, Any]):
    assert can_say(schema)
    assert check_format(schema) is None


@pytest.mark.parametrize("schema", NOT_SAYABLE)
def test_everything_else_is_not(schema: dict[str, Any]):
    assert not can_say(schema)


def test_a_schema_of_many_references_is_judged_in_time():
    """Ten thousand definitions, each of the next: OpenAI allows 5,000 properties."""
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(10_000)}
    assert can_say({"$ref": "#/$defs/d0", "$defs": {**chain, "d10000": STRING}})


KEYWORDS = st.sampled_from(
    ["type", "properties", "required", "additionalProperties", "items", "minItems", "format", "enum", "const", "anyOf",
     "allOf", "$ref", "$defs", "minimum", "description"]
)  # fmt: skip
VALUES = st.recursive(
    st.sampled_from(["object", "array", "string", "#/$defs/type", "date", "#"]) | st.booleans() | st.integers(0, 2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=10,
)


@given(st.dictionaries(KEYWORDS, VALUES, max_size=5))
def test_any_value_is_judged(schema: dict[str, Any]):
    assert can_say(schema) in (True, False)


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """Valid schemas, most of them of what the API takes."""
    kind = draw(st.sampled_from(["string", "integer", "enum", "open"] + ["object", "array", "anyOf"] * (depth > 0)))
    inner = schemas(depth=depth - 1)
    match kind:
        case "object":
            properties = draw(st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2))
            return {
                "type": "object",
                "properties": properties,
                "additionalProperties": draw(st.sampled_from([False] * 5 + [True])),
            }
        case "array":
            return {
                "type": "array",
                "items": draw(inner),
                **draw(st.sampled_from([{}, {"minItems": 1}, {"minItems": 3}])),
            }
        case "anyOf":
            return {"anyOf": draw(st.lists(inner, min_size=1, max_size=2))}
        case "enum":
            return {"enum": draw(st.lists(st.sampled_from(["x", 1, None]), min_size=1, max_size=2, unique=True))}
        case "open":
            return draw(st.sampled_from([{"type": "integer", "minimum": 1}, {"type": "object"}, {"type": "null"}]))
        case _:
            return {"type": kind}


@given(schemas())
def test_what_is_sayable_the_api_takes(schema: dict[str, Any]):
    if can_say(schema):
        assert check_format(schema) is None
