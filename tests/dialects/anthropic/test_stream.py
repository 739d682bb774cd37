"""The events of an answer. Sources: Anthropic's documentation ("Streaming messages"); PyPI `anthropic` 2.14.0;
dialects.md §1.2 ("stop_reason", "SSE") and §4."""

import contextlib
import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.anthropic.stream import Reader
from appliance.dialects.chat import Event, Finish, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from appliance.dialects.upstream import ProviderError
from tests.upstreams.anthropic_events import block, end, error, event, parsed, ping, start, text, thinking, tool_use


def reader(**options: Any) -> Reader:
    ids = itertools.count()
    return Reader(lambda: f"call_{next(ids)}", **options)


def read(*pieces: bytes, **options: Any) -> list[Event]:
    """The events of a whole answer."""
    reading = reader(**options)
    events = [one for name, data in parsed(b"".join(pieces)) for one in reading.read(name, data)]
    assert reading.finished
    return events


def fails(*pieces: bytes) -> ProviderError:
    """The error of an answer that breaks off at its last piece and is not finished."""
    reading = reader()
    *before, last = [one for piece in pieces for one in parsed(piece)]
    for name, data in before:
        reading.read(name, data)
    with pytest.raises(ProviderError) as failed:
        reading.read(*last)
    assert not reading.finished
    return failed.value


def test_an_answer():
    assert read(start(tokens=12), ping(), text("Hel", "lo"), end(tokens=4)) == [
        TextDelta("Hel"),
        TextDelta("lo"),
        Finish("stop", Usage(12, 4)),
    ]


def test_the_documented_example_of_a_tool_call():
    """Anthropic's documentation, "Streaming request with tool use", shortened."""
    pieces = ("", '{"location":', ' "San', " Francisc", 'o, CA"', ', "unit": "fah', 'renheit"}')
    call = block(
        1,
        {"type": "tool_use", "id": "toolu_01T1x1fJ34qAmk2tNTrN7Up6", "name": "get_weather", "input": {}},
        ({"type": "input_json_delta", "partial_json": piece} for piece in pieces),
    )
    assert read(start(tokens=472), text("Okay", "!"), ping(), b"".join(call), end("tool_use", tokens=89)) == [
        TextDelta("Okay"),
        TextDelta("!"),
        ToolCallDelta(0, "call_0", "get_weather", '{"location": "San Francisco, CA", "unit": "fahrenheit"}'),
        Finish("tool_calls", Usage(472, 89)),
    ]


class TestBlocks:
    def test_thinking_is_reasoning_and_its_signature_is_not_told(self):
        assert read(start(), thinking("Hm", "."), text("Yes.", index=1), end()) == [
            ReasoningDelta("Hm"),
            ReasoningDelta("."),
            TextDelta("Yes."),
            Finish("stop", Usage(7, 3)),
        ]

    def test_several_calls_have_indices_and_ids_of_our_own(self):
        events = read(start(), tool_use("f", '{"a":', " 1}"), tool_use("g", index=1), end("tool_use"))
        assert events[:2] == [ToolCallDelta(0, "call_0", "f", '{"a": 1}'), ToolCallDelta(1, "call_1", "g", "{}")]

    def test_an_input_that_came_at_once(self):
        opened = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": [1, "é"]}}
        (call, _) = read(start(), b"".join(block(0, opened, ())), end("tool_use"))
        assert call == ToolCallDelta(0, "call_0", "f", '{"a":[1,"é"]}')

    def test_a_first_piece_may_come_with_the_block(self):
        events = read(
            start(),
            b"".join(block(0, {"type": "thinking", "thinking": "a", "signature": ""}, ())),
            b"".join(block(1, {"type": "text", "text": "b"}, ())),
            end(),
        )
        assert events[:-1] == [ReasoningDelta("a"), TextDelta("b")]

    @pytest.mark.parametrize(
        "opened",
        [
            {"type": "redacted_thinking", "data": "sig_x"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "of_tomorrow"},
        ],
    )
    def test_kinds_that_are_not_known_are_read_over(self, opened: dict[str, Any]):
        strange = b"".join(block(0, opened, [{"type": "input_json_delta", "partial_json": "{"}, {"type": "new_delta"}]))
        assert read(start(), strange, text("a", index=1), end())[0] == TextDelta("a")

    def test_deltas_that_are_not_known_are_read_over(self):
        deltas = [{"type": "citations_delta", "citation": {}}, {"type": "text_delta", "text": "a"}, {"type": "new"}]
        assert read(start(), b"".join(block(0, {"type": "text", "text": ""}, deltas)), end())[0] == TextDelta("a")


class TestEnds:
    @pytest.mark.parametrize(
        ("reason", "expected"),
        [
            ("end_turn", "stop"),
            ("stop_sequence", "stop"),
            ("pause_turn", "stop"),
            ("max_tokens", "length"),
            ("model_context_window_exceeded", "length"),
            ("refusal", "content_filter"),
        ],
    )
    def test_reasons(self, reason: str, expected: str):
        assert read(start(), text("a"), end(reason))[-1] == Finish(expected, Usage(7, 3))  # type: ignore[arg-type]

    @pytest.mark.parametrize("reason", ["tool_use", "end_turn", "stop_sequence"])
    def test_any_call_is_an_end_to_call(self, reason: str):
        """litellm#34692."""
        assert read(start(), tool_use("f"), end(reason))[-1] == Finish("tool_calls", Usage(7, 3))

    def test_a_whole_call_before_the_ceiling_is_told(self):
        (call, finish) = read(start(), tool_use("f", '{"a": 1}'), end("max_tokens"))
        assert (call, finish) == (ToolCallDelta(0, "call_0", "f", '{"a": 1}'), Finish("length", Usage(7, 3)))

    @pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
    def test_a_call_that_was_cut_is_none(self, reason: str):
        assert [type(one) for one in read(start(), tool_use("f", '{"a": "no'), end(reason))] == [Finish]

    @pytest.mark.parametrize("pieces", [('{"a": "no',), ("[1]",), ("text",)])
    def test_one_that_is_broken_and_not_cut_is_the_models_fault(self, pieces: tuple[str, ...]):
        failed = fails(start(), tool_use("f", *pieces), end("tool_use"))
        assert (failed.kind, failed.message) == ("failed", "The model produced an invalid tool call.")

    def test_what_comes_after_the_end_is_not_read(self):
        assert read(start(), text("a"), end(), b"event: x\ndata: not JSON\n\n", text("b"))[-1] == Finish(
            "stop", Usage(7, 3)
        )


class TestUsage:
    def test_what_came_from_the_cache_was_read_too(self):
        assert read(start(tokens=5, written=20, read=300), text("a"), end())[-1] == Finish(
            "stop", Usage(325, 3, 300, 20)
        )

    def test_later_counts_replace_earlier_ones(self):
        counts = {"input_tokens": 9, "cache_read_input_tokens": 1}
        assert read(start(tokens=5, read=300), text("a"), end(**counts))[-1] == Finish("stop", Usage(10, 3, 1))

    def test_counts_that_are_left_out_or_null_stay(self):
        changed = event(
            "message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 8, "input_tokens": None}
        )
        last = event("message_delta", delta={"stop_reason": None})
        assert read(start(), changed, last, event("message_stop")) == [Finish("stop", Usage(7, 8))]

    @pytest.mark.parametrize("count", [-1, 1.5, "7", True, 2**31, []])
    def test_what_is_no_count_fails(self, count: object):
        assert fails(start(), event("message_delta", delta={}, usage={"output_tokens": count})).kind == "failed"


class TestErrors:
    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            ("overloaded_error", "busy"),
            ("rate_limit_error", "busy"),
            ("api_error", "failed"),
            ("timeout_error", "failed"),
            ("authentication_error", "key"),
            ("invalid_request_error", "request"),
            ("of_tomorrow", "failed"),
        ],
    )
    def test_in_mid_stream(self, kind: str, expected: str):
        assert fails(start(), text("a"), error(kind, "Overloaded")).kind == expected

    def test_at_once(self):
        assert fails(error("overloaded_error", "Overloaded")).kind == "busy"


class TestDisorder:
    @pytest.mark.parametrize(
        "pieces",
        [
            (event("content_block_start", index=0, content_block={"type": "text"}),),
            (event("message_delta", delta={"stop_reason": "end_turn"}),),
            (start(), start()),
            (start(), event("content_block_delta", index=0, delta={"type": "text_delta", "text": "a"})),
            (start(), event("content_block_stop", index=0)),
            (start(), *[event("content_block_start", index=i, content_block={"type": "text"}) for i in (0, 1)]),
            (
                start(),
                event("content_block_start", index=0, content_block={"type": "text"}),
                event("content_block_delta", index=1, delta={"type": "text_delta", "text": "a"}),
            ),
            (
                start(),
                event("content_block_start", index=0, content_block={"type": "text"}),
                event("message_delta", delta={"stop_reason": "end_turn"}),
            ),
            (start(), event("message_stop")),
            (start(), event("message_delta", delta={"stop_reason": None}), event("message_stop")),
            (
                start(),
                event("message_delta", delta={"stop_reason": "end_turn"}),
                event("content_block_start", index=0, content_block={"type": "text"}),
            ),
        ],
    )
    def test_fails(self, pieces: tuple[bytes, ...]):
        failed = fails(*pieces)
        assert failed.kind == "failed"
        assert failed.message.startswith("Anthropic sent ")

    def test_an_end_for_an_unknown_reason_is_no_success(self):
        assert fails(start(), text("a"), event("message_delta", delta={"stop_reason": "of_tomorrow"})).kind == "failed"

    @pytest.mark.parametrize(
        "data",
        ["{", "[]", "null", "not JSON", '{"type":"message_start"}', '{"type":"message_start","message":[]}',
         '{"type":"error"}'],
    )  # fmt: skip
    def test_what_is_not_the_dialect_fails(self, data: str):
        with pytest.raises(ProviderError) as failed:
            reader().read("message_start", data)
        assert failed.value.kind == "failed"

    @pytest.mark.parametrize(
        "fields",
        [
            {"type": "content_block_start", "content_block": {"type": "text"}},
            {"type": "content_block_start", "index": "0", "content_block": {"type": "text"}},
            {"type": "content_block_start", "index": True, "content_block": {"type": "text"}},
            {"type": "content_block_start", "index": 0},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": 5}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t"}},
            {"type": "message_delta"},
            {"type": "message_delta", "delta": {"stop_reason": 5}},
            {"type": "message_delta", "delta": {}, "usage": []},
        ],
    )
    def test_parts_of_the_wrong_type_fail(self, fields: dict[str, Any]):
        assert fails(start(), f"data: {json.dumps(fields)}\n\n".encode()).kind == "failed"

    @pytest.mark.parametrize(
        ("opened", "delta"),
        [
            ({"type": "text"}, {"type": "thinking_delta", "thinking": "a"}),
            ({"type": "thinking"}, {"type": "text_delta", "text": "a"}),
            ({"type": "tool_use", "name": "f"}, {"type": "text_delta", "text": "a"}),
            ({"type": "text"}, {"type": "text_delta", "text": None, "partial_json": 5, "thinking": []} | {"text": 5}),
        ],
    )
    def test_a_delta_of_another_block_fails(self, opened: dict[str, Any], delta: dict[str, Any]):
        opening = event("content_block_start", index=0, content_block=opened)
        assert fails(start(), opening, event("content_block_delta", index=0, delta=delta)).kind == "failed"


class TestWhatIsNotKnown:
    @pytest.mark.parametrize(
        ("name", "data"), [("ping", '{"type": "ping"}'), ("new", '{"type":"new"}'), ("new", "{}"), ("", "  ")]
    )
    def test_events_are_read_over_anywhere(self, name: str, data: str):
        reading = reader()
        assert reading.read(name, data) == ()
        for kind, line in parsed(start() + text("a")):
            reading.read(kind, line)
            assert reading.read(name, data) == ()

    def test_the_name_serves_where_the_data_has_no_type(self):
        reading = reader()
        assert reading.read("message_start", '{"message":{}}') == ()
        assert reading.read("content_block_start", '{"index":0,"content_block":{"type":"text","text":"a"}}') == (
            TextDelta("a"),
        )


class TestAnswerTool:
    """JSON that came as the input of a tool: it is the answer's text, piece by piece."""

    def test_is_text(self):
        assert read(start(), tool_use("j", '{"a":', " 1}"), end("tool_use"), answer_tool="j") == [
            TextDelta('{"a":'),
            TextDelta(" 1}"),
            Finish("stop", Usage(7, 3)),
        ]

    def test_an_empty_one_is_an_empty_object(self):
        assert read(start(), tool_use("j"), end("tool_use"), answer_tool="j")[0] == TextDelta("{}")

    def test_one_that_was_cut_is_text_that_was_cut(self):
        assert read(start(), tool_use("j", '{"a'), end("max_tokens"), answer_tool="j") == [
            TextDelta('{"a'),
            Finish("length", Usage(7, 3)),
        ]

    def test_other_tools_are_calls(self):
        events = read(start(), tool_use("f", "{}"), end("tool_use"), answer_tool="j")
        assert events == [ToolCallDelta(0, "call_0", "f", "{}"), Finish("tool_calls", Usage(7, 3))]


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
ARGUMENTS = st.dictionaries(TEXT, st.none() | st.integers() | TEXT | st.lists(TEXT, max_size=2), max_size=3)
BLOCKS = st.lists(
    st.tuples(st.just("text"), TEXT)
    | st.tuples(st.just("thinking"), TEXT)
    | st.tuples(st.just("call"), ARGUMENTS.map(lambda value: json.dumps(value, ensure_ascii=False)))
    | st.tuples(st.just("new"), TEXT),
    max_size=5,
)


@st.composite
def split(draw: st.DrawFn, whole: str) -> list[str]:
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    return [whole[a:b] for a, b in itertools.pairwise([0, *cuts, len(whole)])]


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[tuple[str, str]], bytes]:
    """The blocks of an answer and one way in which they can come, with pings and new events between."""
    blocks = draw(BLOCKS)
    events = [start()]
    for index, (kind, whole) in enumerate(blocks):
        pieces = draw(split(whole))
        match kind:
            case "text":
                events += parsed_pieces(text(*pieces, index=index))
            case "thinking":
                events += parsed_pieces(thinking(*pieces, index=index))
            case "call":
                events += parsed_pieces(tool_use("f", *pieces, index=index))
            case _:
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
                events += block(index, {"type": "new"}, deltas)
    events.append(end("tool_use" if any(kind == "call" for kind, _ in blocks) else "end_turn"))
    mixed = [piece for one in events for piece in (one, draw(st.sampled_from([b"", b"", ping(), event("new", x=1)])))]
    return blocks, b"".join(mixed)


def parsed_pieces(data: bytes) -> list[bytes]:
    return [one + b"\n\n" for one in data.split(b"\n\n") if one]


@given(streams())
def test_any_way_to_cut_an_answer_gives_the_same(drawn: tuple[list[tuple[str, str]], bytes]):
    blocks, data = drawn
    events = read(data)
    assert "".join(one.text for one in events if isinstance(one, TextDelta)) == "".join(
        whole for kind, whole in blocks if kind == "text"
    )
    assert "".join(one.text for one in events if isinstance(one, ReasoningDelta)) == "".join(
        whole for kind, whole in blocks if kind == "thinking"
    )
    called = [one for one in events if isinstance(one, ToolCallDelta)]
    assert [(one.index, one.arguments) for one in called] == [
        *enumerate(whole for kind, whole in blocks if kind == "call")
    ]
    assert events[-1] == Finish("tool_calls" if called else "stop", Usage(7, 3))
    assert all(one.text for one in events if isinstance(one, TextDelta | ReasoningDelta))


@given(streams(), st.data())
def test_a_stream_that_breaks_off_is_not_finished(drawn: tuple[list[tuple[str, str]], bytes], data: st.DataObject):
    pieces = parsed(drawn[1])
    last = max(i for i, (name, _) in enumerate(pieces) if name == "message_stop")
    reading = reader()
    for name, line in pieces[: data.draw(st.integers(0, last))]:
        assert not any(isinstance(one, Finish) for one in reading.read(name, line))
    assert not reading.finished


KINDS = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
     "message_stop", "error", "ping", "new", "text", "text_delta", "tool_use", "input_json_delta", "end_turn"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["type", "message", "usage", "index", "content_block", "delta", "text", "partial_json", "name", "input",
     "stop_reason", "error", "output_tokens"]
)  # fmt: skip
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | KINDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.tuples(KINDS, JUNK), max_size=8), st.booleans())
def test_any_events_are_read_or_fail_in_one_way(events: list[tuple[str, Any]], begun: bool):
    reading = reader()
    if begun:
        reading.read(*parsed(start())[0])
    with contextlib.suppress(ProviderError):
        for name, data in events:
            reading.read(name, json.dumps(data))
