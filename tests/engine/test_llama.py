"""llama.cpp's wire. The events are llama.cpp's own, as its server sent them."""

import json

import pytest

from appliance.engine.gbnf import Grammar
from appliance.engine.llama import (
    End,
    Piece,
    RunnerFailed,
    TokenChance,
    completion_body,
    detokenize_body,
    embeddings_body,
    in_slot,
    parse_embeddings,
    parse_event,
    prompt_body,
    refused,
    template_body,
    tokenize_body,
)
from appliance.engine.options import MAX_INT, Options
from appliance.engine.requests import Message
from appliance.engine.tools import Tool, ToolCall

DEFAULTS = Options()


def body(options: Options = DEFAULTS, **fields: object) -> dict[str, object]:
    given = {"limit": 100, "stops": ("<|im_end|>",), "ceiling": None, "alternatives": None} | fields
    return json.loads(completion_body([1, 2, 3], options, **given))


def test_ollamas_defaults_are_sent_since_llama_cpps_differ():
    sent = body()
    assert sent["temperature"] == 0.8
    assert sent["top_p"] == 0.9
    assert sent["min_p"] == 0.0
    assert "seed" not in sent
    assert "n_probs" not in sent


def test_prompt_and_answer_share_the_context():
    assert body()["n_predict"] == 97
    assert body(Options(num_predict=500))["n_predict"] == 97
    assert body(Options(num_predict=5))["n_predict"] == 5


def test_the_models_own_ceiling_holds_where_the_request_sets_none():
    assert body(ceiling=50)["n_predict"] == 50
    assert body(ceiling=500)["n_predict"] == 97
    assert body(Options(num_predict=60), ceiling=50)["n_predict"] == 60
    assert body(Options(num_predict=MAX_INT), ceiling=50)["n_predict"] == 97


def test_stops_of_the_model_count_beside_those_of_the_request():
    assert body()["stop"] == ["<|im_end|>"]
    assert body(Options(stop=("", "x")))["stop"] == ["x", "<|im_end|>"]
    assert body(Options(stop=("x",)))["preserved_tokens"] == ["<|im_end|>"]


def test_numbers_that_llama_cpp_words_otherwise():
    assert body(Options(repeat_last_n=-1))["repeat_last_n"] == 100
    assert body(Options(seed=0))["seed"] == 0
    assert body(Options(seed=2**32 - 1))["seed"] == 0
    assert body(alternatives=0)["n_probs"] == 1
    assert body(alternatives=5)["n_probs"] == 5


def test_a_grammar_holds_from_the_start_or_from_its_trigger():
    assert "grammar" not in body()
    held = body(grammar=Grammar("root ::= x"))
    assert held["grammar"] == "root ::= x"
    assert "grammar_lazy" not in held
    lazy = body(grammar=Grammar("root ::= x", "<tool_call>"))
    assert lazy["grammar_lazy"] is True
    assert lazy["grammar_triggers"] == [{"type": 1, "value": "<tool_call>"}]


def test_bodies_for_the_prompt():
    assert json.loads(template_body([Message("user", "é")], [])) == {"messages": [{"role": "user", "content": "é"}]}
    assert json.loads(tokenize_body("x")) == {"content": "x", "add_special": True, "parse_special": True}
    assert json.loads(tokenize_body("x", special=False))["add_special"] is False
    assert json.loads(detokenize_body([1, 2])) == {"tokens": [1, 2]}


def test_tools_and_calls_and_results_in_openais_shape():
    messages = [
        Message("assistant", "", (ToolCall("f", {"a": "é"}, "call_1"),)),
        Message("tool", "r", (), "f", "call_1"),
    ]
    assert json.loads(template_body(messages, [Tool("f", "d", {"type": "object"})])) == {
        "messages": [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"type": "function", "id": "call_1", "function": {"name": "f", "arguments": '{"a":"é"}'}}
                ],
            },
            {"role": "tool", "content": "r", "name": "f", "tool_call_id": "call_1"},
        ],
        "tools": [
            {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
        ],
    }


def test_a_prompt_without_an_answer():
    sent = json.loads(prompt_body([1, 2]))
    assert (sent["prompt"], sent["n_predict"], sent["cache_prompt"]) == ([1, 2], 0, True)


def test_a_body_for_one_slot_is_the_same_else():
    assert json.loads(in_slot(b'{"a":1}', 3)) == {"id_slot": 3, "a": 1}


def test_an_end_after_a_prompt_that_was_read_in_parts():
    assert End("stop", "", 1, 10, 1, 5).after(7) == End("stop", "", 1, 17, 1, 5)


def test_embeddings_come_in_the_order_of_the_inputs():
    assert json.loads(embeddings_body([[1], [2, 3]])) == {"input": [[1], [2, 3]], "embd_normalize": 2}
    data = [{"index": 1, "embedding": [0.5]}, {"index": 0, "embedding": [1.0]}]
    assert parse_embeddings(json.dumps({"data": data}).encode()) == [[1.0], [0.5]]


def event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n"


def test_a_piece():
    assert parse_event(event({"index": 0, "content": " phrase", "tokens": [8715], "stop": False})) == Piece(" phrase")


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"",
        b": ping\n",
        b"data: [DONE]\n",
        event({"content": "", "tokens": [0], "stop": False, "prompt_progress": {"total": 10, "processed": 9}}),
    ],
)
def test_what_carries_no_text(line: bytes):
    assert parse_event(line) is None


ENTRY = {
    "id": 504,
    "token": "The",
    "bytes": [84, 104, 101],
    "logprob": -2.25,
    "top_logprobs": [
        {"id": 504, "token": "The", "bytes": [84, 104, 101], "logprob": -2.25},
        {"id": 57, "token": "I", "bytes": [73], "logprob": -2.5},
    ],
}


def test_chances():
    line = event({"content": "The", "stop": False, "completion_probabilities": [ENTRY]})
    the, i = TokenChance("The", -2.25, (84, 104, 101)), TokenChance("I", -2.5, (73,))
    assert parse_event(line) == Piece("The", (the,))
    assert parse_event(line, alternatives=2) == Piece("The", (TokenChance("The", -2.25, (84, 104, 101), (the, i)),))


TIMINGS = {"cache_n": 9, "prompt_n": 1, "prompt_ms": 20.5, "predicted_n": 3, "predicted_ms": 0.25}


@pytest.mark.parametrize(("kind", "reason"), [("limit", "length"), ("eos", "stop"), ("word", "stop")])
def test_the_end_counts_cached_tokens_too(kind: str, reason: str):
    line = event({"content": "", "stop": True, "stop_type": kind, "timings": TIMINGS})
    assert parse_event(line) == End(reason, "", 10, 20_500_000, 3, 250_000)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (event({"error": {"code": 500, "message": "out of memory", "type": "server_error"}}), "out of memory"),
        (b'error: {"code":500,"message":"decode failed"}\n', "decode failed"),
        (b"error: boom\n", "no reason given"),
        (b"data: {broken\n", "no event"),
        (b"data: 3\n", "no event"),
        (event({"stop": True}), "no event"),
        (event({"stop": False, "content": "a", "completion_probabilities": [{}]}), "no event"),
    ],
)
def test_errors_in_the_stream(line: bytes, sentence: str):
    with pytest.raises(RunnerFailed, match=sentence):
        parse_event(line)


def test_a_refusal_is_passed_on_whole():
    passed = refused(400, b'{"error":{"code":400}}\n')
    assert (passed.status, passed.message) == (400, '{"error":{"code":400}}')
