"""The checker of streams can fail: at every event that is missing, and at whatever is wrong in one."""

import pytest

from appliance.dialects.anthropic import errors
from appliance.dialects.chat import BlockEnd, Event, Finish, OwnBlock, ReasoningDelta, TextDelta, ToolCallDelta, Usage
from tests.dialects.answers import citation, signature
from tests.dialects.anthropic import stream_grammar
from tests.dialects.anthropic.writing import sent, stream

USAGE = Usage(812, 233)
CALLED: list[Event] = [
    ReasoningDelta("Hm."),
    signature("s"),
    BlockEnd(),
    TextDelta("Hi"),
    citation({"type": "char_location", "cited_text": "a"}),
    OwnBlock('{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"é"}}'),
    ToolCallDelta(0, "call_a", "get_weather", '{"city":"Paris"}'),
    ToolCallDelta(1, "call_b", "get_time", '{"at":1}'),
    Finish("tool_calls", USAGE),
]
STOPPED: list[Event] = [TextDelta("Hi"), Finish("stop", USAGE, stated="stop_sequence", stop_sequence="END")]
BROKEN = (AssertionError, KeyError, ValueError)


def parts(data: bytes) -> list[bytes]:
    return [part + b"\n\n" for part in data.split(b"\n\n")[:-1]]


@pytest.mark.parametrize("events", [CALLED, STOPPED])
def test_every_event_is_needed(events: list[Event]):
    """But a ping, and pieces of a block that has others."""
    pieces = parts(sent(*events))
    stream_grammar.read(b"".join(pieces))
    optional = [b"ping"] if events is STOPPED else [b"ping", b"signature_delta", b"thinking_delta", b"text_delta",
                b"citations_delta", b"input_json_delta"]  # fmt: skip
    needed = [i for i, one in enumerate(pieces) if not any(b'"type":"%b"' % kind in one for kind in optional)]
    assert len(needed) == {True: 6, False: 13}[events is STOPPED]
    for i in needed:
        with pytest.raises(BROKEN):
            stream_grammar.read(b"".join(pieces[:i] + pieces[i + 1 :]))


@pytest.mark.parametrize("events", [CALLED, STOPPED])
def test_no_event_comes_twice(events: list[Event]):
    """But a ping, and pieces of a text."""
    pieces = parts(sent(*events))
    optional = (b'"ping"', b'"text_delta"', b'"thinking_delta"', b'"citations_delta"')
    for i, one in enumerate(pieces):
        if not any(kind in one for kind in optional):
            with pytest.raises(BROKEN):
                stream_grammar.read(b"".join([*pieces[:i], one, *pieces[i:]]))


@pytest.mark.parametrize("events", [CALLED, STOPPED])
def test_a_ping_may_come_anywhere_before_the_end(events: list[Event]):
    pieces = parts(sent(*events))
    ping = stream().keep_alive(10.0)
    mixed = [piece for one in pieces[:-2] for piece in (one, ping)]
    assert stream_grammar.read(b"".join([*mixed, *pieces[-2:]])).pings == len(mixed) // 2 + 1
    for wrong in ([ping, *pieces], [*pieces[:-1], ping, pieces[-1]], [*pieces, ping]):
        with pytest.raises(BROKEN):
            stream_grammar.read(b"".join(wrong))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"event: message_start\n", b""),
        (b"event: message_start\n", b"event: message\n"),
        (b"event: ping\n", b"event: ping \n"),
        (b"\ndata: ", b"\ndata:"),
        (b'"content":[]', b'"content":null'),
        (b'"stop_reason":null,', b""),
        (b'"stop_sequence":null,', b""),
        (b'"role":"assistant"', b'"role":"user"'),
        (b'"input_tokens":7', b'"input_tokens":0'),
        (b'"input_tokens":7,', b""),
        (b'"output_tokens":1', b'"output_tokens":"1"'),
        (b'"output_tokens":1', b'"output_tokens":true'),
        (b'"index":1', b'"index":2'),
        (b'"index":1', b'"index":0'),
        (b'"index":0', b'"index":false'),
        (b'"thinking":"","signature":""', b'"thinking":""'),
        (b'"type":"text","text":""', b'"type":"text"'),
        (b'"type":"text","text":""', b'"type":"text","text":"a"'),
        (b'"text_delta","text":"Hi"', b'"text_delta","text":""'),
        (b'"text_delta","text":"Hi"', b'"thinking_delta","thinking":"Hi"'),
        (b'"text_delta","text":"Hi"', b'"input_json_delta","partial_json":"{}"'),
        (b'"thinking_delta","thinking":"Hm."', b'"text_delta","text":"Hm."'),
        (b'"signature_delta","signature":"s"', b'"signature_delta","signature":""'),
        (b'"signature_delta","signature":"s"', b'"of_tomorrow"'),
        (b'"id":"call_b"', b'"id":"call_a"'),
        (b'"id":"call_b"', b'"id":"call b"'),
        (b'"name":"get_time"', b'"name":""'),
        (b'"name":"get_time","input":{}', b'"name":"get_time","input":{"at":1}'),
        (b'"name":"get_time","input":{}', b'"name":"get_time"'),
        (b'"name":"web_search","input":{}', b'"name":"web_search","input":{"query":"a"}'),
        (b'{\\"at\\":1}', b'{\\"at\\":1'),
        (b'{\\"at\\":1}', b"[1]"),
        (b'"stop_reason":"tool_use"', b'"stop_reason":"end_turn"'),
        (b'"stop_reason":"tool_use"', b'"stop_reason":"tool_calls"'),
        (b'"stop_reason":"tool_use"', b'"stop_reason":null'),
        (b'"stop_reason":"tool_use","stop_sequence":null', b'"stop_reason":"tool_use"'),
        (b'"stop_reason":"tool_use","stop_sequence":null', b'"stop_reason":"tool_use","stop_sequence":"END"'),
        (b'"input_tokens":812,', b""),
        (b'"output_tokens":233', b'"output_tokens":-1'),
        (b'event: message_stop\ndata: {"type":"message_stop"}\n\n', b"data: [DONE]\n\n"),
        (b'{"type":"message_stop"}\n\n', b'{"type":"message_stop"}\n'),
    ],
)
def test_what_is_wrong_is_noticed(before: bytes, after: bytes):
    data = sent(*CALLED)
    assert before in data
    with pytest.raises(BROKEN):
        stream_grammar.read(data.replace(before, after, 1))


def test_a_reason_to_call_needs_a_call():
    wrong = sent(TextDelta("a"), Finish("stop", USAGE)).replace(b'"end_turn"', b'"tool_use"')
    with pytest.raises(BROKEN):
        stream_grammar.read(wrong)


def test_an_empty_block_is_one_that_kept_a_client_waiting():
    out = stream()
    waited = out.start() + out.keep_alive(200.0) + out.delta(Finish("stop", USAGE)) + out.finish()
    assert stream_grammar.read(waited, kept_alive=True).said == []
    with pytest.raises(BROKEN):
        stream_grammar.read(waited)
    begun, piece = b'"content_block":{"type":"text","text":""}', b'"delta":{"type":"text_delta","text":""}'
    assert begun in waited
    for wrong in (
        b"".join(one for one in parts(waited) if piece not in one),
        waited.replace(begun, b'"content_block":{"type":"thinking","thinking":"","signature":""}').replace(
            piece, b'"delta":{"type":"thinking_delta","thinking":""}'
        ),
    ):
        with pytest.raises(BROKEN):
            stream_grammar.read(wrong, kept_alive=True)


def test_an_error_is_the_end():
    out = stream()
    begun, failed = out.start() + out.delta(TextDelta("a")), out.error(errors.body("Broken.", "api_error", "req_1"))
    assert stream_grammar.read(begun + failed).error
    for wrong in (begun + failed + failed, begun, begun + failed.replace(b'"request_id":"req_1"', b'"x":1'), b""):
        with pytest.raises(BROKEN):
            stream_grammar.read(wrong)
