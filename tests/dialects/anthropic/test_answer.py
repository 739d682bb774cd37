"""The answer on the wire, whole and streamed.

Sources: dialects.md §1.2 ("SSE", "stop_reason") and §1.4, gateway.md ("Streaming"); the types of PyPI `anthropic`
2.14.0; the names of Ollama's own tests of the dialect (dialects.md §2).
"""

import json

import pytest

from appliance.dialects.anthropic import errors
from appliance.dialects.chat import (
    BlockEnd,
    Event,
    Finish,
    FinishReason,
    OwnBlock,
    OwnDelta,
    ReasoningDelta,
    TextDelta,
    TokenChance,
    ToolCallDelta,
    Usage,
)
from tests.dialects.answers import citation, signature
from tests.dialects.anthropic import stream_grammar
from tests.dialects.anthropic.writing import ESTIMATE, Json, message, sent, stream, whole

USAGE = Usage(prompt_tokens=812, completion_tokens=233)
STOP = Finish("stop", USAGE)
CALLED = Finish("tool_calls", USAGE)
WEATHER = ToolCallDelta(0, "call_a", "get_weather", '{"city":"Paris"}')
TIME = ToolCallDelta(1, "call_b", "get_time", "{}")
FAILED = errors.body("The machine died.", "api_error", "req_1")
SILENT = 200.0
CITED: Json = {
    "type": "char_location",
    "cited_text": "green",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 3,
    "end_char_index": 8,
}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "é"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "url": "https://x.test", "title": "X", "encrypted_content": "Eqgf"}],
}
REDACTED = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3"}


def own(block: Json) -> OwnBlock:
    return OwnBlock(json.dumps(block))


def text(said: str, **more: object) -> Json:
    return {"type": "text", "text": said, **more}


def thought(said: str, signed: str = "") -> Json:
    return {"type": "thinking", "thinking": said, "signature": signed}


def call(event: ToolCallDelta, **given: object) -> Json:
    return {"type": "tool_use", "id": event.id, "name": event.name, "input": given}


def test_a_message():
    assert whole(TextDelta("Bonjour "), TextDelta("é\n"), STOP) == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "smollm2",
        "content": [{"type": "text", "text": "Bonjour é\n"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 812, "output_tokens": 233},
    }


def test_a_stream():
    started = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "pulse-auto",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 1},
    }
    assert stream_grammar.events(sent(TextDelta("Hel"), TextDelta("lo"), WEATHER, CALLED)) == [
        {"type": "message_start", "message": started},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": call(WEATHER)},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": '{"city":"Paris"}'},
        },
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"input_tokens": 812, "output_tokens": 233},
        },
        {"type": "message_stop"},
    ]


@pytest.mark.parametrize(("estimate", "told"), [(0, 1), (1, 1), (812, 812)])
def test_the_estimate_of_the_prompt_is_never_zero(estimate: int, told: int):
    start, _ = stream_grammar.events(stream(estimate).start())
    assert start["message"]["usage"] == {"input_tokens": told, "output_tokens": 1}


class TestBlocks:
    @pytest.mark.parametrize(
        ("events", "blocks"),
        [
            pytest.param([], [], id="nothing"),
            pytest.param([TextDelta("a"), TextDelta("b")], [text("ab")], id="text"),
            pytest.param([ReasoningDelta("a"), ReasoningDelta("b")], [thought("ab")], id="thoughts"),
            pytest.param(
                [TextDelta("a"), ReasoningDelta("b"), TextDelta("c")],
                [text("a"), thought("b"), text("c")],
                id="text before thinking",
            ),
            pytest.param(
                [ReasoningDelta("a"), WEATHER], [thought("a"), call(WEATHER, city="Paris")],
                id="thinking directly followed by a call",
            ),
            pytest.param([WEATHER, TIME], [call(WEATHER, city="Paris"), call(TIME)], id="two calls"),
            pytest.param(
                [WEATHER, TextDelta("a"), TIME], [call(WEATHER, city="Paris"), text("a"), call(TIME)],
                id="text between calls",
            ),
            pytest.param([TextDelta("a"), BlockEnd(), TextDelta("b")], [text("a"), text("b")], id="two texts"),
            pytest.param(
                [ReasoningDelta("a"), BlockEnd(), ReasoningDelta("b")], [thought("a"), thought("b")], id="two thoughts"
            ),
            pytest.param([BlockEnd(), TextDelta("a"), BlockEnd(), BlockEnd()], [text("a")], id="ends of nothing"),
            pytest.param(
                [TextDelta("", (TokenChance("", -1.0),)), ReasoningDelta(""), WEATHER, TextDelta("")],
                [call(WEATHER, city="Paris")],
                id="pieces that say nothing",
            ),
            pytest.param(
                [TextDelta("a"), ReasoningDelta(""), TextDelta("b")], [text("ab")], id="nothing between two pieces"
            ),
        ],
    )  # fmt: skip
    def test_a_new_one_begins_with_what_is_of_another_kind(self, events: list[Event], blocks: list[Json]):
        assert message(*events, CALLED if WEATHER in events else STOP)["content"] == blocks

    @pytest.mark.parametrize("event", [TextDelta(""), ReasoningDelta(""), BlockEnd(), STOP])
    def test_none_is_opened_for_nothing(self, event: Event):
        assert stream().delta(event) == b""

    @pytest.mark.parametrize(
        ("arguments", "given"),
        [
            ("{}", {}),
            ("", {}),
            (" ", {}),
            ('{"z": 1e2, "a": [null, "é"]}', {"z": 100.0, "a": [None, "é"]}),
            ('{"a": "no', {"_raw": '{"a": "no'}),
            ("[1]", {"_raw": "[1]"}),
            ("null", {"_raw": "null"}),
            ("sunny", {"_raw": "sunny"}),
        ],
    )
    def test_what_a_tool_is_given_is_an_object(self, arguments: str, given: Json):
        event = ToolCallDelta(0, "call_a", "f", arguments)
        assert message(event, CALLED)["content"] == [call(event, **given)]


class TestOwnBlocks:
    """What only this dialect can say."""

    @pytest.mark.parametrize(
        ("events", "blocks"),
        [
            pytest.param([ReasoningDelta("a"), signature("s")], [thought("a", "s")], id="a signature"),
            pytest.param([signature("s"), ReasoningDelta("a")], [thought("a", "s")], id="a signature at the beginning"),
            # "thinking content is redacted but a signature is returned" (`display: omitted`).
            pytest.param([signature("s")], [thought("", "s")], id="the signature of a thought that is not shown"),
            pytest.param(
                [TextDelta("a"), BlockEnd(), signature("s"), BlockEnd(), WEATHER],
                [text("a"), thought("", "s"), call(WEATHER, city="Paris")],
                id="another block before that",
            ),
            pytest.param(
                [ReasoningDelta("a"), signature("s"), BlockEnd(), ReasoningDelta("b"), signature("t")],
                [thought("a", "s"), thought("b", "t")],
                id="two signed thoughts",
            ),
            pytest.param(
                [TextDelta("a"), citation(CITED), TextDelta("b"), citation({**CITED, "document_index": 1})],
                [text("ab", citations=[CITED, {**CITED, "document_index": 1}])],
                id="citations",
            ),
            # As web search does.
            pytest.param(
                [TextDelta("a"), BlockEnd(), citation(CITED), TextDelta("b")],
                [text("a"), text("b", citations=[CITED])],
                id="a citation before its text",
            ),
            pytest.param([own(REDACTED), TextDelta("a")], [REDACTED, text("a")], id="a redacted thought"),
            pytest.param(
                [TextDelta("a"), BlockEnd(), own(SEARCH), own(FOUND), TextDelta("b")],
                [text("a"), SEARCH, FOUND, text("b")],
                id="a search",
            ),
        ],
    )
    def test_they_are_the_same_whole_and_streamed(self, events: list[Event], blocks: list[Json]):
        assert message(*events, CALLED if WEATHER in events else STOP)["content"] == blocks

    def test_what_a_tool_of_the_provider_is_given_comes_as_a_piece(self):
        """Clients read it nowhere else."""
        begun, piece, _ = stream_grammar.events(stream().delta(own(SEARCH)))
        assert begun["content_block"] == SEARCH | {"input": {}}
        assert json.loads(piece["delta"].pop("partial_json")) == {"query": "é"}
        assert piece == {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta"}}

    def test_an_addition_that_is_not_known_opens_nothing(self):
        events: list[Event] = [TextDelta("a"), BlockEnd(), OwnDelta('{"type":"of_tomorrow"}'), STOP]
        assert message(*events)["content"] == [text("a")]


class TestKeepAlive:
    @pytest.mark.parametrize("silent", [10.0, 190.0, 199.9])
    def test_a_ping_while_the_silence_is_short(self, silent: float):
        out = stream()
        out.start()
        assert out.keep_alive(silent) == b'event: ping\ndata: {"type":"ping"}\n\n'
        assert stream_grammar.events(out.delta(TextDelta("a")))[0]["index"] == 0

    def test_then_content_that_says_nothing_in_a_block_that_stays_open(self):
        """A client cuts what has no content for 300 s (dialects.md §1.4)."""
        out = stream()
        out.start()
        begun, *pieces = stream_grammar.events(b"".join(map(out.keep_alive, [SILENT, 210.0, 10.0, 220.0])))
        assert begun == {"type": "content_block_start", "index": 0, "content_block": text("")}
        empty = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ""}}
        assert pieces == [empty, empty, {"type": "ping"}, empty]

    @pytest.mark.parametrize(("event", "kind"), [(TextDelta("a"), "text"), (ReasoningDelta("a"), "thinking")])
    def test_in_the_block_that_is_open(self, event: Event, kind: str):
        out = stream()
        out.delta(event)
        assert stream_grammar.events(out.keep_alive(SILENT)) == [
            {"type": "content_block_delta", "index": 0, "delta": {"type": f"{kind}_delta", kind: ""}}
        ]

    @pytest.mark.parametrize(
        ("event", "blocks"),
        [
            (TextDelta("a"), [text("a")]),
            (citation(CITED), [text("", citations=[CITED])]),
            (ReasoningDelta("a"), [text(""), thought("a")]),
            (signature("s"), [text(""), thought("", "s")]),
            (WEATHER, [text(""), call(WEATHER, city="Paris")]),
            (own(FOUND), [text(""), FOUND]),
            (BlockEnd(), [text("")]),
        ],
    )
    def test_what_comes_next_goes_on_in_it_or_closes_it(self, event: Event, blocks: list[Json]):
        out = stream()
        end = CALLED if event is WEATHER else STOP
        data = [out.start(), out.keep_alive(SILENT), out.delta(event), out.delta(end), out.finish()]
        assert stream_grammar.read(b"".join(data), kept_alive=True).message["content"] == blocks


class TestEnd:
    @pytest.mark.parametrize(
        ("reason", "stated", "called", "told"),
        [
            ("stop", "", False, "end_turn"),
            ("stop", "end_turn", False, "end_turn"),
            ("stop", "stop_sequence", False, "stop_sequence"),
            ("stop", "pause_turn", False, "pause_turn"),
            # Any call is an end to call (litellm#34692).
            ("stop", "", True, "tool_use"),
            ("stop", "pause_turn", True, "tool_use"),
            ("tool_calls", "", True, "tool_use"),
            ("tool_calls", "end_turn", True, "tool_use"),
            ("tool_calls", "tool_use", True, "tool_use"),
            ("tool_calls", "stop_sequence", True, "tool_use"),
            ("tool_calls", "pause_turn", True, "tool_use"),
            ("length", "", False, "max_tokens"),
            ("length", "", True, "max_tokens"),
            ("length", "max_tokens", False, "max_tokens"),
            ("length", "model_context_window_exceeded", False, "model_context_window_exceeded"),
            ("length", "model_context_window_exceeded", True, "model_context_window_exceeded"),
            ("content_filter", "", False, "refusal"),
            ("content_filter", "", True, "refusal"),
            ("content_filter", "refusal", False, "refusal"),
            # What is none of the dialect's words never goes out.
            ("stop", "of_tomorrow", False, "end_turn"),
            ("length", "of_tomorrow", False, "max_tokens"),
        ],
    )
    def test_reasons(self, reason: FinishReason, stated: str, called: bool, told: str):
        said = WEATHER if called else TextDelta("a")
        sequence = "END" if stated == "stop_sequence" else None
        body = message(said, Finish(reason, USAGE, stated=stated, stop_sequence=sequence))
        assert body["stop_reason"] == told
        assert body["stop_sequence"] == ("END" if told == "stop_sequence" else None)

    def test_a_block_of_the_provider_s_own_tool_is_no_call(self):
        assert message(own(SEARCH), STOP)["stop_reason"] == "end_turn"

    @pytest.mark.parametrize(
        ("usage", "told"),
        [
            (Usage(812, 233), {"input_tokens": 812, "output_tokens": 233}),
            (
                Usage(812, 233, 700, 100),
                {
                    "input_tokens": 12,
                    "output_tokens": 233,
                    "cache_creation_input_tokens": 100,
                    "cache_read_input_tokens": 700,
                },
            ),
            (
                Usage(5, 1, cache_read=9),
                {
                    "input_tokens": 0,
                    "output_tokens": 1,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 9,
                },
            ),
        ],
    )
    def test_tokens_of_the_prompt_are_those_without_the_cache(self, usage: Usage, told: Json):
        assert message(TextDelta("a"), Finish("stop", usage))["usage"] == told

    def test_a_model_that_does_not_tell_is_stood_in_for(self):
        # Clients count on there being some (dialects.md §4, 13).
        told = message(TextDelta("a"), Finish("stop", Usage(0, 1)))["usage"]
        assert told == {"input_tokens": ESTIMATE, "output_tokens": 1}

    @pytest.mark.parametrize("events", [[], [TextDelta("a")], [ReasoningDelta("a"), WEATHER]])
    def test_an_error_is_the_last_event(self, events: list[Event]):
        out = stream()
        data = b"".join([out.start(), *map(out.delta, events), out.error(FAILED)])
        assert data.endswith(b"event: error\ndata: " + FAILED + b"\n\n")
        assert stream_grammar.read(data).error == json.loads(FAILED)
