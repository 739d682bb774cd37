"""Bodies of answers, compared with recordings 12, 14, 15, 29, 42, 43, 45 and 201: same fields in the same order."""

import json

import pytest

from appliance.engine import answers
from appliance.engine.answers import Timing, Voice, timestamp
from appliance.engine.llama import End, Piece, TokenChance
from appliance.engine.tools import ToolCall
from tests.engine.recordings import exchange, shape

AT = 1_795_980_611_383_711_201
END = End("stop", "", 23, 74_889_000, 29, 233_055_000)
TIMING = Timing(311_961_814, 758_179)
CHAT = Voice("smollm2", answers.in_message)
GENERATE = Voice("smollm2", answers.in_response)
CALL = ToolCall("get_weather", {"city": "Paris"}, "call_3aeefos8", 0)
CHANCE = TokenChance("I", -2.5, (73,))


def test_times_have_nanoseconds():
    assert timestamp(AT) == "2026-11-29T19:30:11.383711201Z"  # recording 12
    assert timestamp(0) == "1970-01-01T00:00:00.000000000Z"


def test_a_line():
    assert CHAT.line(AT, Piece("The")) == (
        b'{"model":"smollm2","created_at":"2026-11-29T19:30:11.383711201Z",'
        b'"message":{"role":"assistant","content":"The"},"done":false}\n'
    )
    assert GENERATE.line(AT, Piece("The")) == (
        b'{"model":"smollm2","created_at":"2026-11-29T19:30:11.383711201Z","response":"The","done":false}\n'
    )


def test_the_last_line():
    assert CHAT.last_line(AT, END, TIMING) == (
        b'{"model":"smollm2","created_at":"2026-11-29T19:30:11.383711201Z",'
        b'"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",'
        b'"total_duration":311961814,"load_duration":758179,"prompt_eval_count":23,'
        b'"prompt_eval_duration":74889000,"eval_count":29,"eval_duration":233055000}\n'
    )


def test_a_whole_answer_is_the_pieces_together():
    body = json.loads(CHAT.whole(AT, [Piece("a"), Piece("é")], END, TIMING))
    assert body["message"] == {"role": "assistant", "content": "aé"}
    assert body["eval_count"] == 29


def test_text_in_the_last_event_counts():
    end = End("stop", "z", 1, 1, 1, 1)
    assert json.loads(CHAT.whole(AT, [Piece("a")], end, TIMING))["message"]["content"] == "az"
    assert json.loads(CHAT.last_line(AT, end, TIMING))["message"]["content"] == "z"


def test_calls_as_recorded():
    whole = json.loads(CHAT.whole(AT, [CALL], END, TIMING))
    recorded = exchange("201-chat-toolcall").objects[0]
    assert list(whole) == list(recorded)
    assert whole["message"] == recorded["message"]
    line = json.loads(CHAT.line(AT, CALL))
    recorded = exchange("207-chat-toolcall-stream").objects[0]
    assert shape(line) == shape(recorded)
    assert line["done"] is False


def test_text_and_several_calls():
    second = ToolCall("f", {}, "call_2", 1)
    message = json.loads(CHAT.whole(AT, [Piece("Look."), CALL, second], END, TIMING))["message"]
    assert message["content"] == "Look."
    assert [call["function"]["index"] for call in message["tool_calls"]] == [0, 1]
    assert [call["id"] for call in message["tool_calls"]] == ["call_3aeefos8", "call_2"]


@pytest.mark.parametrize("name", ["43-generate-nostream", "44-generate-raw"])
def test_generate_as_recorded(name: str):
    recorded = exchange(name).objects[0]
    context = recorded.get("context", ())
    whole = json.loads(GENERATE.whole(AT, [Piece("The")], END, TIMING, context))
    assert list(whole) == list(recorded)
    assert whole.get("context", ()) == context
    last = json.loads(GENERATE.last_line(AT, END, TIMING, context))
    assert list(last) == list(recorded)


def test_zeros_are_left_out():
    body = json.loads(CHAT.last_line(AT, End("length", "", 0, 0, 0, 0), Timing(5, 0)))
    assert list(body) == ["model", "created_at", "message", "done", "done_reason", "total_duration"]


def test_log_probabilities_come_before_the_durations():
    chance = TokenChance("I", -2.5, (73,), (CHANCE,))
    body = json.loads(CHAT.whole(AT, [Piece("I", (chance,))], END, TIMING))
    assert body["logprobs"] == [
        {"token": "I", "logprob": -2.5, "bytes": [73], "top_logprobs": [{"token": "I", "logprob": -2.5, "bytes": [73]}]}
    ]
    assert list(body)[4:6] == ["done_reason", "logprobs"]
    line = json.loads(CHAT.line(AT, Piece("I", (CHANCE,))))
    assert line["logprobs"] == [{"token": "I", "logprob": -2.5, "bytes": [73]}]


@pytest.mark.parametrize("reason", ["load", "unload"])
def test_load_and_unload(reason: str):
    assert json.loads(CHAT.residence(AT, reason)) == {  # recording 12
        "model": "smollm2",
        "created_at": "2026-11-29T19:30:11.383711201Z",
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": reason,
    }
    assert json.loads(GENERATE.residence(AT, reason)) == {  # recordings 45 and 46
        "model": "smollm2",
        "created_at": "2026-11-29T19:30:11.383711201Z",
        "response": "",
        "done": True,
        "done_reason": reason,
    }


def test_an_error():
    assert answers.error('model "x"') == b'{"error":"model \\"x\\""}'
