"""Reading a chat call. Sources: dialects.md §1.1, gateway.md ("Errors")."""

import json

import pytest

from appliance.dialects.chat import Chat, DialectError, Message, Sampling
from appliance.dialects.openai.request import Request, parse

HI = [{"role": "user", "content": "hi"}]


def read(**fields: object) -> Request:
    return parse(json.dumps({"model": "pulse-auto", "messages": HI, **fields}).encode())


def refused(**fields: object) -> DialectError:
    with pytest.raises(DialectError) as error:
        read(**fields)
    return error.value


def sampling(**fields: object) -> Sampling:
    return read(**fields).chat.sampling


def test_the_smallest_call():
    assert parse(b'{"messages":[{"role":"user","content":"hi"}]}') == Request(
        model="", chat=Chat((Message("user", "hi"),), Sampling()), stream=False, include_usage=False
    )


@pytest.mark.parametrize(("model", "expected"), [(None, ""), ("", ""), (" pulse-auto +cortex", " pulse-auto +cortex")])
def test_the_model_is_handed_on_as_it_was_sent(model: str | None, expected: str):
    assert read(model=model).model == expected


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff"])
def test_a_body_that_is_no_object(body: bytes):
    with pytest.raises(DialectError):
        parse(body)


class TestMessages:
    @pytest.mark.parametrize(
        ("role", "expected"),
        [("system", "system"), ("developer", "system"), ("user", "user"), ("assistant", "assistant")],
    )
    def test_roles(self, role: str, expected: str):
        assert read(messages=[{"role": role, "content": "x"}]).chat.messages == (Message(expected, "x"),)

    def test_order_and_text_are_kept(self):
        turns = [("system", " be terse\n"), ("user", "a\x00b"), ("assistant", ""), ("user", "é😀"), ("user", "again")]
        messages = [{"role": role, "content": text} for role, text in turns]
        assert read(messages=messages).chat.messages == tuple(Message(role, text) for role, text in turns)

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            ([{"type": "text", "text": "a"}], "a"),
            ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "text", "text": ""}], "ab"),
            (
                [
                    {"type": "text", "text": "a\n", "cache_control": {"type": "ephemeral"}},
                    {"type": "text", "text": "b"},
                ],
                "a\nb",
            ),
            ([], ""),
        ],
    )
    def test_parts_become_one_message_with_nothing_added(self, content: object, text: str):
        assert read(messages=[{"role": "user", "content": content}]).chat.messages == (Message("user", text),)

    @pytest.mark.parametrize(
        ("message", "text"),
        [
            ({"content": None}, ""),
            ({}, ""),
            ({"content": ""}, ""),
            ({"content": "hi", "refusal": None, "audio": None, "function_call": None, "tool_calls": None}, "hi"),
            ({"content": "hi", "tool_calls": [], "annotations": []}, "hi"),
            ({"content": None, "refusal": "I will not."}, "I will not."),
            ({"content": [{"type": "text", "text": "Hm. "}, {"type": "refusal", "refusal": "No."}]}, "Hm. No."),
        ],
    )
    def test_an_assistant_turn_as_clients_play_it_back(self, message: dict[str, object], text: str):
        messages = [*HI, {"role": "assistant", **message}, *HI]
        assert read(messages=messages).chat.messages[1] == Message("assistant", text)

    @pytest.mark.parametrize("messages", [None, [], {}, "hi", 0])
    def test_there_must_be_messages(self, messages: object):
        assert refused(messages=messages).param == "messages"

    def test_messages_missing(self):
        with pytest.raises(DialectError) as error:
            parse(b'{"model":"x","input":"hi"}')
        assert error.value.param == "messages"

    @pytest.mark.parametrize(
        ("message", "param"),
        [
            ("hi", "messages[1]"),
            (None, "messages[1]"),
            ([], "messages[1]"),
            ({"content": "x"}, "messages[1].role"),
            ({"role": 1, "content": "x"}, "messages[1].role"),
            ({"role": "martian", "content": "x"}, "messages[1].role"),
            ({"role": "User", "content": "x"}, "messages[1].role"),
            ({"role": "user"}, "messages[1].content"),
            ({"role": "user", "content": None}, "messages[1].content"),
            ({"role": "system", "content": None}, "messages[1].content"),
            ({"role": "user", "content": 1}, "messages[1].content"),
            ({"role": "user", "content": {"type": "text", "text": "x"}}, "messages[1].content"),
            ({"role": "user", "content": ["x"]}, "messages[1].content[0]"),
            ({"role": "user", "content": [{"text": "x"}]}, "messages[1].content[0].type"),
            ({"role": "user", "content": [{"type": "text"}]}, "messages[1].content[0].text"),
            ({"role": "user", "content": [{"type": "text", "text": 1}]}, "messages[1].content[0].text"),
            ({"role": "assistant", "content": "x", "refusal": 1}, "messages[1].refusal"),
        ],
    )
    def test_wrong_messages_are_named(self, message: object, param: str):
        error = refused(messages=[*HI, message])
        assert error.param == param
        assert param in error.message

    @pytest.mark.parametrize(
        ("message", "param"),
        [
            ({"role": "tool", "tool_call_id": "c1", "content": "21 C"}, "messages[1].role"),
            ({"role": "function", "name": "f", "content": "21 C"}, "messages[1].role"),
            (
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c1", "type": "function", "function": {}}],
                },
                "messages[1].tool_calls",
            ),
            ({"role": "assistant", "content": None, "function_call": {"name": "f"}}, "messages[1].function_call"),
            ({"role": "assistant", "content": "x", "audio": {"id": "a1"}}, "messages[1].audio"),
            *(
                (
                    {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": kind, kind: {}}]},
                    "messages[1].content[1]",
                )
                for kind in ("image_url", "input_audio", "file", "input_file", "video_url", "refusal")
            ),
        ],
    )
    def test_what_is_not_text_is_refused_by_name(self, message: object, param: str):
        assert refused(messages=[*HI, message]).param == param


class TestWhatHasAnEffect:
    """architecture.md, rule 1: nothing with an effect is dropped silently; 400 names it."""

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("tools", [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]),
            ("tool_choice", "required"),
            ("tool_choice", {"type": "function", "function": {"name": "add"}}),
            ("functions", [{"name": "f"}]),
            ("function_call", {"name": "f"}),
            ("response_format", {"type": "json_object"}),
            ("response_format", {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}),
            ("response_format", {}),
            ("n", 2),
            ("n", 0),
            ("logprobs", True),
            ("top_logprobs", 2),
            ("logit_bias", {"50256": -100}),
            ("reasoning_effort", "low"),
            ("audio", {"voice": "alloy", "format": "wav"}),
            ("modalities", ["text", "audio"]),
            ("web_search_options", {}),
        ],
    )
    def test_refused_by_name(self, name: str, value: object):
        error = refused(**{name: value})
        assert error.param == name
        assert f"`{name}`" in error.message

    def test_reasoning_as_an_object(self):
        assert refused(reasoning={"effort": "high"}).param == "reasoning.effort"
        assert read(reasoning={"effort": "none"}) == read(reasoning={}) == read()

    @pytest.mark.parametrize(
        ("name", "value"),
        [("n", True), ("n", "1"), ("n", 1.5), ("logprobs", 0), ("tools", "x"), ("tools", {}), ("logit_bias", [])],
    )
    def test_a_wrong_type_is_not_a_harmless_value(self, name: str, value: object):
        assert refused(**{name: value}).param == name

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("tools", []),
            ("tool_choice", "none"),
            ("tool_choice", "auto"),
            ("functions", []),
            ("function_call", "auto"),
            ("response_format", {"type": "text"}),
            ("n", 1),
            ("logprobs", False),
            ("top_logprobs", 0),
            ("logit_bias", {}),
            ("reasoning_effort", "none"),
            ("modalities", ["text"]),
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
            "max_tokens", "max_completion_tokens",
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
        {"parallel_tool_calls": False},
        # "Never reject unknown keys"
        {"top_k": 5, "x_unknown": {"deep": [1, {"a": None}]}, "": 0},
    ],
)
def test_hints_and_unknown_fields_are_ignored(hints: dict[str, object]):
    assert read(**hints) == read()


class TestSampling:
    @pytest.mark.parametrize(
        ("name", "low", "high"),
        [("temperature", 0, 2), ("top_p", 0, 1), ("frequency_penalty", -2, 2), ("presence_penalty", -2, 2)],
    )
    def test_numbers(self, name: str, low: int, high: int):
        for value in (low, high, (low + high) / 2):
            assert getattr(sampling(**{name: value}), name) == value
        for value in (low - 0.01, high + 0.01, 1e300, True, "1", [1], {}):
            error = refused(**{name: value})
            assert error.param == name
            assert error.message == f"`{name}` must be a number between {low} and {high}."

    @pytest.mark.parametrize("seed", [0, 7, -1, 2**63 - 1, -(2**63)])
    def test_seed(self, seed: int):
        assert sampling(seed=seed).seed == seed

    @pytest.mark.parametrize("seed", [2**63, -(2**63) - 1, 2**70, True, "7", 1.5])
    def test_a_seed_that_does_not_fit(self, seed: object):
        error = refused(seed=seed)
        assert error.param == "seed"
        assert "an integer" in error.message

    @pytest.mark.parametrize(
        ("stop", "expected"),
        [
            ("\n", ("\n",)),
            (["a", "b"], ("a", "b")),
            ([], ()),
            ("", ()),
            (["a", ""], ("a",)),
            (list("abcdef"), tuple("abcdef")),
        ],
    )
    def test_stop(self, stop: object, expected: tuple[str, ...]):
        assert sampling(stop=stop).stop == expected

    @pytest.mark.parametrize("stop", [1, True, {}, [1], ["a", None], [["a"]]])
    def test_a_wrong_stop(self, stop: object):
        assert refused(stop=stop).param == "stop"

    @pytest.mark.parametrize(
        ("fields", "expected"),
        [
            # dialects.md §1.1: either, the newer wins; ≤ 0 or null is unset.
            ({"max_tokens": 40}, 40),
            ({"max_completion_tokens": 40}, 40),
            ({"max_tokens": 10, "max_completion_tokens": 40}, 40),
            ({"max_tokens": 10, "max_completion_tokens": None}, 10),
            ({"max_tokens": 10, "max_completion_tokens": 0}, 10),
            ({"max_tokens": -1}, None),
            ({"max_tokens": 0}, None),
            ({}, None),
        ],
    )
    def test_output_ceiling(self, fields: dict[str, object], expected: int | None):
        assert sampling(**fields).max_tokens == expected

    @pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
    @pytest.mark.parametrize("value", [True, "40", 1.5, [], {}])
    def test_a_wrong_ceiling(self, name: str, value: object):
        error = refused(**{name: value})
        assert (error.param, error.message) == (name, f"`{name}` must be an integer.")


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
