"""Reading tools. Sources: dialects.md §1.1 and §1.3; OpenAI's own types."""

import pytest

from appliance.dialects.chat import DialectError, Tool, ToolChoice
from appliance.dialects.fields import Fields
from appliance.dialects.openai.tools import Tooling, parse

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = {"name": "get_weather", "description": "The weather.", "parameters": PARAMETERS}
TOOLS = [{"type": "function", "function": {**WEATHER, "strict": True}}, {"type": "function", "function": {"name": "f"}}]
READ = (Tool("get_weather", "The weather.", PARAMETERS), Tool("f"))
NAMED = {"type": "function", "function": {"name": "f"}}


def read(**fields: object) -> Tooling:
    return parse(Fields(fields))


def refused(**fields: object) -> str:
    with pytest.raises(DialectError) as error:
        read(**fields)
    assert error.value.param
    assert f"`{error.value.param}`" in error.value.message
    return error.value.param


def test_nothing_is_said():
    nothing = Tooling((), ToolChoice(), parallel=True, legacy=False)
    assert read() == read(tools=None, functions=None, tool_choice=None, function_call=None) == nothing
    assert read(tools=[], functions=[]) == read(tool_choice="auto") == read(function_call="auto") == nothing


def test_definitions():
    assert read(tools=TOOLS).tools == READ


@pytest.mark.parametrize(
    ("tool", "param"),
    [
        ("f", "tools[1]"),
        ({}, "tools[1].type"),
        ({"type": "web_search", "search_context_size": "low"}, "tools[1].type"),
        ({"type": "custom", "custom": {"name": "f"}}, "tools[1].type"),
        ({"type": 5}, "tools[1].type"),
        ({"type": "function"}, "tools[1].function"),
        # As the Responses API writes them.
        ({"type": "function", "name": "f"}, "tools[1].function"),
        ({"type": "function", "function": {}}, "tools[1].function.name"),
        ({"type": "function", "function": {"name": ""}}, "tools[1].function.name"),
        ({"type": "function", "function": {"name": 5}}, "tools[1].function.name"),
        ({"type": "function", "function": {"name": "f", "description": 5}}, "tools[1].function.description"),
        ({"type": "function", "function": {"name": "f", "parameters": []}}, "tools[1].function.parameters"),
    ],
)
def test_what_is_no_function_is_refused_by_name(tool: object, param: str):
    assert refused(tools=[TOOLS[0], tool]) == param


@pytest.mark.parametrize("tools", ["x", {}, 5])
def test_tools_are_a_list(tools: object):
    assert refused(tools=tools) == "tools"
    assert refused(functions=tools) == "functions"


class TestChoice:
    @pytest.mark.parametrize(
        ("choice", "read_as"),
        [
            (None, ToolChoice()),
            ("auto", ToolChoice("auto")),
            ("none", ToolChoice("none")),
            ("required", ToolChoice("required")),
            (NAMED, ToolChoice("named", "f")),
        ],
    )
    def test_of_openai(self, choice: object, read_as: ToolChoice):
        assert read(tools=TOOLS, tool_choice=choice).choice == read_as

    @pytest.mark.parametrize(
        ("choice", "param"),
        [
            ("any", "tool_choice"),
            ("f", "tool_choice"),
            (True, "tool_choice"),
            ([], "tool_choice"),
            ({}, "tool_choice"),
            ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [NAMED]}}, "tool_choice"),
            ({"type": "custom", "custom": {"name": "f"}}, "tool_choice"),
            ({"type": 5}, "tool_choice.type"),
            ({"type": "function"}, "tool_choice.function"),
            ({"type": "function", "function": {}}, "tool_choice.function.name"),
            ({"type": "function", "function": {"name": "g"}}, "tool_choice"),
        ],
    )
    def test_others_are_refused_by_name(self, choice: object, param: str):
        assert refused(tools=TOOLS, tool_choice=choice) == param

    @pytest.mark.parametrize("choice", ["required", NAMED])
    def test_a_choice_without_tools(self, choice: object):
        assert refused(tool_choice=choice) == "tool_choice"
        assert refused(tools=[], tool_choice=choice) == "tool_choice"


@pytest.mark.parametrize(("value", "parallel"), [(None, True), (True, True), (False, False)])
def test_parallel_calls(value: object, parallel: bool):
    assert read(tools=TOOLS, parallel_tool_calls=value).parallel is parallel


def test_parallel_calls_are_a_boolean():
    assert refused(parallel_tool_calls="no") == "parallel_tool_calls"


class TestFunctions:
    """As tools were called before."""

    def test_definitions(self):
        assert read(functions=[WEATHER, {"name": "f"}]) == Tooling(READ, ToolChoice(), parallel=False, legacy=True)

    @pytest.mark.parametrize(
        ("choice", "read_as"),
        [("auto", ToolChoice()), ("none", ToolChoice("none")), ({"name": "f"}, ToolChoice("named", "f"))],
    )
    def test_choice(self, choice: object, read_as: ToolChoice):
        assert read(functions=[{"name": "f"}], function_call=choice).choice == read_as

    def test_the_newer_choice_is_heard_too(self):
        assert read(functions=[{"name": "f"}], tool_choice="required").choice == ToolChoice("required")

    @pytest.mark.parametrize(
        ("fields", "param"),
        [
            ({"functions": [{}]}, "functions[0].name"),
            ({"functions": ["f"]}, "functions[0]"),
            ({"functions": [WEATHER], "tools": TOOLS}, "functions"),
            ({"functions": [WEATHER], "function_call": "required"}, "function_call"),
            ({"functions": [WEATHER], "function_call": {}}, "function_call.name"),
            ({"functions": [WEATHER], "function_call": {"name": "g"}}, "function_call"),
            ({"function_call": {"name": "f"}}, "function_call"),
        ],
    )
    def test_what_is_wrong_is_named(self, fields: dict[str, object], param: str):
        assert refused(**fields) == param
