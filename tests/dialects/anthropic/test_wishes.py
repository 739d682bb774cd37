"""What a body wants of its answer. Sources: dialects.md §1.2; the types of PyPI `anthropic` 2.14.0."""

from typing import Any

import pytest

from appliance.dialects.anthropic.blocks import Gaps
from appliance.dialects.anthropic.wishes import (
    MAX_INT,
    Tooling,
    answer_format,
    effort,
    refuse_servers,
    sampling,
    tooling,
)
from appliance.dialects.chat import DialectError, Format, Sampling, Tool, ToolChoice
from appliance.dialects.fields import Fields

Json = dict[str, Any]

F: Json = {"name": "f", "description": "d", "input_schema": {"type": "object", "properties": {}}}
G: Json = {"name": "g", "input_schema": {}}


def tools_of(**fields: object) -> Tooling:
    gaps = Gaps()
    found = tooling(Fields(fields), gaps)
    assert gaps.unsaid is None
    return found


def refused(read: Any, **fields: object) -> DialectError:
    with pytest.raises(DialectError) as error:
        read(Fields(fields))
    assert f"`{error.value.param}`" in error.value.message
    return error.value


def refused_tools(**fields: object) -> DialectError:
    return refused(lambda read: tooling(read, Gaps()), **fields)


class TestTools:
    def test_those_of_the_caller(self):
        found = tools_of(tools=[F, {**G, "type": "custom"}])
        assert found == Tooling((Tool("f", "d", F["input_schema"]), Tool("g", None, {})), ToolChoice(), parallel=True)

    def test_each_is_remembered_as_it_was_written(self):
        written = {**F, "type": "custom", "cache_control": {"type": "ephemeral"}, "strict": True, "unknown": 1}
        assert tools_of(tools=[written]).tools[0].written == written

    @pytest.mark.parametrize("tools", [None, []])
    def test_none(self, tools: object):
        assert tools_of(tools=tools) == Tooling((), ToolChoice(), parallel=True)

    @pytest.mark.parametrize(
        "tool",
        [
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
            {"type": "bash_20250124", "name": "bash"},
            {"type": "computer_20250124", "name": "computer", "display_width_px": 1},
            {"type": "mcp_toolset", "mcp_server_name": "s"},
            {"type": "x" * 100},
        ],
    )
    def test_one_of_the_provider_is_noted_by_name(self, tool: Json):
        gaps = Gaps()
        tooling(Fields({"tools": [F, tool]}), gaps)
        assert gaps.unsaid is not None
        assert gaps.unsaid.param == "tools[1]"
        assert tool["type"][:40] in gaps.unsaid.message
        assert len(gaps.unsaid.message) < 200

    @pytest.mark.parametrize(
        ("tools", "param"),
        [
            ({}, "tools"),
            (["f"], "tools[0]"),
            ([F, {"input_schema": {}}], "tools[1].name"),
            ([{**F, "name": ""}], "tools[0].name"),
            ([{**F, "name": 5}], "tools[0].name"),
            ([{"name": "f"}], "tools[0].input_schema"),
            ([{**F, "input_schema": "{}"}], "tools[0].input_schema"),
            ([{**F, "input_schema": None}], "tools[0].input_schema"),
            ([{**F, "description": 5}], "tools[0].description"),
            ([{**F, "type": 5}], "tools[0].type"),
        ],
    )
    def test_what_is_none_is_refused_by_name(self, tools: object, param: str):
        assert refused_tools(tools=tools).param == param


class TestChoice:
    @pytest.mark.parametrize(
        ("choice", "expected"),
        [
            ({"type": "auto"}, ToolChoice()),
            ({"type": "any"}, ToolChoice("required")),
            ({"type": "none"}, ToolChoice("none")),
            ({"type": "tool", "name": "g"}, ToolChoice("named", "g")),
            (None, ToolChoice()),
        ],
    )
    def test_what_may_be_chosen(self, choice: object, expected: ToolChoice):
        assert tools_of(tools=[F, G], tool_choice=choice).choice == expected

    @pytest.mark.parametrize(
        ("fields", "parallel"),
        [
            ({}, True),
            ({"disable_parallel_tool_use": False}, True),
            ({"disable_parallel_tool_use": None}, True),
            ({"disable_parallel_tool_use": True}, False),
        ],
    )
    @pytest.mark.parametrize("kind", ["auto", "any"])
    def test_one_call_or_several(self, kind: str, fields: Json, parallel: bool):
        assert tools_of(tools=[F], tool_choice={"type": kind, **fields}).parallel is parallel

    @pytest.mark.parametrize("choice", [{"type": "auto"}, {"type": "none"}])
    def test_without_tools_there_may_be_none(self, choice: Json):
        assert tools_of(tool_choice=choice).tools == ()

    @pytest.mark.parametrize(
        ("choice", "param"),
        [
            ("auto", "tool_choice"),
            ({}, "tool_choice.type"),
            ({"type": "required"}, "tool_choice.type"),
            ({"type": "function", "function": {"name": "f"}}, "tool_choice.type"),
            ({"type": "tool"}, "tool_choice.name"),
            ({"type": "tool", "name": "unknown"}, "tool_choice"),
            ({"type": "any", "disable_parallel_tool_use": "yes"}, "tool_choice.disable_parallel_tool_use"),
        ],
    )
    def test_what_no_tool_can_meet_is_refused_by_name(self, choice: object, param: str):
        assert refused_tools(tools=[F], tool_choice=choice).param == param

    @pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "f"}])
    def test_a_call_of_nothing_is_refused(self, choice: Json):
        assert refused_tools(tools=[], tool_choice=choice).param == "tool_choice"


class TestFormat:
    SCHEMA: Json = {"type": "object", "properties": {"a": {"type": "string"}}}  # noqa: RUF012

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"output_config": None},
            {"output_config": {}},
            {"output_format": None},
            {"output_config": {"effort": "high", "format": None}},
        ],
    )
    def test_plain_text(self, fields: Json):
        assert answer_format(Fields(fields)) is None

    def test_where_it_stands_and_where_it_stood_before(self):
        wanted = {"type": "json_schema", "schema": self.SCHEMA}
        other = {"type": "json_schema", "schema": {}}
        assert answer_format(Fields({"output_config": {"format": wanted}})) == Format(self.SCHEMA)
        assert answer_format(Fields({"output_format": wanted})) == Format(self.SCHEMA)
        assert answer_format(Fields({"output_config": {}, "output_format": wanted})) == Format(self.SCHEMA)
        both = {"output_config": {"format": wanted}, "output_format": other}
        assert answer_format(Fields(both)) == Format(self.SCHEMA)

    @pytest.mark.parametrize(
        ("wanted", "param"),
        [
            ("json", ""),
            ({}, ".type"),
            ({"type": "json_object"}, ".type"),
            ({"type": "json_schema"}, ".schema"),
            ({"type": "json_schema", "schema": "{}"}, ".schema"),
            ({"type": "json_schema", "schema": {"type": "strange"}}, ".schema"),
            ({"type": "json_schema", "schema": {"$ref": "https://example.com/s"}}, ".schema"),
            ({"type": "json_schema", "schema": {"pattern": "("}}, ".schema"),
        ],
    )
    def test_what_is_none_is_refused_by_name(self, wanted: object, param: str):
        assert refused(answer_format, output_config={"format": wanted}).param == f"output_config.format{param}"
        assert refused(answer_format, output_format=wanted).param == f"output_format{param}"


class TestEffort:
    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            ({}, None),
            ({"thinking": None}, None),
            # Effort without a word of thinking says how long to write.
            ({"output_config": {"effort": "high"}}, None),
            ({"thinking": {"type": "disabled"}}, "none"),
            ({"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}}, "none"),
            ({"thinking": {"type": "adaptive"}}, "medium"),
            ({"thinking": {"type": "between_tools"}}, "medium"),
            ({"thinking": {"type": "enabled"}}, "medium"),
            ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "low"),
            ({"thinking": {"type": "enabled", "budget_tokens": 4096}}, "low"),
            ({"thinking": {"type": "enabled", "budget_tokens": 4097}}, "medium"),
            ({"thinking": {"type": "enabled", "budget_tokens": 16_384}}, "medium"),
            ({"thinking": {"type": "enabled", "budget_tokens": 16_385}}, "high"),
            ({"thinking": {"type": "enabled", "budget_tokens": MAX_INT}}, "high"),
            ({"thinking": {"type": "enabled", "budget_tokens": 31_999}, "output_config": {"effort": "low"}}, "low"),
            *(
                ({"thinking": {"type": kind}, "output_config": {"effort": word}}, word)
                for kind in ("adaptive", "enabled", "between_tools")
                for word in ("low", "medium", "high", "xhigh", "max")
            ),
        ],
    )
    def test_how_long_to_think(self, fields: Json, expected: str | None):
        assert effort(Fields(fields)) == expected

    @pytest.mark.parametrize(
        ("fields", "param"),
        [
            ({"thinking": "adaptive"}, "thinking"),
            ({"thinking": {}}, "thinking.type"),
            ({"thinking": {"type": "on"}}, "thinking.type"),
            ({"thinking": {"type": "enabled", "budget_tokens": 0}}, "thinking.budget_tokens"),
            ({"thinking": {"type": "enabled", "budget_tokens": "1024"}}, "thinking.budget_tokens"),
            ({"output_config": {"effort": "minimal"}}, "output_config.effort"),
            ({"output_config": {"effort": 5}}, "output_config.effort"),
            ({"output_config": "high"}, "output_config"),
        ],
    )
    def test_what_says_no_such_thing_is_refused_by_name(self, fields: Json, param: str):
        assert refused(effort, **fields).param == param


class TestSampling:
    def test_nothing_is_added(self):
        assert sampling(Fields({})) == Sampling()

    def test_all_of_it(self):
        fields = {"temperature": 1, "top_p": 0.0, "top_k": 0, "max_tokens": 5.0, "stop_sequences": ["END", " ", ""]}
        assert sampling(Fields(fields)) == Sampling(1.0, 0.0, top_k=0, max_tokens=5, stop=("END", " "))

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("temperature", 1.1),
            ("temperature", -0.1),
            ("temperature", "1"),
            ("temperature", True),
            ("top_p", 2),
            ("top_k", -1),
            ("top_k", 0.5),
            ("top_k", MAX_INT + 1),
            ("max_tokens", 0),
            ("max_tokens", MAX_INT + 1),
            ("stop_sequences", "END"),
            ("stop_sequences", ["END", 5]),
            ("stop_sequences", [None]),
        ],
    )
    def test_what_is_out_of_bounds_is_refused_by_name(self, name: str, value: object):
        assert refused(sampling, **{name: value}).param == name


class TestServers:
    @pytest.mark.parametrize("fields", [{}, {"mcp_servers": None}, {"mcp_servers": []}])
    def test_none(self, fields: Json):
        refuse_servers(Fields(fields))

    def test_they_are_refused_and_what_opens_them_is_not_told(self):
        servers = [{"url": "https://mcp.example", "authorization_token": "secret"}]
        with pytest.raises(DialectError) as refusal:
            refuse_servers(Fields({"mcp_servers": servers}))
        assert refusal.value.param == "mcp_servers"
        assert "secret" not in refusal.value.message
