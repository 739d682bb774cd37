"""A tool call that is demanded. Source: dialects.md §1.3."""

import json
from typing import Any

import jsonschema_rs
import pytest

from appliance.dialects.chat import Chat, DialectError, Message, Text, Tool, ToolChoice
from appliance.dialects.ollama.errors import InvalidToolCall
from appliance.dialects.ollama.forced import Forced, forced

WEATHER = Tool(
    "get_weather",
    "The weather.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
TIME = Tool("get_time", None, {"properties": {"zone": {"$ref": "#/$defs/zone"}}, "$defs": {"zone": {"enum": ["UTC"]}}})
WAIT = Tool("wait")


def chat(choice: ToolChoice, *tools: Tool) -> Chat:
    return Chat((Message("user", (Text("hi"),)),), tools=tools, tool_choice=choice)


class TestWhatIsDemanded:
    @pytest.mark.parametrize(
        ("choice", "tools"),
        [
            (ToolChoice("named", "wait"), (WAIT,)),
            (ToolChoice("required"), (WEATHER, WAIT)),
        ],
    )
    def test_a_call(self, choice: ToolChoice, tools: tuple[Tool, ...]):
        assert forced(chat(choice, WEATHER, WAIT)) == Forced(tools)

    @pytest.mark.parametrize("mode", ["auto", "none"])
    def test_no_call(self, mode: Any):
        assert forced(chat(ToolChoice(mode), WEATHER)) is None

    @pytest.mark.parametrize("choice", [ToolChoice("required"), ToolChoice("named", "f")])
    def test_nothing_to_call(self, choice: ToolChoice):
        assert forced(chat(choice)) is None


class TestSchema:
    def test_one_tool_is_its_own_schema(self):
        """With its references, which the server resolves: a schema may contain itself."""
        assert Forced((WEATHER,)).schema() == WEATHER.parameters
        assert Forced((TIME,)).schema() == {"type": "object", **(TIME.parameters or {})}
        assert Forced((WAIT,)).schema() == {"type": "object"}

    def test_several_are_a_name_and_arguments(self):
        schema = Forced((WEATHER, TIME, WAIT)).schema()
        assert schema["anyOf"][0] == {  # type: ignore[index]
            "type": "object",
            "properties": {"name": {"type": "string", "enum": ["get_weather"]}, "arguments": WEATHER.parameters},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for good in (
            {"name": "get_weather", "arguments": {"city": "Paris"}},
            {"name": "get_time", "arguments": {"zone": "UTC"}},
            {"name": "wait", "arguments": {}},
        ):
            assert jsonschema_rs.is_valid(schema, good, offline=True)
        for bad in (
            {"name": "get_weather", "arguments": {}},
            {"name": "get_time", "arguments": {"zone": "CET"}},
            {"name": "other", "arguments": {}},
            {"name": "wait"},
        ):
            assert not jsonschema_rs.is_valid(schema, bad, offline=True)

    def test_a_tool_whose_schema_cannot_be_written_is_named(self):
        with pytest.raises(DialectError, match="'bad'"):
            Forced((WAIT, Tool("bad", None, {"$ref": "https://example.com/s"}))).schema()


class TestCall:
    @pytest.mark.parametrize(
        ("text", "arguments"),
        [
            ('{"city":"Paris"}', '{"city":"Paris"}'),
            ('\n{\n  "days": 2,\n  "city": "é"\n}\n', '{"days":2,"city":"é"}'),
        ],
    )
    def test_the_text_of_one_tool_is_its_arguments(self, text: str, arguments: str):
        assert Forced((WEATHER,)).call(text) == ("get_weather", arguments)

    def test_the_text_of_several_names_one(self):
        several = Forced((WEATHER, TIME, WAIT))
        assert several.call('{"name":"wait","arguments":{}}') == ("wait", "{}")
        text = json.dumps({"name": "get_time", "arguments": {"zone": "UTC"}})
        assert several.call(text) == ("get_time", '{"zone":"UTC"}')

    @pytest.mark.parametrize(
        "text",
        ["", "secret", '{"city":"secret', "[]", '"secret"', '{"city":' * 300 + "1" + "}" * 300, '{"zip":"secret"}'],
    )
    def test_what_was_not_asked_for_is_an_invalid_call(self, text: str):
        with pytest.raises(InvalidToolCall) as error:
            Forced((WEATHER,)).call(text)
        assert "secret" not in str(error.value)

    @pytest.mark.parametrize(
        "text",
        [
            '{"city":"Paris"}',
            '{"name":"secret","arguments":{}}',
            '{"name":"wait"}',
            '{"name":"wait","arguments":"{}"}',
            '{"name":["wait"],"arguments":{}}',
            '{"name":"get_weather","arguments":{}}',
            '{"name":"get_time","arguments":{"zone":"secret"}}',
        ],
    )
    def test_neither_is_a_call_of_none_of_several(self, text: str):
        with pytest.raises(InvalidToolCall) as error:
            Forced((WEATHER, TIME, WAIT)).call(text)
        assert "secret" not in str(error.value)

    def test_a_sloppy_schema_does_not_stop_a_call(self):
        sloppy = Tool("f", None, {"type": "object", "properties": {"a": {"required": True}}, "required": "a"})
        assert Forced((sloppy,)).call('{"a":1}') == ("f", '{"a":1}')
