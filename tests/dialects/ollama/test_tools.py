"""Tools as Ollama reads them. Sources: dialects.md §2; Ollama 0.33, `api/types.go`; recorded clients."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.chat import DialectError, Tool
from appliance.dialects.ollama.tools import MAX_CHARACTERS, definitions


def function(parameters: object, description: str | None = None) -> dict[str, Any]:
    (definition,) = definitions([Tool("f", description, parameters)])  # type: ignore[arg-type]
    assert definition["type"] == "function"
    return definition["function"]  # type: ignore[return-value]


def prop(schema: object, **more: object) -> dict[str, Any]:
    """How one property comes out."""
    return function({"type": "object", "properties": {"p": schema}, **more})["parameters"]["properties"]["p"]


def refused(parameters: dict[str, object]) -> DialectError:
    with pytest.raises(DialectError) as error:
        definitions([Tool("good"), Tool("get_weather", None, parameters)])
    return error.value


def test_a_plain_tool_is_as_it_was():
    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "City name"}, "days": {"type": ["integer", "null"]}},
        "required": ["city"],
    }
    assert function(parameters, "Get the current weather in a city") == {
        "name": "f",
        "description": "Get the current weather in a city",
        "parameters": parameters,
    }


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}, {"properties": None}, {"type": ["object"]}])
def test_a_tool_without_arguments(parameters: object):
    """A template writes what is null as `null`."""
    assert function(parameters) == {"name": "f", "parameters": {"type": "object", "properties": {}}}


class TestWhatHasTheSameMeaning:
    def test_references(self):
        defs = {"city": {"type": "string", "description": "A city"}}
        assert prop({"$ref": "#/$defs/city"}, **{"$defs": defs}) == defs["city"]
        assert prop({"type": "array", "items": {"$ref": "#/$defs/city"}}, **{"$defs": defs})["items"] == defs["city"]

    def test_a_constant_is_a_choice_of_one(self):
        assert prop({"const": "celsius"}) == {"enum": ["celsius"]}

    def test_one_of_several_is_any_of_several(self):
        assert prop({"oneOf": [{"type": "string"}, {"const": 5}]}) == {"anyOf": [{"type": "string"}, {"enum": [5]}]}

    def test_parts_that_all_count_are_one(self):
        """As pydantic 1 writes a reference with a description."""
        schema = {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "description": "inner"},
                {"properties": {"b": {"type": "null"}, "a": {}}, "required": ["b", "a"]},
            ],
            "description": "outer",
        }
        assert prop(schema) == {
            "type": "object",
            "description": "outer",
            "properties": {"a": {"type": "string"}, "b": {"type": "null"}},
            "required": ["a", "b"],
        }

    def test_properties_inside_properties(self):
        inner = {"type": "object", "properties": {"q": {"type": "integer", "minimum": 1}}, "required": ["q"]}
        assert prop(inner)["properties"] == {"q": {"type": "integer", "description": "(minimum: 1)"}}

    def test_order_is_kept(self):
        names = ["z", "a", "m", "b"]
        parameters = {"properties": {name: {} for name in names}, "required": names}
        assert list(function(parameters)["parameters"]["properties"]) == names
        assert function(parameters)["parameters"]["required"] == names


class TestWhatWouldBeDropped:
    def test_limits_are_said_in_the_description(self):
        schema = {"type": "integer", "minimum": 0, "maximum": 5, "default": 3, "description": "Stars"}
        assert prop(schema) == {
            "type": "integer",
            "description": "Stars (default: 3; minimum: 0; maximum: 5)",
        }
        assert prop({"pattern": "^\\d+$", "format": "date"})["description"] == '(format: "date"; pattern: "^\\\\d+$")'

    def test_what_is_said_everywhere_is_not(self):
        schema = {"title": "P", "additionalProperties": False, "propertyNames": {"type": "string"}, "$comment": "c"}
        assert prop(schema) == {}
        assert prop({"additionalProperties": {"type": "string"}})["description"] == (
            '(additionalProperties: {"type":"string"})'
        )

    def test_limits_of_the_arguments_as_a_whole_are_said_of_the_tool(self):
        parameters = {"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
        assert (
            function(parameters, "Finds.")["description"] == 'Finds. (anyOf: [{"required":["a"]},{"required":["b"]}])'
        )

    def test_so_is_a_description_of_the_arguments(self):
        assert function({"description": "What to find."}, "Finds.")["description"] == "Finds. What to find."
        assert function({"description": "Finds."}, "Finds.")["description"] == "Finds."
        assert function({"description": "Finds."})["description"] == "Finds."


class TestWhatIsUnusable:
    @pytest.mark.parametrize("schema", [True, False, None, 5, "x", [], {}])
    def test_a_property_is_an_object_to_ollama(self, schema: object):
        assert prop(schema) == {}

    def test_values_of_other_types_are_left_out(self):
        schema = {"type": 5, "description": [], "enum": "x", "properties": [], "required": "x", "anyOf": {}, "oneOf": 5}
        assert prop(schema) == {"description": "(oneOf: 5)"}
        assert function({**schema, "type": []})["parameters"] == {"type": "object", "properties": {}}

    def test_a_tool_that_contains_itself_is_cut(self):
        node = {"type": "object", "properties": {"below": {"$ref": "#/$defs/node"}}}
        parameters = {"properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
        assert function(parameters)["parameters"]["properties"]["root"] == {
            "type": "object",
            "properties": {"below": {"type": "object"}},
        }

    @pytest.mark.parametrize(
        "parameters",
        [
            {"properties": {"a": {"$ref": "https://example.com/s"}}},
            {"properties": {"a": {"$ref": "#/$defs/missing"}}},
            {
                "$ref": "#/$defs/a0",
                "$defs": {
                    **{f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(40)},
                    "a40": {"type": "null"},
                },
            },
        ],
    )
    def test_the_tool_is_named(self, parameters: dict[str, object]):
        error = refused(parameters)
        assert error.param == "tools"
        assert "`tools`" in error.message
        assert "'get_weather'" in error.message

    def test_all_tools_of_a_call_share_one_bound(self):
        half = {"properties": {"a": {"description": "x" * (MAX_CHARACTERS // 2)}}}
        assert definitions([Tool("f", None, half)])
        with pytest.raises(DialectError, match="'g'"):
            definitions([Tool("f", None, half), Tool("g", None, half)])


def check_as_go_reads(value: Any) -> None:
    """`api.ToolProperty`: these types, or the whole call is refused."""
    assert isinstance(value, dict)
    assert set(value) <= {"anyOf", "type", "items", "description", "enum", "properties", "required"}
    assert isinstance(value.get("type", ""), str) or all(isinstance(one, str) for one in value["type"])
    assert isinstance(value.get("description", ""), str)
    assert isinstance(value.get("enum", []), list)
    assert all(isinstance(one, str) for one in value.get("required", []))
    for inner in [*value.get("anyOf", []), *value.get("properties", {}).values()]:
        check_as_go_reads(inner)


KEYWORDS = st.sampled_from([
    "type", "items", "description", "enum", "properties", "required", "anyOf", "oneOf", "allOf", "const", "default",
    "minimum", "$defs", "additionalProperties", "not", "$schema",
])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYWORDS, JSON, max_size=5))
def test_ollama_can_read_whatever_a_schema_is(parameters: dict[str, object]):
    made = json.loads(json.dumps(function(parameters)))
    assert set(made) <= {"name", "description", "parameters"}
    outer = made["parameters"]
    assert set(outer) <= {"type", "properties", "required"}
    assert outer["type"] == "object"
    check_as_go_reads(outer)


def test_the_tools_of_real_clients():
    folder = Path(__file__).parents[3].parent / "shared" / "recordings" / "clients"
    if not folder.is_dir():
        pytest.skip("the recordings of real clients are not on this machine")
    bodies = [json.loads(path.read_text())["body"] for path in sorted(folder.glob("*.json"))]
    tools: list[Tool] = []
    for body in bodies:
        for tool in (body or {}).get("tools", []):
            known = tool.get("function", tool)
            if "name" in known:
                schema = known.get("parameters", known.get("input_schema"))
                tools.append(Tool(known["name"], known.get("description"), schema))
    assert len(tools) > 100
    for tool in tools:
        (made,) = definitions([tool])
        assert "$ref" not in json.dumps(made)
        check_as_go_reads(made["function"]["parameters"])  # type: ignore[index]
