"""The answer on the wire. Sources: dialects.md §1.1 ("Stream", "Non-stream"), gateway.md ("Headers", "Streaming")."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from appliance.dialects.answer_text import answer_text
from appliance.dialects.chat import Event, Finish, ReasoningDelta, TextDelta, TokenChance, ToolCallDelta, Usage
from appliance.dialects.openai import answer, errors
from tests.dialects.answers import answers, choices_of
from tests.dialects.openai import stream_grammar

USAGE = Usage(prompt_tokens=812, completion_tokens=233)
PULSE = {"provider": "ollama", "task": "simple", "pii_masked": 0}
CALLS: list[Event] = [
    ToolCallDelta(0, "call_a", "get_weather", '{"city":"Paris"}'),
    ToolCallDelta(1, "call_b", "get_time", "{}"),
    Finish("tool_calls", USAGE),
]
CHANCES = (TokenChance(" é", -0.5, (TokenChance(" é", -0.5), TokenChance("\ufffd", -3.25))),)


def whole(events: list[Event], *, legacy: bool = False) -> dict[str, Any]:
    body = answer.whole(
        id="chatcmpl-1", created=1_790_000_000, model="smollm2", events=events, pulse=PULSE, legacy_functions=legacy
    )
    ChatCompletion.model_validate_json(body)
    return json.loads(body)


def stream(*, include_usage: bool = False, choices: int = 1, legacy: bool = False) -> answer.Stream:
    return answer.Stream(
        "chatcmpl-1",
        1_790_000_000,
        "pulse-auto",
        include_usage=include_usage,
        choices=choices,
        legacy_functions=legacy,
    )


def sent(out: answer.Stream, events: list[Event]) -> bytes:
    return b"".join([out.start(), *map(out.delta, events), out.finish()])


def chunks(data: bytes) -> list[dict[str, Any]]:
    *parts, last = stream_grammar.events(data)
    assert last == "[DONE]"
    return [json.loads(one) for one in parts]


def chunk(choices: list[dict[str, object]], **more: object) -> dict[str, object]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1790000000, "model": "pulse-auto"}
    return {**head, "choices": choices, **more}


def delta(value: dict[str, object], end: str | None = None, index: int = 0, **more: object) -> dict[str, object]:
    return chunk([{"index": index, "delta": value, "finish_reason": end, **more}])


ROLE = delta({"role": "assistant", "content": ""})


class TestWhole:
    def test_text(self):
        assert whole([TextDelta("Bonjour "), TextDelta("é\n"), Finish("stop", USAGE)]) == {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1790000000,
            "model": "smollm2",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "Bonjour é\n", "refusal": None},
                    "logprobs": None,
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 812, "completion_tokens": 233, "total_tokens": 1045},
            "pulse": PULSE,
        }

    def test_calls_without_a_word_have_null_as_content(self):
        (choice,) = whole(CALLS)["choices"]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"] == {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "tool_calls": [
                {
                    "id": "call_a",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'},
                },
                {"id": "call_b", "type": "function", "function": {"name": "get_time", "arguments": "{}"}},
            ],
        }

    def test_an_answer_without_a_word_is_an_empty_text(self):
        assert whole([Finish("length", USAGE)])["choices"][0]["message"]["content"] == ""

    def test_reasoning_is_apart_and_under_both_names(self):
        events = [ReasoningDelta("Hm, "), ReasoningDelta("8."), TextDelta("8"), Finish("stop", USAGE)]
        message = whole(events)["choices"][0]["message"]
        assert (message["content"], message["reasoning"], message["reasoning_content"]) == ("8", "Hm, 8.", "Hm, 8.")

    def test_chances_of_tokens(self):
        events = [TextDelta(" é", CHANCES), Finish("stop", USAGE)]
        assert whole(events)["choices"][0]["logprobs"] == {
            "content": [
                {
                    "token": " é",
                    "logprob": -0.5,
                    "bytes": [32, 195, 169],
                    "top_logprobs": [
                        {"token": " é", "logprob": -0.5, "bytes": [32, 195, 169]},
                        # "Can be null if there is no bytes representation for the token."
                        {"token": "\ufffd", "logprob": -3.25, "bytes": None},
                    ],
                }
            ],
            "refusal": None,
        }

    def test_several_choices_are_in_order_and_their_prompt_counts_once(self):
        events: list[Event] = [
            TextDelta("b", choice=1),
            TextDelta("a", choice=0),
            Finish("length", Usage(812, 5), 1),
            Finish("stop", Usage(812, 233), 0),
        ]
        body = whole(events)
        assert [(one["index"], one["message"]["content"], one["finish_reason"]) for one in body["choices"]] == [
            (0, "a", "stop"),
            (1, "b", "length"),
        ]
        assert body["usage"] == {"prompt_tokens": 812, "completion_tokens": 238, "total_tokens": 1050}

    def test_an_answer_with_calls_that_stopped_has_called(self):
        events = [*CALLS[:1], Finish("stop", USAGE)]
        assert whole(events)["choices"][0]["finish_reason"] == "tool_calls"

    def test_a_call_that_was_cut_off_says_so(self):
        events = [*CALLS[:1], Finish("length", USAGE)]
        assert whole(events)["choices"][0]["finish_reason"] == "length"

    def test_a_caller_that_sent_functions_reads_a_function_call(self):
        (choice,) = whole([*CALLS[:1], CALLS[-1]], legacy=True)["choices"]
        assert choice["finish_reason"] == "function_call"
        assert choice["message"] == {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "function_call": {"name": "get_weather", "arguments": '{"city":"Paris"}'},
        }


class TestStream:
    def test_without_usage(self):
        events = [TextDelta("Hel"), TextDelta("lo\n\n"), Finish("stop", USAGE)]
        assert chunks(sent(stream(), events)) == [
            ROLE,
            delta({"content": "Hel"}),
            delta({"content": "lo\n\n"}),
            delta({}, "stop"),
        ]

    def test_with_usage(self):
        out = stream(include_usage=True)
        assert chunks(sent(out, [TextDelta("Hi"), Finish("length", USAGE)])) == [
            {**ROLE, "usage": None},
            {**delta({"content": "Hi"}), "usage": None},
            {**delta({}, "length"), "usage": None},
            chunk([], usage={"prompt_tokens": 812, "completion_tokens": 233, "total_tokens": 1045}),
        ]

    def test_reasoning_has_chunks_of_its_own(self):
        events = [ReasoningDelta("Hm."), TextDelta("8"), Finish("stop", USAGE)]
        assert chunks(sent(stream(), events))[1:-1] == [
            delta({"reasoning_content": "Hm.", "reasoning": "Hm."}),
            delta({"content": "8"}),
        ]

    def test_calls(self):
        assert chunks(sent(stream(), CALLS)) == [
            ROLE,
            delta(
                {
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "call_a",
                            "type": "function",
                            "function": {"name": "get_weather", "arguments": ""},
                        }
                    ]
                }
            ),
            delta({"tool_calls": [{"index": 0, "function": {"arguments": '{"city":"Paris"}'}}]}),
            delta(
                {
                    "tool_calls": [
                        {
                            "index": 1,
                            "id": "call_b",
                            "type": "function",
                            "function": {"name": "get_time", "arguments": ""},
                        }
                    ]
                }
            ),
            delta({"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]}),
            delta({}, "tool_calls"),
        ]

    def test_a_caller_that_sent_functions_reads_a_function_call(self):
        out = stream(legacy=True)
        assert chunks(sent(out, [*CALLS[:1], CALLS[-1]]))[1:] == [
            delta({"function_call": {"name": "get_weather", "arguments": ""}}),
            delta({"function_call": {"arguments": '{"city":"Paris"}'}}),
            delta({}, "function_call"),
        ]

    def test_several_choices_have_a_role_and_an_end_each(self):
        events = [TextDelta("b", choice=1), Finish("length", Usage(812, 5), 1), Finish("stop", USAGE, 0)]
        assert chunks(sent(stream(choices=2), events)) == [
            ROLE,
            delta({"role": "assistant", "content": ""}, index=1),
            delta({"content": "b"}, index=1),
            delta({}, "stop"),
            delta({}, "length", index=1),
        ]

    def test_no_end_is_told_before_all_have_come(self):
        """A stream that fails later must not have told a success (gateway.md, "Streaming")."""
        assert stream(choices=2).delta(Finish("stop", USAGE, 0)) == b""

    def test_an_error_ends_it_without_a_terminal(self):
        out = stream()
        body = errors.body("The machine died.", "api_error", "upstream_error", None)
        read = stream_grammar.read(out.start() + out.delta(TextDelta("Hel")) + out.error(body))
        assert read.error == json.loads(body)["error"]
        assert b"[DONE]" not in out.error(body)

    def test_keep_alive_is_a_comment(self):
        assert stream().keep_alive(10.0).startswith(b":")
        assert stream_grammar.events(stream().keep_alive(10.0)) == []


@given(answers(), st.booleans())
def test_whole_and_streamed_are_the_same_answer(events: list[Event], include_usage: bool):
    body = whole(events)
    count = choices_of(events)
    data = sent(stream(include_usage=include_usage, choices=count), events)
    read = stream_grammar.read(data, include_usage=include_usage, choices=count)
    for one in body["choices"]:
        message, choice = one["message"], read.choices[one["index"]]
        assert (message["content"] or "") == choice.text
        assert message.get("reasoning", "") == choice.reasoning
        assert [(call["id"], call["function"]) for call in message.get("tool_calls", [])] == [
            (call.id, {"name": call.name, "arguments": call.arguments}) for call in choice.calls
        ]
        assert ((one["logprobs"] or {}).get("content") or []) == choice.logprobs
        assert one["finish_reason"] == choice.finish_reason
    assert read.usage == (body["usage"] if include_usage else None)
    assert answer_text(events) == "".join(one["message"]["content"] or "" for one in body["choices"])


@given(answers())
def test_the_official_client_reads_every_chunk(events: list[Event]):
    for one in stream_grammar.events(sent(stream(include_usage=True, choices=choices_of(events)), events))[:-1]:
        ChatCompletionChunk.model_validate_json(one, strict=True)


@given(answers(), st.data())
def test_a_stream_that_breaks_off_anywhere_tells_no_end(events: list[Event], data: st.DataObject):
    out = stream(choices=choices_of(events))
    some = events[: data.draw(st.integers(0, len(events)))]
    body = errors.body("The machine died.", "api_error", "upstream_error", None)
    assert stream_grammar.read(b"".join([out.start(), *map(out.delta, some), out.error(body)])).error


class TestTheGrammarItself:
    """It can fail."""

    GOOD = (
        [TextDelta("Hi"), Finish("stop", USAGE)],
        CALLS,
        [ReasoningDelta("Hm."), TextDelta("Hi", CHANCES), Finish("length", USAGE)],
    )

    @pytest.mark.parametrize("events", GOOD)
    def test_every_part_is_needed(self, events: list[Event]):
        blocks = sent(stream(include_usage=True), events).split(b"\n\n")[:-1]
        stream_grammar.read(b"\n\n".join(blocks) + b"\n\n", include_usage=True)
        # Only a piece of text or reasoning can be left out without leaving a stream that is broken.
        needed = [i for i, one in enumerate(blocks) if b'"content":"Hi"' not in one and b'"reasoning"' not in one]
        for i in needed:
            if b'"arguments":"{' in blocks[i]:
                continue
            with pytest.raises((AssertionError, KeyError, ValueError)):
                stream_grammar.read(b"\n\n".join(blocks[:i] + blocks[i + 1 :]) + b"\n\n", include_usage=True)

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (b'"finish_reason":"tool_calls"', b'"finish_reason":"stop"'),
            (b'"finish_reason":"tool_calls"', b'"finish_reason":"end_turn"'),
            (b'"index":1,"id"', b'"index":0,"id"'),
            (b'"index":1,"id"', b'"index":2,"id"'),
            (b'"id":"call_b"', b'"id":"call_a"'),
            (b'"id":"call_b"', b'"id":""'),
            (b'"name":"get_time","arguments":""', b'"name":"get_time","arguments":"{}"'),
            (b'"total_tokens":1045', b'"total_tokens":1046'),
            (b'{"role":"assistant","content":""}', b'{"role":"assistant"}'),
            (b'"delta":{},', b'"delta":{"content":""},'),
            (b"data: [DONE]\n\n", b""),
        ],
    )
    def test_what_is_wrong_is_noticed(self, before: bytes, after: bytes):
        data = sent(stream(include_usage=True), CALLS)
        assert before in data
        with pytest.raises((AssertionError, KeyError, ValueError)):
            stream_grammar.read(data.replace(before, after, 1), include_usage=True)
