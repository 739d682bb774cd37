"""The whole way of an answer: what any machine or provider streams reaches a client of any dialect, whole or streamed.

The readers are the strict ones of each dialect. Sources: dialects.md §1.1, §1.2 and §2; gateway.md ("Streaming").
"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.answer_text import answer_text
from appliance.dialects.anthropic import answer as anthropic_answer
from appliance.dialects.chat import Event, Finish, ToolCallDelta
from appliance.dialects.openai import answer as openai_answer
from tests.dialects import upstream_answers
from tests.dialects.answers import own_answers
from tests.dialects.anthropic import stream_grammar as anthropic_grammar
from tests.dialects.anthropic.writing import message
from tests.dialects.openai import stream_grammar as openai_grammar
from tests.dialects.upstream_answers import COMPLETION, PROMPT, Streamed

Json = dict[str, Any]

UPSTREAMS = {
    "ollama": upstream_answers.ollama(),
    "openai": upstream_answers.openai(),
    "anthropic": upstream_answers.anthropic(),
}
upstreams = pytest.mark.parametrize("upstream", UPSTREAMS)
SILENCES = st.lists(st.sampled_from([0.0, 0.0, 10.0, 250.0]), min_size=1)

STOP_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def written(out: openai_answer.Stream | anthropic_answer.Stream, events: list[Event], silences: list[float]) -> bytes:
    """The stream, where it took so long until each of the events (and so on, from the beginning)."""
    pieces = [out.start()]
    for i, event in enumerate(events):
        silent = silences[i % len(silences)]
        pieces += [out.keep_alive(silent)] if silent else []
        pieces.append(out.delta(event))
    return b"".join([*pieces, out.finish()])


@upstreams
@given(st.data(), SILENCES, st.booleans())
def test_a_client_of_openai_s_has_all_that_was_said(
    upstream: str, data: st.DataObject, silences: list[float], include_usage: bool
):
    drawn: Streamed = data.draw(UPSTREAMS[upstream])
    out = openai_answer.Stream("c", 1, "m", include_usage=include_usage)
    read = openai_grammar.read(written(out, drawn.events, silences), include_usage=include_usage)
    (choice,) = read.choices.values()
    assert choice.text == "".join(drawn.of("text"))
    assert choice.reasoning == "".join(drawn.of("thinking"))
    assert [(call.name, json.loads(call.arguments)) for call in choice.calls] == drawn.of("call")
    assert choice.finish_reason == drawn.reason
    assert read.usage == (usage_of(drawn.events) if include_usage else None)
    same_whole(drawn.events, choice)


def usage_of(events: list[Event]) -> Json:
    finish = events[-1]
    assert isinstance(finish, Finish)
    prompt, completion = finish.usage.prompt_tokens, finish.usage.completion_tokens
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def same_whole(events: list[Event], choice: openai_grammar.Choice) -> None:
    """A whole answer says what a client has of the stream."""
    (body,) = json.loads(openai_answer.whole(id="c", created=1, model="m", events=events, pulse={}))["choices"]
    said = body["message"]
    assert (said["content"] or "", said.get("reasoning", "")) == (choice.text, choice.reasoning)
    assert [(one["id"], one["function"]) for one in said.get("tool_calls", [])] == [
        (call.id, {"name": call.name, "arguments": call.arguments}) for call in choice.calls
    ]
    assert body["finish_reason"] == choice.finish_reason


@upstreams
@given(st.data(), SILENCES)
def test_a_client_of_anthropic_s_has_all_that_was_said(upstream: str, data: st.DataObject, silences: list[float]):
    drawn: Streamed = data.draw(UPSTREAMS[upstream])
    out = anthropic_answer.Stream("m", "m", input_tokens=lambda: 5)
    read = anthropic_grammar.read(written(out, drawn.events, silences), kept_alive=True)
    blocks = read.said
    assert blocks == message(*drawn.events)["content"]
    assert "".join(one.get("text", "") for one in blocks) == "".join(drawn.of("text"))
    assert "".join(one.get("thinking", "") for one in blocks) == "".join(drawn.of("thinking"))
    assert [(one["name"], one["input"]) for one in blocks if one["type"] == "tool_use"] == drawn.of("call")
    assert read.message["stop_reason"] == STOP_REASONS[drawn.reason]
    used = usage_of(drawn.events)
    assert read.message["usage"] == {
        "input_tokens": used["prompt_tokens"] or 5,  # the estimate
        "output_tokens": used["completion_tokens"],
    }


@pytest.mark.parametrize("upstream", ["ollama", "anthropic"])
@given(st.data())
def test_what_is_said_keeps_its_order(upstream: str, data: st.DataObject):
    """Where the upstream tells it: OpenAI's stream numbers its calls, and has no place for them among its texts."""
    drawn: Streamed = data.draw(UPSTREAMS[upstream])
    merged: list[tuple[str, Any]] = []
    for kind, value in drawn.said:
        if merged and kind != "call" and merged[-1][0] == kind:
            merged[-1] = (kind, merged[-1][1] + value)
        else:
            merged.append((kind, value))
    told = [
        ("call", (one["name"], one["input"])) if one["type"] == "tool_use" else (one["type"], one[one["type"]])
        for one in message(*drawn.events)["content"]
    ]
    assert told == merged


@pytest.mark.parametrize("upstream", ["ollama", "anthropic"])
@given(st.data())
def test_the_counts_of_an_upstream_that_always_tells_them(upstream: str, data: st.DataObject):
    used = usage_of(data.draw(UPSTREAMS[upstream]).events)
    assert (used["prompt_tokens"], used["completion_tokens"]) == (PROMPT, COMPLETION)


@given(own_answers(), SILENCES)
def test_what_only_anthropic_s_dialect_says_is_left_out_of_openai_s(events: list[Event], silences: list[float]):
    out = openai_answer.Stream("c", 1, "m", include_usage=False)
    (choice,) = openai_grammar.read(written(out, events, silences)).choices.values()
    assert choice.text == answer_text(events)
    assert len(choice.calls) == sum(isinstance(one, ToolCallDelta) for one in events)
    same_whole(events, choice)
