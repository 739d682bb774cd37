"""Bodies of answers, compared with recordings 12, 14, 15 and 29: same fields in the same order."""

import json

import pytest

from appliance.engine import answers
from appliance.engine.answers import Timing, timestamp
from appliance.engine.llama import End, Piece, TokenChance

AT = 1_795_980_611_383_711_201
END = End("stop", "", 23, 74_889_000, 29, 233_055_000)
TIMING = Timing(311_961_814, 758_179)


def test_times_have_nanoseconds():
    assert timestamp(AT) == "2026-11-29T19:30:11.383711201Z"  # recording 12
    assert timestamp(0) == "1970-01-01T00:00:00.000000000Z"


def test_a_line():
    assert answers.piece_line("smollm2", AT, Piece("The")) == (
        b'{"model":"smollm2","created_at":"2026-11-29T19:30:11.383711201Z",'
        b'"message":{"role":"assistant","content":"The"},"done":false}\n'
    )


def test_the_last_line():
    assert answers.end_line("smollm2", AT, END, TIMING) == (
        b'{"model":"smollm2","created_at":"2026-11-29T19:30:11.383711201Z",'
        b'"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",'
        b'"total_duration":311961814,"load_duration":758179,"prompt_eval_count":23,'
        b'"prompt_eval_duration":74889000,"eval_count":29,"eval_duration":233055000}\n'
    )


def test_a_whole_answer_is_the_pieces_together():
    body = json.loads(answers.whole("m", AT, [Piece("a"), Piece("é")], END, TIMING))
    assert body["message"] == {"role": "assistant", "content": "aé"}
    assert body["eval_count"] == 29


def test_text_in_the_last_event_counts():
    end = End("stop", "z", 1, 1, 1, 1)
    assert json.loads(answers.whole("m", AT, [Piece("a")], end, TIMING))["message"]["content"] == "az"
    assert json.loads(answers.end_line("m", AT, end, TIMING))["message"]["content"] == "z"


def test_zeros_are_left_out():
    body = json.loads(answers.end_line("m", AT, End("length", "", 0, 0, 0, 0), Timing(5, 0)))
    assert list(body) == ["model", "created_at", "message", "done", "done_reason", "total_duration"]


def test_log_probabilities_come_before_the_durations():
    chance = TokenChance("I", -2.5, (73,), (TokenChance("I", -2.5, (73,)),))
    body = json.loads(answers.whole("m", AT, [Piece("I", (chance,))], END, TIMING))
    assert body["logprobs"] == [
        {"token": "I", "logprob": -2.5, "bytes": [73], "top_logprobs": [{"token": "I", "logprob": -2.5, "bytes": [73]}]}
    ]
    assert list(body)[4:6] == ["done_reason", "logprobs"]
    line = json.loads(answers.piece_line("m", AT, Piece("I", (TokenChance("I", -2.5, (73,)),))))
    assert line["logprobs"] == [{"token": "I", "logprob": -2.5, "bytes": [73]}]


@pytest.mark.parametrize("reason", ["load", "unload"])
def test_load_and_unload(reason: str):
    assert json.loads(answers.residence("smollm2", AT, reason)) == {  # recording 12
        "model": "smollm2",
        "created_at": "2026-11-29T19:30:11.383711201Z",
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": reason,
    }


def test_an_error():
    assert answers.error('model "x"') == b'{"error":"model \\"x\\""}'
