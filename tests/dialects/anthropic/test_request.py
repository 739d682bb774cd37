"""Reading a Messages call as a whole. Sources: dialects.md §1.2, gateway.md ("Errors")."""

import json

import pytest

from appliance.dialects.anthropic.request import Request, counted, parse
from appliance.dialects.chat import Chat, DialectError, Format, Message, Sampling, Text, Tool, ToolChoice

HI = [{"role": "user", "content": "hi"}]
SAID = Message("user", (Text("hi"),), joint="\n")


def written(**fields: object) -> bytes:
    return json.dumps({"model": "pulse-auto", "max_tokens": 64, "messages": HI, **fields}).encode()


def read(**fields: object) -> Request:
    return parse(written(**fields))


def refused(**fields: object) -> DialectError:
    with pytest.raises(DialectError) as error:
        read(**fields)
    assert f"`{error.value.param}`" in error.value.message
    return error.value


def test_the_smallest_call():
    body = b'{"max_tokens":1,"messages":[{"role":"user","content":"hi"}]}'
    assert parse(body) == Request("", Chat((SAID,), Sampling(max_tokens=1), reminders=True), stream=False)


def test_a_call_with_everything():
    schema = {"type": "object"}
    request = read(
        system=[{"type": "text", "text": "be terse", "cache_control": {"type": "ephemeral"}}],
        temperature=0,
        top_p=0.5,
        top_k=40,
        stop_sequences=["END"],
        tools=[{"name": "f", "description": "d", "input_schema": schema}],
        tool_choice={"type": "tool", "name": "f", "disable_parallel_tool_use": True},
        output_config={"effort": "xhigh", "format": {"type": "json_schema", "schema": schema}},
        thinking={"type": "adaptive"},
        stream=True,
    )
    assert request == Request(
        "pulse-auto",
        Chat(
            (Message("system", (Text("be terse"),), joint="\n"), SAID),
            Sampling(temperature=0.0, top_p=0.5, top_k=40, stop=("END",), max_tokens=64),
            tools=(Tool("f", "d", schema),),
            tool_choice=ToolChoice("named", "f"),
            parallel=False,
            format=Format(schema),
            effort="xhigh",
            reminders=True,
        ),
        stream=True,
    )


@pytest.mark.parametrize(("model", "expected"), [(None, ""), ("", ""), (" pulse-auto +cortex", " pulse-auto +cortex")])
def test_the_model_is_handed_on_as_it_was_sent(model: str | None, expected: str):
    assert read(model=model).model == expected


@pytest.mark.parametrize("body", [b"", b" ", b"[]", b"{", b"\xff", b'"x"', b"null"])
def test_a_body_that_is_no_object(body: bytes):
    for reader in (parse, counted):
        with pytest.raises(DialectError) as error:
            reader(body)
        assert error.value.param is None


class TestWhatIsRequired:
    """dialects.md §1.2: `max_tokens` above 0 and `messages`; a missing model is `pulse-auto`."""

    @pytest.mark.parametrize("tokens", [None, 0, -1, 1.5, "64", True, [], 2**63])
    def test_a_ceiling_above_nothing(self, tokens: object):
        assert refused(max_tokens=tokens).param == "max_tokens"

    def test_it_is_there(self):
        with pytest.raises(DialectError, match="max_tokens"):
            parse(json.dumps({"messages": HI}).encode())
        assert read(max_tokens=1.0).chat.sampling.max_tokens == 1

    @pytest.mark.parametrize("messages", [None, [], {}, "hi", 5])
    def test_a_message(self, messages: object):
        assert refused(messages=messages).param == "messages"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": 5}, "model"),
        ({"model": ["pulse-auto"]}, "model"),
        ({"stream": "true"}, "stream"),
        ({"stream": 1}, "stream"),
        ({"system": 5}, "system"),
        ({"system": {"type": "text", "text": "x"}}, "system"),
        ({"system": ["x"]}, "system[0]"),
        ({"mcp_servers": {}}, "mcp_servers"),
    ],
)
def test_wrong_types(fields: dict[str, object], param: str):
    assert refused(**fields).param == param


@pytest.mark.parametrize(
    "name",
    [
        "system", "stream", "model", "tools", "tool_choice", "temperature", "top_p", "top_k", "stop_sequences",
        "thinking", "output_config", "output_format", "mcp_servers", "metadata", "context_management",
    ],
)  # fmt: skip
def test_null_is_unset(name: str):
    plain = read() if name != "model" else Request("", read().chat, stream=False)
    assert read(**{name: None}) == plain


@pytest.mark.parametrize(
    "hints",
    [
        # dialects.md §1.2, the hints.
        {"metadata": {"user_id": "u"}, "cache_control": {"type": "ephemeral"}, "service_tier": "auto"},
        {"context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}},
        {"container": "c", "speed": "fast", "inference_geo": "eu", "diagnostics": {}},
        # §4: never reject unknown keys.
        {"seed": 5, "x_unknown": {"deep": [1, {"a": None}]}, "": 0, "max_completion_tokens": "x"},
        {"tools": [], "stop_sequences": [], "system": "", "mcp_servers": []},
    ],
)
def test_hints_and_unknown_fields_are_ignored(hints: dict[str, object]):
    assert read(**hints) == read()


class TestWhatOnlyThisDialectSays:
    """architecture.md, rule 1: a call that stays in its dialect goes as it came; elsewhere 400 names it."""

    @pytest.mark.parametrize(
        ("fields", "param"),
        [
            ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools[0]"),
            ({"messages": [{"role": "user", "content": [{"type": "container_upload"}]}]}, "messages[0].content[0]"),
        ],
    )
    def test_it_is_read_and_stops_whoever_would_say_it_otherwise(self, fields: dict[str, object], param: str):
        chat = read(**fields).chat
        with pytest.raises(DialectError) as error:
            chat.check_said()
        assert error.value.param == param
        assert f"`{param}`" in error.value.message

    def test_of_several_the_first_is_named(self):
        turn = {"role": "user", "content": [{"type": "container_upload"}, {"type": "another"}]}
        tools = [{"type": "bash_20250124", "name": "bash"}]
        unsaid = read(messages=[turn], tools=tools).chat.unsaid
        assert unsaid is not None
        assert unsaid.param == "messages[0].content[0]"

    def test_what_can_be_said_stops_nobody(self):
        chat = read(tools=[{"name": "f", "input_schema": {}}]).chat
        assert chat.unsaid is None
        chat.check_said()


class TestCounted:
    def test_a_body_to_be_counted_has_no_ceiling_and_needs_none(self):
        body = json.dumps({"messages": HI, "system": "s"}).encode()
        assert counted(body) == Chat((Message("system", (Text("s"),), joint="\n"), SAID), reminders=True)

    def test_it_is_the_chat_of_the_call_but_for_its_ceiling(self):
        fields: dict[str, object] = {"tools": [{"name": "f", "input_schema": {}}], "thinking": {"type": "adaptive"}}
        called = read(**fields).chat
        assert counted(written(**fields)) == called

    @pytest.mark.parametrize(("fields", "param"), [({"messages": []}, "messages"), ({"tools": [{}]}, "tools[0].name")])
    def test_what_is_wrong_is_refused_by_name(self, fields: dict[str, object], param: str):
        with pytest.raises(DialectError) as error:
            counted(written(**fields))
        assert error.value.param == param
