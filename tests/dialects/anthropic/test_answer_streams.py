"""Any answer on the wire, as a strict reader and as the official client (PyPI `anthropic` 2.14.0) read it.

Sources: dialects.md §1.2 ("SSE"), gateway.md ("Streaming"); WHATWG HTML, "Server-sent events".
"""

import json
from collections.abc import Callable, Iterator

import httpx2
import pytest
from anthropic import Anthropic, APIStatusError
from anthropic.types import MessageParam, RawMessageStreamEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from appliance.dialects.answer_text import answer_text
from appliance.dialects.anthropic import errors
from appliance.dialects.chat import Event, OwnBlock, OwnDelta, ReasoningDelta, TextDelta, ToolCallDelta
from tests.dialects.answers import answers, own_answers
from tests.dialects.anthropic import stream_grammar
from tests.dialects.anthropic.writing import Json, message, sent, stream, whole

FAILED = errors.body("The machine died.", "api_error", "req_1")
SILENT = 200.0

ANSWERS = answers(max_choices=1) | own_answers()


@given(ANSWERS)
def test_whole_and_streamed_are_the_same_message(events: list[Event]):
    content = message(*events)["content"]
    thoughts = [one.text for one in events if isinstance(one, ReasoningDelta)]
    assert "".join(one.get("text", "") for one in content) == answer_text(events)
    assert "".join(one.get("thinking", "") for one in content) == "".join(thoughts)
    called = [one for one in events if isinstance(one, ToolCallDelta)]
    assert [(one["id"], one["name"]) for one in content if one["type"] == "tool_use"] == [
        (one.id, one.name) for one in called
    ]


@given(own_answers())
def test_nothing_of_the_dialect_s_own_is_lost(events: list[Event]):
    content = message(*events)["content"]
    added = [json.loads(one.json) for one in events if isinstance(one, OwnDelta)]
    assert [one["signature"] for one in content if one.get("signature")] == [
        one["signature"] for one in added if "signature" in one
    ]
    assert [each for one in content for each in one.get("citations", ())] == [
        one["citation"] for one in added if "citation" in one
    ]
    common = ("text", "thinking", "tool_use")
    assert [one for one in content if one["type"] not in common] == [
        json.loads(one.json) for one in events if isinstance(one, OwnBlock)
    ]


@given(ANSWERS, st.data())
def test_a_client_that_is_kept_waiting_anywhere_has_the_same_message(events: list[Event], data: st.DataObject):
    out = stream()
    pauses = st.sampled_from([None, None, 10.0, SILENT, 250.0])
    pieces = [out.start()]
    for one in events:
        silent = data.draw(pauses)
        pieces += [out.keep_alive(silent)] if silent else []
        pieces.append(out.delta(one))
    read = stream_grammar.read(b"".join([*pieces, out.finish()]), kept_alive=True)
    assert read.message | {"content": read.said, "model": "smollm2"} == whole(*events)


@given(ANSWERS, st.data())
def test_a_stream_that_breaks_off_anywhere_tells_no_end(events: list[Event], data: st.DataObject):
    out = stream()
    some = events[: data.draw(st.integers(0, len(events)))]
    read = stream_grammar.read(b"".join([out.start(), *map(out.delta, some), out.error(FAILED)]))
    assert read.error == json.loads(FAILED)
    assert read.message["stop_reason"] is None


EVENT: TypeAdapter[RawMessageStreamEvent] = TypeAdapter(RawMessageStreamEvent)


@given(ANSWERS)
def test_every_event_is_of_the_official_client_s_type(events: list[Event]):
    for one in stream_grammar.events(sent(*events)):
        if one["type"] != "ping":
            EVENT.validate_json(json.dumps(one), strict=True)


@pytest.fixture(scope="module")
def accumulated() -> Iterator[Callable[[bytes], Json]]:
    """What the official client has at the end of a stream."""
    said: list[bytes] = []

    def answered(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=said.pop())

    def message(data: bytes) -> Json:
        said.append(data)
        asked: MessageParam = {"role": "user", "content": "hi"}
        with client.messages.stream(model="pulse-auto", max_tokens=9, messages=[asked]) as events:
            return events.get_final_message().to_dict()

    with httpx2.Client(transport=httpx2.MockTransport(answered)) as http:
        client = Anthropic(api_key="k", base_url="http://gateway.test", max_retries=0, http_client=http)
        yield message


@settings(max_examples=60, deadline=None)
@given(ANSWERS)
def test_the_official_client_makes_the_same_message_of_a_stream(
    accumulated: Callable[[bytes], Json], events: list[Event]
):
    data = sent(*events)
    assert accumulated(data) == stream_grammar.read(data).message | {"stop_details": None}


def test_the_official_client_raises_what_failed(accumulated: Callable[[bytes], Json]):
    out = stream()
    with pytest.raises(APIStatusError, match=r"The machine died\.") as failed:
        accumulated(out.start() + out.delta(TextDelta("a")) + out.error(FAILED))
    assert failed.value.body == json.loads(FAILED)
