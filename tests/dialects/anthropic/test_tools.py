"""Tools, choices and forms. Sources: dialects.md §1.1 and §1.2; PyPI `anthropic` 2.14.0; `anthropic_rules`."""

from dataclasses import replace
from typing import Any

import pytest

from appliance.dialects.anthropic.tools import ANSWER_TOOL, definitions, offer
from appliance.dialects.chat import Chat, DialectError, Format, Message, Text, Tool, ToolChoice

HI = Chat((Message("user", (Text("hi"),)),))
F, G = Tool("f", "Does it.", {"type": "object", "properties": {"a": {"type": "string"}}}), Tool("g")
CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
LIMITED = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}}


def fields(**wanted: Any) -> dict[str, Any]:
    return offer(replace(HI, **wanted), ()).fields


class TestDefinitions:
    def test_a_tool(self):
        assert definitions((F, G)) == [
            {"name": "f", "description": "Does it.", "input_schema": F.parameters},
            {"name": "g", "input_schema": {"type": "object"}},
        ]

    @pytest.mark.parametrize(
        ("schema", "expected"),
        [
            ({}, {"type": "object"}),
            ({"properties": {}}, {"type": "object", "properties": {}}),
            ({"required": [], "type": ["object", "null"]}, {"required": [], "type": "object"}),
            (LIMITED, LIMITED),
        ],
    )
    def test_the_outermost_type_is_said(self, schema: dict[str, Any], expected: dict[str, Any]):
        (tool,) = definitions((Tool("f", None, schema),))
        assert tool["input_schema"] == expected

    @pytest.mark.parametrize(
        ("tools", "words"),
        [
            ((Tool("web.search"),), "'web.search'"),
            ((Tool("x" * 129),), "letters"),
            ((F, F), "two tools of the name 'f'"),
            ((Tool("f", None, {"type": "array"}),), "object"),
            ((Tool("f", None, {"type": "object", "anyOf": [{"required": ["a"]}]}),), "`anyOf`"),
            ((Tool("f", None, {"oneOf": []}),), "`oneOf`"),
            ((Tool("f", None, {"properties": {"née": {}}}),), "'née'"),
        ],
    )
    def test_what_the_api_would_refuse_is_named(self, tools: tuple[Tool, ...], words: str):
        with pytest.raises(DialectError) as refused:
            definitions(tools)
        assert refused.value.param == "tools"
        assert "`tools`" in refused.value.message
        assert words in refused.value.message


class TestChoice:
    @pytest.mark.parametrize(
        ("choice", "parallel", "expected"),
        [
            (ToolChoice(), True, None),
            (ToolChoice(), False, {"type": "auto", "disable_parallel_tool_use": True}),
            (ToolChoice("required"), True, {"type": "any"}),
            (ToolChoice("required"), False, {"type": "any", "disable_parallel_tool_use": True}),
            (ToolChoice("named", "g"), True, {"type": "tool", "name": "g"}),
            (ToolChoice("named", "g"), False, {"type": "tool", "name": "g", "disable_parallel_tool_use": True}),
            (ToolChoice("none"), False, {"type": "none"}),
        ],
    )
    def test_in_the_words_of_the_api(self, choice: ToolChoice, parallel: bool, expected: object):
        written = fields(tools=(F, G), tool_choice=choice, parallel=parallel)
        assert written.get("tool_choice") == expected
        assert [tool["name"] for tool in written["tools"]] == ["f", "g"]

    @pytest.mark.parametrize("mode", ["auto", "none"])
    def test_without_tools_there_is_nothing_to_choose(self, mode: Any):
        assert fields(tool_choice=ToolChoice(mode), parallel=False) == {}

    def test_a_conversation_that_used_tools_defines_them(self):
        """anthropic-sdk-python#494: "Requests which include tool_use or tool_result blocks must define tools"."""
        assert offer(HI, ("f", "g")).fields == {
            "tools": [{"name": name, "input_schema": {"type": "object"}} for name in ("f", "g")],
            "tool_choice": {"type": "none"},
        }
        assert [tool.name for tool in (F,)] == [
            tool["name"] for tool in offer(replace(HI, tools=(F,)), ("x",)).fields["tools"]
        ]


class TestFormat:
    def test_a_schema_that_the_api_can_say_is_sent_as_it_is(self):
        made = offer(replace(HI, format=Format(CLOSED), tools=(F,)), ())
        assert made.format == {"type": "json_schema", "schema": CLOSED}
        assert (made.answer_tool, made.forced, [*made.fields]) == ("", False, ["tools"])

    @pytest.mark.parametrize(
        ("schema", "expected"), [(None, {"type": "object"}), (LIMITED, LIMITED), ({}, {"type": "object"})]
    )
    def test_any_other_is_the_input_of_a_tool(self, schema: dict[str, Any] | None, expected: dict[str, Any]):
        made = offer(replace(HI, format=Format(schema)), ())
        (tool,) = made.fields["tools"]  # type: ignore[misc]
        assert (made.answer_tool, made.forced, made.format) == (ANSWER_TOOL, True, None)
        assert (tool["name"], tool["input_schema"]) == (ANSWER_TOOL, expected)
        choice = {"type": "tool", "name": ANSWER_TOOL, "disable_parallel_tool_use": True}
        assert made.fields["tool_choice"] == choice

    def test_beside_tools_the_model_uses_either(self):
        written = fields(format=Format(), tools=(F, replace(G, name=ANSWER_TOOL)))
        assert [tool["name"] for tool in written["tools"]] == ["f", ANSWER_TOOL, f"{ANSWER_TOOL}_"]
        assert written["tool_choice"] == {"type": "any"}

    def test_beside_tools_that_it_may_not_use_there_is_only_the_answer(self):
        written = fields(format=Format(), tools=(F,), tool_choice=ToolChoice("none"))
        assert [tool["name"] for tool in written["tools"]] == [ANSWER_TOOL]

    @pytest.mark.parametrize("choice", [ToolChoice("required"), ToolChoice("named", "f")])
    def test_a_call_that_is_demanded_is_no_text_and_has_no_format(self, choice: ToolChoice):
        for wanted in (Format(), Format(CLOSED)):
            made = offer(replace(HI, format=wanted, tools=(F,), tool_choice=choice), ())
            assert (made.format, made.answer_tool, made.forced) == (None, "", True)

    def test_one_that_neither_can_hold_is_named(self):
        with pytest.raises(DialectError) as refused:
            offer(replace(HI, format=Format({"type": "array", "maxItems": 3})), ())
        assert refused.value.param == "response_format"
        assert "`response_format`" in refused.value.message
