"""Shapes: the API references of OpenAI ("The chat completion chunk object") and Mistral; servers that speak alike."""

from typing import Any

import orjson
import pytest

from appliance.dialects.chat import Event, Finish, ReasoningDelta, TextDelta, TokenChance, ToolCallDelta, Usage
from appliance.dialects.openai.stream import Reader
from appliance.dialects.upstream import ProviderError

USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def chunk(delta: object = None, *, index: int = 0, reason: object = None, **more: Any) -> str:
    choice = {"index": index, "delta": delta or {}, "finish_reason": reason}
    if "logprobs" in more:
        choice["logprobs"] = more.pop("logprobs")
    return orjson.dumps({"object": "chat.completion.chunk", "choices": [choice], **more}).decode()


def usage(counts: object = USAGE) -> str:
    return orjson.dumps({"choices": [], "usage": counts}).decode()


def reader(**options: Any) -> Reader:
    ids = iter(range(100))
    return Reader(lambda: f"call_{next(ids)}", **options)


def read(*chunks: str, **options: Any) -> list[Event]:
    made = reader(**options)
    return [event for one in chunks for event in made.read("", one)]


STOP = (chunk(reason="stop"), usage(), "[DONE]")
ENDED = Finish("stop", Usage(7, 3))


def test_openai_s_own_stream():
    made = reader()
    first = chunk({"role": "assistant", "content": "", "refusal": None}, usage=None)
    assert made.read("", first) == ()
    assert made.read("", chunk({"content": "Hel"}, usage=None)) == (TextDelta("Hel"),)
    assert made.read("", chunk({"role": "assistant", "content": "lo"})) == (TextDelta("lo"),)
    assert (made.read("", chunk(reason="stop")), made.ended, made.finished) == ((), True, False)
    assert (made.read("", usage()), made.finished) == ((ENDED,), True)
    assert made.read("", "[DONE]") == made.close() == ()


@pytest.mark.parametrize(
    ("chunks", "counts"),
    [
        pytest.param([chunk(reason="stop", usage=USAGE)], Usage(7, 3), id="with the reason, as Mistral"),
        pytest.param([chunk({"content": ""}, usage=USAGE), chunk(reason="stop"), "[DONE]"], Usage(7, 3), id="before"),
        pytest.param([chunk(usage=USAGE), chunk(reason="stop"), usage({**USAGE, "completion_tokens": 4})], Usage(7, 4),
                     id="growing"),
        pytest.param([chunk(reason="stop", usage=None), usage(None), "[DONE]"], Usage(0, 1), id="null"),
        pytest.param([chunk(reason="stop"), usage({"prompt_tokens": "7"}), "[DONE]"], Usage(0, 1), id="no counts"),
        pytest.param([chunk(reason="stop"), usage({"prompt_tokens": 2**31, "completion_tokens": 1}), "[DONE]"],
                     Usage(0, 1), id="too large"),
        pytest.param([chunk(reason="stop"), " [DONE] "], Usage(0, 1), id="missing"),
    ],
)  # fmt: skip
def test_the_usage_wherever_it_comes(chunks: list[str], counts: Usage):
    assert read(chunk({"content": "Hi"}), *chunks) == [TextDelta("Hi"), Finish("stop", counts)]


def test_a_stream_that_ends_after_its_reason_is_closed_by_who_reads_it():
    made = reader()
    made.read("", chunk({"content": "Hi"}, reason="stop"))
    assert (made.close(), made.finished) == ((Finish("stop", Usage(0, 1)),), True)


@pytest.mark.parametrize("chunks", [["[DONE]"], [chunk({"content": "Hi"}), "[DONE]"]])
def test_done_without_a_reason_is_a_failure(chunks: list[str]):
    with pytest.raises(ProviderError, match="before its answer was done") as failed:
        read(*chunks)
    assert failed.value.kind == "failed"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("stop", "stop"), ("length", "length"), ("content_filter", "content_filter"), ("tool_calls", "stop"),
        ("function_call", "stop"), ("model_length", "length"), ("eos", "stop"), ("STOP", "stop"), ("SAFETY",
         "content_filter"), ("max_tokens", "length"),
    ],
)  # fmt: skip
def test_reasons(said: str, reason: str):
    (finish,) = read(chunk(reason=said), usage())
    assert isinstance(finish, Finish)
    assert finish.reason == reason


@pytest.mark.parametrize("said", ["error", "abort", "insufficient_system_resource", 7, {}])
def test_a_reason_that_is_none_is_no_end(said: object):
    with pytest.raises(ProviderError, match="without having finished"):
        read(chunk({"content": "Hi"}, reason=said))


def test_an_empty_reason_is_not_one_yet():
    assert read(chunk({"content": "Hi"}, reason=""), *STOP)[0] == TextDelta("Hi")


def test_what_an_answer_goes_on_with_after_its_end_is_not_read():
    assert read(chunk(reason="stop"), chunk({"content": "more"}, reason="length"), usage()) == [ENDED]


def test_a_refusal_is_text_and_the_answer_ends_declined():
    """The chunk of a structured answer that is refused ends with `stop` (OpenAI, "Structured Outputs: refusals")."""
    assert read(chunk({"refusal": "I can"}), chunk({"refusal": "not."}), *STOP) == [
        TextDelta("I can"), TextDelta("not."), Finish("content_filter", Usage(7, 3)),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thoughts(name: str):
    assert read(chunk({name: "Hm.", "content": None}), chunk({"content": "Hi"}), *STOP)[:2] == [
        ReasoningDelta("Hm."), TextDelta("Hi"),
    ]  # fmt: skip


def test_thoughts_under_both_names_are_there_once():
    assert read(chunk({"reasoning_content": "Hm.", "reasoning": "Hm."})) == [ReasoningDelta("Hm.")]


def test_mistral_s_chunks_of_content():
    """The Mistral documentation, "Reasoning": `content` is a list of `thinking` and `text`."""
    content = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "H"}, {"type": "text", "text": "m."}]},
        {"type": "text", "text": "Hi"},
        {"type": "reference", "reference_ids": [1]},
        {"type": "thinking", "thinking": []},
    ]
    assert read(chunk({"content": content})) == [ReasoningDelta("Hm."), TextDelta("Hi")]


@pytest.mark.parametrize(
    ("delta", "says"),
    [
        ({"content": 5}, "`content`"),
        ({"content": [5]}, "`content`"),
        ({"content": [{"type": "image_url"}]}, "cannot hand on"),
        ({"audio": {"data": "AAA"}}, "sound"),
        ({"tool_calls": {}}, "`tool_calls`"),
        ("text", "`delta`"),
    ],
)
def test_what_cannot_be_handed_on_is_not_dropped(delta: object, says: str):
    with pytest.raises(ProviderError, match=says):
        read(chunk(delta))


def test_tool_calls_come_whole_with_ids_of_our_own():
    first = chunk({"tool_calls": [{"index": 0, "id": "theirs", "function": {"name": "look", "arguments": '{"a'}}]})
    rest = chunk({"tool_calls": [{"index": 0, "function": {"arguments": '": 1}'}}]})
    other = chunk({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "wait", "arguments": ""}}]})
    assert read(first, rest, other, chunk(reason="tool_calls"), usage()) == [
        ToolCallDelta(0, "call_0", "look", '{"a": 1}'),
        ToolCallDelta(1, "call_1", "wait", "{}"),
        Finish("tool_calls", Usage(7, 3)),
    ]


def call(name: str, index: int = 0) -> str:
    return chunk({"tool_calls": [{"index": index, "id": name, "function": {"name": name, "arguments": "{}"}}]})


def test_a_server_that_says_stop_has_called_all_the_same():
    assert read(call("a"), chunk(reason="stop"), usage())[-1] == Finish("tool_calls", Usage(7, 3))


def test_one_call_where_no_more_were_wanted():
    events = read(call("a"), call("b", 1), chunk(reason="tool_calls"), usage(), parallel=False)
    assert [event.name for event in events if isinstance(event, ToolCallDelta)] == ["a"]


def test_a_call_that_the_ceiling_cut_is_none():
    cut = chunk({"tool_calls": [{"index": 0, "id": "i", "function": {"name": "a", "arguments": '{"x'}}]})
    assert read(cut, chunk(reason="length"), usage()) == [Finish("length", Usage(7, 3))]


def test_the_older_form_of_a_call():
    first, rest = (
        chunk({"function_call": {"name": "a", "arguments": ""}}),
        chunk({"function_call": {"arguments": "{}"}}),
    )
    assert read(first, rest, chunk(reason="function_call"), usage()) == [
        ToolCallDelta(0, "call_0", "a", "{}"), Finish("tool_calls", Usage(7, 3)),
    ]  # fmt: skip


def test_several_answers_share_one_usage():
    made = read(
        chunk({"content": "a"}), chunk({"content": "b"}, index=1), chunk(index=1, reason="length"),
        chunk(reason="stop"), usage(), choices=2,
    )  # fmt: skip
    assert made == [
        TextDelta("a"), TextDelta("b", choice=1), Finish("stop", Usage(7, 3)), Finish("length", Usage(7, 0), 1),
    ]  # fmt: skip


def test_the_answers_of_a_call_may_be_asked_for_one_by_one():
    assert read(chunk({"content": "a"}), *STOP, first=3) == [TextDelta("a", choice=3), Finish("stop", Usage(7, 3), 3)]


def test_fewer_answers_than_were_asked_for_are_a_failure():
    with pytest.raises(ProviderError, match="before its answer was done"):
        read(*STOP, choices=2)


@pytest.mark.parametrize("index", [1, -1, "0"])
def test_an_answer_that_was_not_asked_for_is_a_failure(index: Any):
    with pytest.raises(ProviderError, match="not asked for"):
        read(chunk({"content": "b"}, index=index))


def chance(token: str) -> dict[str, Any]:
    return {"content": [{"token": token, "logprob": -1, "bytes": None, "top_logprobs": []}]}


def test_chances_go_with_their_text():
    made = read(
        chunk({"content": "Hi"}, logprobs=chance("Hi")), chunk({}, logprobs=chance("\ufffd")),
        chunk({"content": "é"}, logprobs=chance("é")), chunk({}, logprobs=chance("")), *STOP,
    )  # fmt: skip
    assert made[:-1] == [
        TextDelta("Hi", (TokenChance("Hi", -1.0),)),
        TextDelta("é", (TokenChance("\ufffd", -1.0), TokenChance("é", -1.0))),
        TextDelta("", (TokenChance("", -1.0),)),
    ]


@pytest.mark.parametrize(
    ("event", "data", "kind", "says"),
    [
        ("", '{"error":{"message":"The server had an error","type":"server_error"}}', "failed", "had an error"),
        ("", '{"error":"out of memory"}', "failed", "out of memory"),
        ("error", '{"message":"slow down","type":"rate_limit_error"}', "busy", "slow down"),
        ("", '{"object":"error","message":"broken","code":500}', "failed", "broken"),
        ("", '{"error":{"message":"too long","code":"context_length_exceeded"}}', "context", "too long"),
        ("", "{not json", "failed", "not a JSON object"),
        ("", "[]", "failed", "not a JSON object"),
        ("", '{"choices":{}}', "failed", "`choices`"),
        ("", '{"choices":["x"]}', "failed", "`choices`"),
    ],
)
def test_errors_in_mid_stream(event: str, data: str, kind: str, says: str):
    with pytest.raises(ProviderError, match=says) as failed:
        reader().read(event, data)
    assert failed.value.kind == kind


def test_what_says_nothing_is_passed_over():
    assert read("", " ", "{}", '{"choices":null}', '{"choices":[],"prompt_filter_results":[]}') == []
