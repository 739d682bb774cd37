"""Answers for property tests: any events that a lane may give, in any order in which choices can mix."""

import json
from typing import Any

from hypothesis import strategies as st

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

CHANCES = st.lists(
    st.builds(
        TokenChance,
        st.text(max_size=4),
        st.floats(-20, 0),
        st.lists(st.builds(TokenChance, st.text(max_size=4), st.floats(-20, 0)), max_size=2).map(tuple),
    ),
    max_size=2,
).map(tuple)


@st.composite
def one_choice(draw: st.DrawFn, choice: int) -> list[Event]:
    """The events of one choice, its `Finish` last."""
    events: list[Event] = []
    calls = 0
    for kind in draw(st.lists(st.sampled_from(["text", "reasoning", "call"]), max_size=6)):
        if kind == "text":
            events.append(TextDelta(draw(st.text(max_size=8)), draw(CHANCES), choice))
        elif kind == "reasoning":
            events.append(ReasoningDelta(draw(st.text(min_size=1, max_size=8)), choice))
        else:
            arguments = draw(st.sampled_from(["{}", '{"city":"Paris"}', '{"é":[1,2]}', "broken"]))
            name = draw(st.sampled_from(["get_weather", "f", "é"]))
            events.append(ToolCallDelta(calls, f"call_{choice}_{calls}", name, arguments, choice))
            calls += 1
    reason = draw(st.sampled_from(["tool_calls", "length"] if calls else ["stop", "length", "content_filter"]))
    usage = Usage(draw(st.sampled_from([0, 23])), draw(st.integers(0, 50)))
    return [*events, Finish(reason, usage, choice)]


@st.composite
def answers(draw: st.DrawFn, max_choices: int = 3) -> list[Event]:
    """The events of all choices of a call, mixed in any way that keeps each choice's own order."""
    waiting = [draw(one_choice(choice)) for choice in range(draw(st.integers(1, max_choices)))]
    mixed: list[Event] = []
    while any(waiting):
        chosen = draw(st.sampled_from([one for one in waiting if one]))
        mixed.append(chosen.pop(0))
    return mixed


def choices_of(events: list[Event]) -> int:
    return len({event.choice for event in events})


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
SOME_TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)
JSON_OBJECTS = st.dictionaries(
    TEXT,
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-9, 9) | st.lists(TEXT, max_size=2),
    max_size=3,
)
CITATIONS = st.builds(
    lambda text, at: {
        "type": "char_location",
        "cited_text": text,
        "document_index": 0,
        "document_title": None,
        "start_char_index": at,
        "end_char_index": at + len(text),
    },
    SOME_TEXT,
    st.integers(0, 99),
)
SIGNATURES = st.sampled_from(["sig_EqQBCgIYAhIM", "sig_Xw=="])
OWN_BLOCKS = st.one_of(
    st.just({"type": "redacted_thinking", "data": "sig_EmwKAhgBEgy3"}),
    JSON_OBJECTS.map(
        lambda given: {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": given}
    ),
    st.builds(
        lambda text: {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [
                {"type": "web_search_result", "url": "https://x.test", "title": text, "encrypted_content": "EqgfCioI"}
            ],
        },
        TEXT,
    ),
)
"""As the types of PyPI `anthropic` 2.14.0 have them."""

STATED: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


def citation(value: dict[str, Any]) -> OwnDelta:
    return OwnDelta(json.dumps({"type": "citations_delta", "citation": value}))


def signature(value: str) -> OwnDelta:
    return OwnDelta(json.dumps({"type": "signature_delta", "signature": value}), sealed=True)


@st.composite
def own_answers(draw: st.DrawFn) -> list[Event]:
    """The events of an answer of Anthropic's, for a caller of its dialect."""
    events: list[Event] = []
    calls = 0
    for kind in draw(st.lists(st.sampled_from(["text", "thinking", "call", "own"]), max_size=6)):
        match kind:
            case "text":
                events += draw(st.lists(SOME_TEXT.map(TextDelta) | CITATIONS.map(citation), max_size=4))
                events.append(BlockEnd())
            case "thinking":
                thoughts = draw(st.lists(SOME_TEXT.map(ReasoningDelta), max_size=3))
                signed = draw(st.lists(SIGNATURES.map(signature), max_size=1))
                events += [*signed, *thoughts] if draw(st.booleans()) else [*thoughts, *signed]
                events.append(BlockEnd())
            case "call":
                arguments = draw(JSON_OBJECTS.map(json.dumps))
                events.append(ToolCallDelta(calls, f"call_{calls}", "get_weather", arguments))
                calls += 1
            case _:
                block = draw(OWN_BLOCKS)
                events.append(OwnBlock(json.dumps(block), sealed=block["type"] == "redacted_thinking"))
    stated = draw(st.sampled_from([*STATED]))
    reason = STATED[stated]
    read = draw(st.sampled_from([0, 3]))
    usage = Usage(7 + read, draw(st.integers(0, 50)), read)
    sequence = "END" if stated == "stop_sequence" else None
    ended = Finish("tool_calls" if calls and reason == "stop" else reason, usage, stated=stated, stop_sequence=sequence)
    return [*events, ended]
