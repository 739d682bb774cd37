"""Reading a chat call as a whole. Sources: dialects.md §1.1, gateway.md ("Errors")."""

import json

import pytest

from appliance.dialects.chat import Chat, DialectError, Format, Message, Sampling, Text, Tool, ToolChoice
from appliance.dialects.openai.request import Request, parse

HI = [{"role": "user", "content": "hi"}]


def read(**fields: object) -> Request:
    return parse(json.dumps({"model": "pulse-auto", "messages": HI, **fields}).encode())


def refused(**fields: object) -> DialectError:
    with pytest.raises(DialectError) as error:
        read(**fields)
    return error.value


def test_the_smallest_call():
    assert parse(b'{"messages":[{"role":"user","content":"hi"}]}') == Request(
        model="", chat=Chat((Message("user", (Text("hi"),)),)), stream=False, include_usage=False
    )


def test_a_call_with_everything():
    schema = {"type": "object"}
    request = read(
        temperature=0,
        top_logprobs=2,
        logprobs=True,
        tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}],
        tool_choice={"type": "function", "function": {"name": "f"}},
        parallel_tool_calls=False,
        response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}},
        reasoning_effort="low",
        n=3,
        stream=True,
        stream_options={"include_usage": True},
    )
    chat = Chat(
        (Message("user", (Text("hi"),)),),
        Sampling(temperature=0.0, top_logprobs=2),
        tools=(Tool("f", None, schema),),
        tool_choice=ToolChoice("named", "f"),
        parallel=False,
        format=Format(schema),
        effort="low",
        choices=3,
    )
    assert request == Request("pulse-auto", chat, stream=True, include_usage=True)


def test_functions_are_remembered():
    assert read(functions=[{"name": "f"}]).legacy_functions
    assert not read(tools=[{"type": "function", "function": {"name": "f"}}]).legacy_functions


@pytest.mark.parametrize(("model", "expected"), [(None, ""), ("", ""), (" pulse-auto +cortex", " pulse-auto +cortex")])
def test_the_model_is_handed_on_as_it_was_sent(model: str | None, expected: str):
    assert read(model=model).model == expected


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff"])
def test_a_body_that_is_no_object(body: bytes):
    with pytest.raises(DialectError):
        parse(body)


class TestWhatHasAnEffect:
    """architecture.md, rule 1: nothing with an effect is dropped silently; 400 names it."""

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("logit_bias", {"50256": -100}),
            ("logit_bias", []),
            ("audio", {"voice": "alloy", "format": "wav"}),
            ("modalities", ["text", "audio"]),
            ("modalities", "text"),
            ("web_search_options", {}),
        ],
    )
    def test_refused_by_name(self, name: str, value: object):
        error = refused(**{name: value})
        assert error.param == name
        assert f"`{name}`" in error.message

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("tools", []),
            ("tool_choice", "auto"),
            ("functions", []),
            ("function_call", "auto"),
            ("response_format", {"type": "text"}),
            ("n", 1),
            ("logprobs", False),
            ("top_logprobs", 0),
            ("logit_bias", {}),
            ("modalities", ["text"]),
            ("modalities", []),
            ("reasoning", {}),
        ],
    )
    def test_the_value_that_changes_nothing_is_accepted(self, name: str, value: object):
        assert read(**{name: value}) == read()

    @pytest.mark.parametrize(
        "name",
        [
            "tools", "tool_choice", "functions", "function_call", "response_format", "n", "logprobs", "top_logprobs",
            "logit_bias", "reasoning_effort", "reasoning", "audio", "modalities", "web_search_options", "stream",
            "stream_options", "temperature", "top_p", "frequency_penalty", "presence_penalty", "seed", "stop",
            "max_tokens", "max_completion_tokens", "parallel_tool_calls",
        ],
    )  # fmt: skip
    def test_null_is_unset(self, name: str):
        assert read(**{name: None}) == read()


@pytest.mark.parametrize(
    "hints",
    [
        # dialects.md §1.1, the row of hints.
        {"user": "u1", "metadata": {"a": "b"}, "store": True, "service_tier": "auto", "safety_identifier": "s"},
        {"prompt_cache_key": "k", "prompt_cache_retention": "24h", "verbosity": "low"},
        {"prediction": {"type": "content", "content": "x"}},
        # "Never reject unknown keys"
        {"top_k": 5, "x_unknown": {"deep": [1, {"a": None}]}, "": 0, "input": "beside messages"},
    ],
)
def test_hints_and_unknown_fields_are_ignored(hints: dict[str, object]):
    assert read(**hints) == read()


class TestStream:
    @pytest.mark.parametrize(
        ("fields", "stream", "usage"),
        [
            ({}, False, False),
            ({"stream": False}, False, False),
            ({"stream": True}, True, False),
            ({"stream": True, "stream_options": {}}, True, False),
            ({"stream": True, "stream_options": {"include_usage": False}}, True, False),
            ({"stream": True, "stream_options": {"include_usage": True, "include_obfuscation": False}}, True, True),
            ({"stream_options": {"include_usage": True}}, False, False),
        ],
    )
    def test_stream(self, fields: dict[str, object], stream: bool, usage: bool):
        assert (read(**fields).stream, read(**fields).include_usage) == (stream, usage)

    @pytest.mark.parametrize(
        ("fields", "param"),
        [
            ({"stream": "true"}, "stream"),
            ({"stream": 1}, "stream"),
            ({"stream_options": True}, "stream_options"),
            ({"stream": True, "stream_options": {"include_usage": "yes"}}, "stream_options.include_usage"),
            ({"model": 5}, "model"),
        ],
    )
    def test_wrong_types(self, fields: dict[str, object], param: str):
        assert refused(**fields).param == param
