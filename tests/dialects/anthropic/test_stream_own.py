"""The events of an answer for a caller of the same dialect, who is told what no other dialect can say.

Sources: Anthropic's documentation ("Streaming messages", "Extended thinking", "Citations", "Web search tool"); the
types of PyPI `anthropic` 2.14.0; dialects.md §1.2.
"""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.anthropic import answer
from appliance.dialects.anthropic.stream import Reader
from appliance.dialects.chat import (
    BlockEnd,
    Event,
    Finish,
    OwnBlock,
    OwnDelta,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
)
from tests.dialects.answers import CITATIONS, JSON_OBJECTS, OWN_BLOCKS, SIGNATURES, TEXT
from tests.dialects.anthropic import stream_grammar
from tests.dialects.anthropic.writing import message
from tests.dialects.upstream_answers import split
from tests.upstreams.anthropic_events import block, end, event, parsed, ping, start, text, tool_use

Json = dict[str, Any]

SIGNED = {"type": "signature_delta", "signature": "sig_EqQB"}
CITED = {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "a", "document_index": 0}}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result"}]}
COUNTED: Json = {
    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
    "service_tier": "standard",
}
COUNTED_JSON = json.dumps(COUNTED, separators=(",", ":"))
"""What the provider counts beside the tokens that every dialect knows."""

REDACTED = {"type": "redacted_thinking", "data": "sig_EmwK"}


def read(*pieces: bytes, own: bool = True) -> list[Event]:
    ids = itertools.count()
    reading = Reader(lambda: f"call_{next(ids)}", own=own)
    events = [one for name, data in parsed(b"".join(pieces)) for one in reading.read(name, data)]
    assert reading.finished
    return events


def blocks(*opened: tuple[Json, list[Json]]) -> bytes:
    """Whole blocks, each as it begins and with its deltas."""
    return b"".join(piece for i, (begun, deltas) in enumerate(opened) for piece in block(i, begun, deltas))


def said(value: str, kind: str = "text") -> Json:
    return {"type": f"{kind}_delta", kind: value}


def piece(value: str) -> Json:
    return {"type": "input_json_delta", "partial_json": value}


def text_block(value: str = "", **more: object) -> Json:
    return {"type": "text", "text": value, **more}


def thought(value: str = "", signature: str = "") -> Json:
    return {"type": "thinking", "thinking": value, "signature": signature}


def own(value: Json, *, sealed: bool = False) -> OwnBlock | OwnDelta:
    """What is told of it: its JSON, compact and in its own order."""
    made = OwnDelta if str(value["type"]).endswith("_delta") else OwnBlock
    return made(json.dumps(value, separators=(",", ":"), ensure_ascii=False), sealed=sealed)


def test_what_the_provider_encrypted_is_told_apart():
    found = FOUND | {"content": [{"type": "web_search_result", "title": "a", "encrypted_content": "EqgfCioIARgB"}]}
    cited = {"type": "citations_delta", "citation": {"cited_text": "a", "encrypted_index": "Eo8BCioIAhgB"}}
    events = read(start(), blocks((found, []), (text_block(), [cited])), end("end_turn"))
    kept = [event.kept for event in events if isinstance(event, OwnBlock | OwnDelta)]
    assert kept == [("EqgfCioIARgB",), ("Eo8BCioIAhgB",)]


class TestEvents:
    @pytest.mark.parametrize(
        ("opened", "events"),
        [
            pytest.param([(text_block(), [said("a")])], [TextDelta("a"), BlockEnd()], id="text"),
            pytest.param(
                [(text_block(), [said("a")]), (text_block("b"), [])],
                [TextDelta("a"), BlockEnd(), TextDelta("b"), BlockEnd()],
                id="two texts",
            ),
            pytest.param(
                [(thought(), [said("Hm.", "thinking"), SIGNED])],
                [ReasoningDelta("Hm."), own(SIGNED, sealed=True), BlockEnd()],
                id="a signature",
            ),
            pytest.param(
                [(thought("Hm.", "sig_EqQB"), [])],
                [ReasoningDelta("Hm."), own(SIGNED, sealed=True), BlockEnd()],
                id="a signature that came at once",
            ),
            pytest.param([(text_block(), [said("")]), (thought(), [])], [], id="blocks in which nothing is said"),
            pytest.param([(thought(), [SIGNED])], [own(SIGNED, sealed=True), BlockEnd()], id="nothing but a signature"),
            pytest.param(
                [(text_block(citations=[]), [CITED, said("a"), CITED])],
                [own(CITED), TextDelta("a"), own(CITED), BlockEnd()],
                id="citations",
            ),
            pytest.param([(REDACTED, [])], [own(REDACTED, sealed=True)], id="a redacted thought"),
            pytest.param(
                [(SEARCH, [piece(""), piece('{"query":'), piece(' "é"}')])],
                [own(SEARCH | {"input": {"query": "é"}})],
                id="a tool of the provider's",
            ),
            pytest.param(
                [(SEARCH | {"input": {"query": "é"}}, [])],
                [own(SEARCH | {"input": {"query": "é"}})],
                id="one whose input came at once",
            ),
            pytest.param([(SEARCH, [piece("")])], [own(SEARCH)], id="one without an input"),
            pytest.param([(SEARCH, [piece('{"query": "no')])], [own(SEARCH)], id="one that was cut"),
            pytest.param([(FOUND, [])], [own(FOUND)], id="what it found"),
            pytest.param(
                [({"type": "of_tomorrow", "x": [1]}, [{"type": "new", "y": 2}])],
                [own({"type": "of_tomorrow", "x": [1]})],
                id="a kind that is not known",
            ),
        ],
    )
    def test_of_a_block(self, opened: list[tuple[Json, list[Json]]], events: list[Event]):
        assert read(start(), blocks(*opened), end())[:-1] == events

    def test_a_call_needs_no_end_of_its_block(self):
        events = read(start(), text("a"), tool_use("f", index=1), tool_use("g", index=2), end("tool_use"))
        assert events[:-1] == [
            TextDelta("a"),
            BlockEnd(),
            ToolCallDelta(0, "toolu_01Double", "f", "{}"),
            ToolCallDelta(1, "toolu_01Double", "g", "{}"),
        ]

    def test_a_call_keeps_what_its_provider_says_of_it(self):
        caller = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
        begun = {"type": "tool_use", "id": "toolu_9", "name": "f", "input": {}, "caller": caller, "toolset_name": None}
        events = read(start(), blocks((begun, [piece('{"a":1}')])), end("tool_use"))
        assert events[0] == ToolCallDelta(
            0, "toolu_9", "f", '{"a":1}', own='{"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}'
        )
        (told,) = message(*events)["content"]
        assert told == {"type": "tool_use", "id": "toolu_9", "name": "f", "input": {"a": 1}, "caller": caller}

    def test_an_end_keeps_what_its_provider_says_of_it(self):
        container = {"id": "container_1", "expires_at": "2026-12-01T00:00:00Z"}
        ended = event(
            "message_delta",
            delta={"stop_reason": "end_turn", "stop_sequence": None, "container": container},
            usage={"output_tokens": 3, "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0}},
        )
        told = message(*read(start(), text("a"), ended, event("message_stop")))
        assert told["container"] == container
        assert told["usage"] == COUNTED | {
            "input_tokens": 7,
            "output_tokens": 3,
            "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0},
        }

    @pytest.mark.parametrize(
        ("begun", "delta"),
        [(text_block("a"), SIGNED), (thought("a"), CITED), ({"type": "tool_use", "name": "f"}, CITED)],
    )
    def test_an_addition_of_another_block_is_read_over(self, begun: Json, delta: Json):
        events = read(start(), blocks((begun, [delta])), end("tool_use"))
        assert not any(isinstance(one, OwnDelta) for one in events)

    @pytest.mark.parametrize(
        "opened", [(thought("Hm."), [SIGNED]), (text_block("a"), [CITED]), (REDACTED, []), (SEARCH, []), (FOUND, [])]
    )
    def test_callers_of_other_dialects_are_not_told(self, opened: tuple[Json, list[Json]]):
        events = read(start(), blocks(opened), end("stop_sequence", sequence="END"), own=False)
        assert not any(isinstance(one, OwnBlock | OwnDelta | BlockEnd) for one in events)
        assert events[-1] == Finish("stop", Usage(7, 3))


class TestEnds:
    @pytest.mark.parametrize(
        ("reason", "expected"),
        [
            ("end_turn", "stop"),
            ("pause_turn", "stop"),
            ("max_tokens", "length"),
            ("model_context_window_exceeded", "length"),
            ("refusal", "content_filter"),
        ],
    )
    def test_the_provider_s_own_word_is_told(self, reason: str, expected: str):
        ended = Finish(expected, Usage(7, 3), stated=reason, own_usage=COUNTED_JSON)  # type: ignore[arg-type]
        assert read(start(), text("a"), end(reason))[-1] == ended

    def test_and_the_sequence_that_ended_it(self):
        ended = read(start(), text("a"), end("stop_sequence", sequence="END"))[-1]
        expected = Finish("stop", Usage(7, 3), stated="stop_sequence", stop_sequence="END", own_usage=COUNTED_JSON)
        assert ended == expected

    def test_with_a_call(self):
        ended = read(start(), tool_use("f"), end("tool_use"))[-1]
        assert ended == Finish("tool_calls", Usage(7, 3), stated="tool_use", own_usage=COUNTED_JSON)

    @pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "pause_turn", "max_tokens", "refusal"])
    def test_it_reaches_the_caller(self, reason: str):
        """But an end that is a call (litellm#34692)."""
        sequence = "END" if reason == "stop_sequence" else None
        told = message(*read(start(), text("a"), end(reason, sequence=sequence)))
        assert (told["stop_reason"], told["stop_sequence"]) == (reason, sequence)
        cut = reason in ("max_tokens", "refusal")
        called = message(*read(start(), tool_use("f"), end(reason, sequence=sequence)))
        assert (called["stop_reason"], called["stop_sequence"]) == (reason if cut else "tool_use", None)


Drawn = tuple[list[Json], list[Json], bytes]
"""The blocks of an answer as they are in the end, what adds to its texts and thoughts, and the stream of both."""

CITATION_DELTAS = CITATIONS.map(lambda one: {"type": "citations_delta", "citation": one})


@st.composite
def answers(draw: st.DrawFn) -> Drawn:
    whole: list[Json] = []
    deltas: list[Json] = []
    opened: list[tuple[Json, list[Json]]] = []
    for kind in draw(st.lists(st.sampled_from(["text", "thinking", "tool_use", "own"]), max_size=6)):
        match kind:
            case "text":
                given = draw(st.lists(TEXT.map(said) | CITATION_DELTAS, max_size=4))
                cited = [one["citation"] for one in given if "citation" in one]
                value = "".join(one.get("text", "") for one in given)
                whole += [text_block(value, **({"citations": cited} if cited else {}))] if value or cited else []
                opened.append((draw(st.sampled_from([text_block(), text_block(citations=[])])), given))
            case "thinking":
                given = [said(one, "thinking") for one in draw(st.lists(TEXT, max_size=3))]
                signature = draw(SIGNATURES)
                whole.append(thought("".join(one["thinking"] for one in given), signature))
                given.append({"type": "signature_delta", "signature": signature})
                opened.append((thought(), given))
            case _:
                call = {"type": "tool_use", "id": f"toolu_{len(whole)}", "name": "f"}
                made = call | {"input": draw(JSON_OBJECTS)} if kind == "tool_use" else draw(OWN_BLOCKS)
                whole.append(made)
                in_pieces = "input" in made and draw(st.booleans())
                given = [piece(one) for one in draw(split(json.dumps(made["input"])))] if in_pieces else []
                opened.append((made | {"input": {}} if in_pieces else made, given))
        deltas += [one for one in given if "partial_json" not in one and "" not in one.values()]
    between = st.sampled_from([b"", b"", ping(), event("of_tomorrow")])
    pieces = [start(), *(one + b"\n\n" for one in blocks(*opened).split(b"\n\n") if one)]
    return whole, deltas, b"".join(one for sent in pieces for one in (sent, draw(between)))


@given(answers())
def test_an_answer_comes_out_as_it_came_in(drawn: Drawn):
    """Every block that says anything, in its order, letter for letter."""
    whole, deltas, data = drawn
    called = any(one["type"] == "tool_use" for one in whole)
    events = read(data, end("tool_use" if called else "end_turn", tokens=6, cache_read_input_tokens=5))
    out = answer.Stream("msg_1", "m", input_tokens=lambda: 5)
    told = stream_grammar.read(b"".join([out.start(), *map(out.delta, events), out.finish()]))
    assert told.message["content"] == whole == message(*events)["content"]
    assert [one for one in told.deltas if one["type"] != "input_json_delta"] == deltas
    assert told.message["stop_reason"] == ("tool_use" if called else "end_turn")
    assert told.message["usage"] == COUNTED | {
        "input_tokens": 7,
        "output_tokens": 6,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 5,
    }
