"""The lines of an answer. Sources: dialects.md §1.3 and §2; Ollama 0.33, `server/routes.go`; recorded answers."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.chat import (
    Event,
    Finish,
    ReasoningDelta,
    TextDelta,
    TokenChance,
    Tool,
    ToolCallDelta,
    Usage,
)
from appliance.dialects.ollama.errors import InvalidToolCall, OllamaError
from appliance.dialects.ollama.forced import Forced
from appliance.dialects.ollama.lines import Reader
from tests.dialects.ollama.recorded import answer, chats, recorded

DONE = {"done": True, "done_reason": "stop", "prompt_eval_count": 23, "eval_count": 29}
END = Finish("stop", Usage(23, 29))
CALLED = Finish("tool_calls", Usage(23, 29))


def reader(forced: Forced | None = None, **more: Any) -> Reader:
    ids = itertools.count()
    return Reader(forced, lambda: f"call_{next(ids)}", **more)


def line(**fields: object) -> bytes:
    return json.dumps({"model": "m", "created_at": "2026-11-29T19:30:11Z", **fields}).encode()


def said(text: str = "", **more: object) -> dict[str, object]:
    return {"message": {"role": "assistant", "content": text, **more}, "done": False}


def call(name: object = "f", arguments: object = None, **more: object) -> dict[str, object]:
    return {"function": {"name": name, "arguments": {} if arguments is None else arguments, "index": 0}, **more}


def read(*lines: dict[str, object], using: Reader | None = None) -> list[Event]:
    using = using or reader()
    return [event for one in lines for event in using.read(line(**one))]


class TestText:
    @pytest.mark.parametrize(
        ("fields", "events"),
        [
            ({"message": {"role": "assistant", "content": " é\n"}, "done": False}, [TextDelta(" é\n")]),
            ({"message": {"role": "assistant", "content": ""}, "done": False}, []),
            ({"message": {"role": "assistant", "content": ""}, **DONE}, [END]),
            ({**DONE, "done_reason": "length"}, [Finish("length", Usage(23, 29))]),
            # "The done line can itself carry content."
            ({"message": {"content": "Hi"}, **DONE}, [TextDelta("Hi"), END]),
            # "Counts are omitempty."
            ({"message": {"content": ""}, "done": True, "done_reason": "stop"}, [Finish("stop", Usage(0, 0))]),
            ({"message": None, **DONE}, [END]),
            ({"message": {"content": None, "thinking": None, "tool_calls": None}, **DONE}, [END]),
        ],
    )
    def test_events(self, fields: dict[str, object], events: list[Event]):
        assert list(reader().read(line(**fields))) == events
        assert list(reader().read(line(**fields) + b"\r\n")) == events

    @pytest.mark.parametrize("blank", [b"", b"\n", b" \r\n"])
    def test_a_blank_line_says_nothing(self, blank: bytes):
        assert reader().read(blank) == ()

    def test_the_choice_is_in_every_event(self):
        lines = (said("a"), said(thinking="b"), said(tool_calls=[call()]), DONE)
        assert [event.choice for event in read(*lines, using=reader(choice=2))] == [2, 2, 2, 2]

    def test_the_end_is_known(self):
        one = reader()
        read(said("a"), using=one)
        assert not one.finished
        read(DONE, using=one)
        assert one.finished


class TestThinking:
    def test_it_is_not_the_answer(self):
        assert read(said(thinking="Hm."), said("8"), DONE) == [ReasoningDelta("Hm."), TextDelta("8"), END]

    def test_it_comes_before_what_came_of_it(self):
        fields = {"message": {"content": "8", "thinking": "Hm.", "tool_calls": [call()]}, **DONE}
        assert read(fields) == [ReasoningDelta("Hm."), TextDelta("8"), ToolCallDelta(0, "call_0", "f", "{}"), CALLED]


class TestToolCalls:
    def test_index_and_id_are_ours(self):
        """Ollama's older parsers say 0 each time, and some ids are empty (dialects.md §1.1)."""
        theirs = [call("f", {"city": "Paris"}, id=""), call("g", id="call_x")]
        assert read(said(tool_calls=theirs), said(tool_calls=[call("h")]), DONE) == [
            ToolCallDelta(0, "call_0", "f", '{"city":"Paris"}'),
            ToolCallDelta(1, "call_1", "g", "{}"),
            ToolCallDelta(2, "call_2", "h", "{}"),
            CALLED,
        ]

    def test_a_done_line_can_carry_them(self):
        fields = {"message": {"content": "", "tool_calls": [call()]}, **DONE}
        assert read(fields) == [ToolCallDelta(0, "call_0", "f", "{}"), CALLED]

    def test_an_answer_that_was_cut_off_says_so(self):
        events = read(said(tool_calls=[call()]), {**DONE, "done_reason": "length"})
        assert events[-1] == Finish("length", Usage(23, 29))

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"z": 1, "a": [1.5, None, "é"]}, '{"z":1,"a":[1.5,null,"é"]}'),
            ({}, "{}"),
            ('{"a": 1}', '{"a": 1}'),
        ],
    )
    def test_arguments_are_compact_json_in_their_order(self, arguments: object, text: str):
        (event,) = read(said(tool_calls=[call("f", arguments)]))
        assert event == ToolCallDelta(0, "call_0", "f", text)

    def test_arguments_may_be_missing(self):
        (event,) = read(said(tool_calls=[{"function": {"name": "f"}}]))
        assert event == ToolCallDelta(0, "call_0", "f", "{}")

    def test_only_the_first_where_no_more_are_wanted(self):
        lines = (said(tool_calls=[call("f"), call("g")]), said(tool_calls=[call("h")]), DONE)
        assert read(*lines, using=reader(parallel=False)) == [ToolCallDelta(0, "call_0", "f", "{}"), CALLED]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"function": {"arguments": {}}},
            {"function": {"name": "", "arguments": {}}},
            {"function": {"name": 5, "arguments": {}}},
            {"function": {"name": "f", "arguments": []}},
            {"function": {"name": "f", "arguments": 5}},
            {"function": "f"},
            {},
            "f",
            None,
        ],
    )
    def test_what_is_no_call(self, wrong: object):
        with pytest.raises(OllamaError):
            read(said(tool_calls=[wrong]))

    def test_arguments_too_deep_to_be_written(self):
        deep = b'{"a":' * 300 + b"1" + b"}" * 300
        body = line(**said(tool_calls=[call("f", {"x": 0})])).replace(b'{"x": 0}', deep)
        with pytest.raises(InvalidToolCall):
            reader().read(body)


WEATHER = Forced((Tool("get_weather", None, {"properties": {"city": {"type": "string"}}, "required": ["city"]}),))
SEVERAL = Forced((*WEATHER.tools, Tool("wait")))


class TestForcedCalls:
    """dialects.md §1.3: the text of the answer is the call."""

    @pytest.mark.parametrize("pieces", [['{"city":"Paris"}'], ['{"ci', 'ty":\n', ' "Paris"', "}"]])
    def test_the_text_becomes_a_call(self, pieces: list[str]):
        lines = [said(piece) for piece in pieces]
        expected = [ToolCallDelta(0, "call_0", "get_weather", '{"city":"Paris"}'), CALLED]
        assert read(*lines, DONE, using=reader(WEATHER)) == expected
        last = {**DONE, "message": {"content": pieces[-1]}}
        assert read(*lines[:-1], last, using=reader(WEATHER)) == expected

    def test_of_one_of_several(self):
        text = said('{"name": "wait", "arguments": {}}')
        assert read(text, DONE, using=reader(SEVERAL, choice=1)) == [
            ToolCallDelta(0, "call_0", "wait", "{}", 1),
            Finish("tool_calls", Usage(23, 29), 1),
        ]

    def test_thinking_goes_on(self):
        lines = (said(thinking="Hm."), said('{"city":"Paris"}'), DONE)
        assert read(*lines, using=reader(WEATHER))[0] == ReasoningDelta("Hm.")

    def test_the_chances_of_its_tokens_are_dropped(self):
        """They would be those of a text, and the answer has none."""
        fields = {**said('{"city":"Paris"}'), "logprobs": [{"token": "{", "logprob": -1}]}
        assert [type(event) for event in read(fields, DONE, using=reader(WEATHER))] == [ToolCallDelta, Finish]

    def test_a_call_that_the_server_read_itself_counts(self):
        lines = (said(tool_calls=[call("get_weather", {"city": "Paris"})]), DONE)
        assert read(*lines, using=reader(WEATHER)) == [
            ToolCallDelta(0, "call_0", "get_weather", '{"city":"Paris"}'),
            CALLED,
        ]

    def test_an_answer_cut_off_in_its_call_is_what_there_is_of_it(self):
        lines = (said('{"city":'), said('"Par'), {**DONE, "done_reason": "length"})
        assert read(*lines, using=reader(WEATHER)) == [TextDelta('{"city":"Par'), Finish("length", Usage(23, 29))]

    def test_one_cut_off_right_after_it_has_it(self):
        lines = (said('{"city":"Paris"}'), {**DONE, "done_reason": "length"})
        assert [type(event) for event in read(*lines, using=reader(WEATHER))] == [ToolCallDelta, Finish]

    @pytest.mark.parametrize("text", ["", "The weather is fine.", '{"zip":1}', "[]"])
    def test_another_text_is_an_invalid_call(self, text: str):
        with pytest.raises(InvalidToolCall) as invalid:
            read(said(text), DONE, using=reader(WEATHER))
        assert invalid.value.usage == Usage(23, 29)


class TestChances:
    def test_they_go_with_the_text(self):
        chances = [{"token": "Hi", "logprob": -0.5, "top_logprobs": [{"token": "I", "logprob": -2}]}]
        assert read({**said("Hi"), "logprobs": chances}) == [
            TextDelta("Hi", (TokenChance("Hi", -0.5, (TokenChance("I", -2.0),)),))
        ]

    def test_of_tokens_that_were_held_back_they_go_with_the_text_that_comes(self):
        """Ollama sends them at once while a parser of its holds the text (`server/routes.go`)."""
        held = {**said(), "logprobs": [{"token": "<", "logprob": -1}]}
        assert read(held, {**said("<b"), "logprobs": [{"token": "b", "logprob": -2}]}, DONE) == [
            TextDelta("<b", (TokenChance("<", -1.0), TokenChance("b", -2.0))),
            END,
        ]

    @pytest.mark.parametrize("instead", [said(thinking="Hm."), said(tool_calls=[call()])])
    def test_of_tokens_that_became_no_text_they_are_dropped(self, instead: dict[str, object]):
        held = {**said(), "logprobs": [{"token": "<", "logprob": -1}]}
        events = read(held, {**instead, "logprobs": [{"token": ">", "logprob": -1}]}, said("Hi"))
        assert events[-1] == TextDelta("Hi")

    @pytest.mark.parametrize(
        "wrong",
        [
            "x",
            [5],
            [{}],
            [{"token": "a"}],
            [{"token": 5, "logprob": -1}],
            [{"token": "a", "logprob": "-1"}],
            [{"token": "a", "logprob": True}],
            [{"token": "a", "logprob": -1, "top_logprobs": {}}],
            [{"token": "a", "logprob": -1, "top_logprobs": [None]}],
        ],
    )
    def test_what_is_none(self, wrong: object):
        with pytest.raises(OllamaError):
            read({**said("Hi"), "logprobs": wrong})


NAMES = st.sampled_from([
    "message", "done", "error", "done_reason", "eval_count", "content", "thinking", "tool_calls", "function", "name",
    "arguments", "logprobs", "token", "logprob", "top_logprobs",
])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3) | st.sampled_from(["stop", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=10,
)


class TestFailures:
    @pytest.mark.parametrize("reason", ["load", "unload", "", None, "tool_calls", 5])
    def test_an_end_that_is_not_the_models_own(self, reason: object):
        """gateway.md: an answer without its terminal has failed; only `stop` and `length` are ends of a model."""
        with pytest.raises(OllamaError):
            read({"message": {"content": ""}, "done": True, "done_reason": reason})

    def test_an_end_without_a_reason(self):
        """Ollama's `DoneReasonConnectionClosed` is written as "", and that is left out."""
        with pytest.raises(OllamaError):
            read({"message": {"content": ""}, "done": True})

    def test_an_answer_that_goes_on_after_its_end(self):
        one = reader()
        read(DONE, using=one)
        assert one.read(b"\n") == ()
        for more in (said("x"), said(), DONE):
            with pytest.raises(OllamaError):
                read(more, using=one)

    @pytest.mark.parametrize(("error", "text"), [({"message": "busy"}, "busy"), ("", "It gave no reason.")])
    def test_an_error_line(self, error: object, text: str):
        with pytest.raises(OllamaError) as raised:
            read({"error": error})
        assert str(raised.value) == text

    def test_a_call_that_the_server_could_not_parse(self):
        with pytest.raises(InvalidToolCall):
            read({"error": "error parsing tool call: raw='{', err=unexpected end of JSON input"})

    @pytest.mark.parametrize(
        "wrong",
        [
            b"<html>",
            b"[]",
            b'"x"',
            b'{"message":{"content":"cut of',
            b"\xff",
            b"[" * 100_000,
            line(message="hi"),
            line(message=[]),
            line(message={"content": 5}),
            line(message={"thinking": 5}),
            line(message={"tool_calls": {}}),
            line(message={"content": "x"}, done="true"),
            line(**{**DONE, "eval_count": -1}),
            line(**{**DONE, "eval_count": "29"}),
            line(**{**DONE, "eval_count": 2**31}),
            line(**{**DONE, "prompt_eval_count": 2**70}),
            line(**{**DONE, "prompt_eval_count": True}),
            line(**{**DONE, "prompt_eval_count": 1.5}),
        ],
    )
    def test_a_malformed_line(self, wrong: bytes):
        with pytest.raises(OllamaError):
            reader().read(wrong)

    @given(st.lists(st.binary() | st.dictionaries(NAMES, JSON).map(lambda fields: json.dumps(fields).encode())))
    def test_any_lines_are_events_or_an_error_with_a_sentence(self, lines: list[bytes]):
        one = reader()
        try:
            outcome: object = [event for each in lines for event in one.read(each)]
        except OllamaError as error:
            outcome = str(error)
        assert isinstance(outcome, list) or outcome


@recorded
class TestRecordedAnswers:
    @pytest.mark.parametrize(
        "name", [name for name in chats(200) if name not in ("12-chat-load", "32-chat-stream-abort")]
    )
    def test_every_one_is_read_with_one_end(self, name: str):
        lines = answer(name)
        using = reader()
        events = [event for one in lines for event in using.read(one)]
        whole = [json.loads(one) for one in lines]
        messages = [one["message"] for one in whole]
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "".join(
            message["content"] for message in messages
        )
        assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "".join(
            message.get("thinking", "") for message in messages
        )
        theirs = [one["function"] for message in messages for one in message.get("tool_calls", [])]
        ours = [event for event in events if isinstance(event, ToolCallDelta)]
        assert [(event.name, json.loads(event.arguments)) for event in ours] == [
            (one["name"], one["arguments"]) for one in theirs
        ]
        last = whole[-1]
        usage = Usage(last["prompt_eval_count"], last["eval_count"])
        reason = "tool_calls" if theirs and last["done_reason"] == "stop" else last["done_reason"]
        assert [event for event in events if isinstance(event, Finish)] == [events[-1]] == [Finish(reason, usage)]
        assert using.finished

    @pytest.mark.parametrize(
        ("streamed", "whole"),
        [
            ("14-chat-stream", "15-chat-nostream"),
            ("207-chat-toolcall-stream", "201-chat-toolcall"),
            ("209-chat-think-stream", "203-chat-think"),
            ("305-chat-tools-noformat-stream", "302-chat-tools-noformat"),
        ],
    )
    def test_the_same_answer_whole_and_streamed(self, streamed: str, whole: str):
        def told(name: str) -> object:
            using = reader()
            events = [event for one in answer(name) for event in using.read(one)]
            texts = [(type(event), event.text) for event in events if isinstance(event, TextDelta | ReasoningDelta)]
            joined = {kind: "".join(text for each, text in texts if each is kind) for kind, _ in texts}
            return joined, [event for event in events if isinstance(event, ToolCallDelta | Finish)]

        assert told(streamed) == told(whole)

    def test_chances(self):
        (event, _) = [event for one in answer("29-chat-logprobs") for event in reader().read(one)]
        assert isinstance(event, TextDelta)
        assert [chance.token for chance in event.chances] == ["The", " phrase", ' "']
        assert event.chances[0].alternatives == (
            TokenChance("The", -2.1595187187194824),
            TokenChance("I", -2.2050509452819824),
        )

    def test_an_aborted_stream_has_no_end(self):
        lines = [one for one in answer("32-chat-stream-abort") if one.endswith(b"}")]
        using = reader()
        assert [event for one in lines for event in using.read(one)]
        assert not using.finished

    def test_loading_is_not_an_answer(self):
        with pytest.raises(OllamaError):
            reader().read(answer("12-chat-load")[-1])

    def test_an_error_in_a_stream_of_status_200(self):
        with pytest.raises(OllamaError, match=r"^pull model manifest: "):
            reader().read(answer("98-pull-offline")[-1])
