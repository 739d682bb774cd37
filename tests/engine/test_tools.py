"""Tools in requests. Source: recordings 21, 24 and 201 for the shapes."""

import json
import re

import pytest

from appliance.engine.fields import Fields
from appliance.engine.refusal import Refused
from appliance.engine.tools import Tool, ToolCall, check_names, new_call_id, parse_calls, parse_tools
from tests.engine.recordings import exchange


def test_recorded_tools():
    request = json.loads(exchange("21-chat-tools").request_body)
    (tool,) = parse_tools(Fields(request, "ChatRequest"))
    assert tool.name == "get_weather"
    assert tool.description == "Get the current weather in a city"
    assert tool.parameters["required"] == ["city"]


def test_recorded_calls():
    message = json.loads(exchange("24-chat-tool-result").request_body)["messages"][1]
    assert parse_calls(Fields(message, "m")) == (ToolCall("get_weather", {"city": "Paris"}),)


def test_what_is_not_said_is_empty():
    assert parse_tools(Fields({}, "X")) == ()
    assert parse_tools(Fields({"tools": [{}]}, "X")) == (Tool("", "", {}),)
    assert parse_calls(Fields({}, "m")) == ()
    assert parse_calls(Fields({"tool_calls": [{}]}, "m")) == (ToolCall("", {}),)


def test_ids_and_indices_are_kept():
    call = {"id": "call_1", "function": {"index": 2, "name": "f", "arguments": {"a": [1]}}}
    assert parse_calls(Fields({"tool_calls": [call]}, "m")) == (ToolCall("f", {"a": [1]}, "call_1", 2),)


@pytest.mark.parametrize(
    "tools", [{}, "x", [1], [{"function": "f"}], [{"function": {"name": 1}}], [{"function": {"parameters": []}}]]
)
def test_tools_of_the_wrong_shape(tools: object):
    with pytest.raises(Refused, match="cannot unmarshal"):
        parse_tools(Fields({"tools": tools}, "X"))


def test_arguments_are_an_object_and_no_text():
    with pytest.raises(Refused, match=r"m\.tool_calls\.function\.arguments"):
        parse_calls(Fields({"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}, "m"))


def test_a_tool_needs_a_name():
    check_names([Tool("f", "", {})])
    with pytest.raises(Refused, match="a function with a name"):
        check_names([Tool("f", "", {}), Tool("", "", {})])


def test_ids_look_like_ollamas():
    recorded = exchange("201-chat-toolcall").objects[0]["message"]["tool_calls"][0]["id"]
    ids = {new_call_id() for _ in range(50)}
    assert len(ids) == 50
    assert all(re.fullmatch(r"call_[a-z0-9]{8}", each) for each in [recorded, *ids])
