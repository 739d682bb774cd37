"""Request bodies. Source: recordings 12, 20, 27, 28 and 35 to 37 for the sentences, Go's JSON for wrong types."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.engine.refusal import Refused
from appliance.engine.requests import ChatRequest, Message, check_abilities, parse_chat, parse_show

HI = [{"role": "user", "content": "Hi"}]


def parsed(**fields: object) -> ChatRequest:
    return parse_chat(json.dumps({"model": "smollm2", "messages": HI} | fields).encode())


def refusal(body: bytes) -> tuple[int, str]:
    with pytest.raises(Refused) as caught:
        parse_chat(body)
    return caught.value.status, caught.value.message


def test_what_is_not_said():
    assert parsed() == ChatRequest(
        model="smollm2",
        messages=(Message("user", "Hi"),),
        stream=True,
        truncate=True,
        keep_alive=None,
        options={},
        logprobs=False,
        top_logprobs=0,
        think=False,
        tools=False,
        images=False,
        format=False,
    )


def test_what_is_said():
    request = parsed(
        stream=False,
        truncate=False,
        keep_alive="30s",
        options={"seed": 1},
        logprobs=True,
        top_logprobs=3,
        shift=False,
        surprise=1,
    )
    assert not request.stream
    assert not request.truncate
    assert request.keep_alive == 30
    assert request.options == {"seed": 1}
    assert (request.logprobs, request.top_logprobs) == (True, 3)


def test_null_is_absent():
    names = ["stream", "truncate", "keep_alive", "options", "logprobs", "top_logprobs", "think", "tools", "format"]
    assert parsed(**dict.fromkeys(names)) == parsed()


def test_roles_are_free_and_lower_case_and_missing_text_is_empty():
    request = parsed(messages=[{"role": "SYSTEM", "content": "s"}, {"role": "martian"}, {"content": None}])
    assert request.messages == (Message("system", "s"), Message("martian", ""), Message("", ""))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "missing request body"),
        (b" \n", "missing request body"),
        (b'{"model":', "unexpected EOF"),
        (b'{"messages": []}', "model is required"),
        (b"null", "model is required"),
        (b'{"model": ""}', "model is required"),
        (b"[]", "json: cannot unmarshal array into Go value of type api.ChatRequest"),
        (b"3", "json: cannot unmarshal number into Go value of type api.ChatRequest"),
        (b'{"model": 3}', "json: cannot unmarshal number into Go struct field ChatRequest.model of type string"),
        (b'{"model":"m","top_logprobs":21}', "top_logprobs must be between 0 and 20"),
        (b'{"model":"m","top_logprobs":-1}', "top_logprobs must be between 0 and 20"),
        (b'{"model":"m","keep_alive":"5"}', 'time: missing unit in duration "5"'),
        (
            b'{"model":"m","think":"hard"}',
            'think must be a boolean or string ("high", "medium", "low", "max", true, or false)',
        ),
    ],
)
def test_refusals(body: bytes, sentence: str):
    assert refusal(body) == (400, sentence)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"messages": "Hi"}, "string into Go struct field ChatRequest.messages"),
        ({"messages": ["Hi"]}, "string into Go struct field ChatRequest.messages"),
        ({"messages": [{"role": 1}]}, "number into Go struct field ChatRequest.messages.role"),
        ({"messages": [{"content": [{"type": "text"}]}]}, "array into Go struct field ChatRequest.messages.content"),
        ({"messages": [{"images": "x"}]}, "string into Go struct field ChatRequest.messages.images"),
        ({"messages": [{"tool_calls": [1]}]}, "number into Go struct field ChatRequest.messages.tool_calls"),
        ({"stream": "yes"}, "string into Go struct field ChatRequest.stream"),
        ({"truncate": 0}, "number into Go struct field ChatRequest.truncate"),
        ({"options": []}, "array into Go struct field ChatRequest.options"),
        ({"tools": {}}, "object into Go struct field ChatRequest.tools"),
        ({"logprobs": 1}, "number into Go struct field ChatRequest.logprobs"),
        ({"top_logprobs": True}, "bool into Go struct field ChatRequest.top_logprobs"),
        ({"top_logprobs": 1.5}, "number into Go struct field ChatRequest.top_logprobs"),
    ],
)
def test_wrong_types_are_named(fields: dict[str, object], place: str):
    status, sentence = refusal(json.dumps({"model": "m"} | fields).encode())
    assert status == 400
    assert sentence.startswith(f"json: cannot unmarshal {place}")


@pytest.mark.parametrize("body", [b'{"model" 1}', b'{"a":"\xff"}', b"[" * 5000, b'{"a": 1e999}'])
def test_bad_json_is_not_repeated_to_the_caller(body: bytes):
    status, sentence = refusal(body)
    assert status == 400
    assert sentence.startswith("invalid JSON: ")
    assert len(sentence) < 120


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_parsed_or_refused(body: bytes):
    with pytest.raises(Refused):
        parse_chat(body)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
FIELDS = ["messages", "stream", "truncate", "keep_alive", "options", "logprobs", "think", "tools", "format"]


@given(st.dictionaries(st.sampled_from(FIELDS), JSON_VALUES))
@settings(max_examples=60)
def test_any_value_is_taken_or_refused_with_400(fields: dict[str, object]):
    body = json.dumps({"model": "m"} | fields).encode()
    assert status_of(body) in (None, 400)


def status_of(body: bytes) -> int | None:
    """The status of the refusal, or `None` where the body is taken."""
    try:
        parse_chat(body)
    except Refused as refused:
        return refused.status
    return None


def test_a_request_that_unloads():
    assert parsed(messages=[], keep_alive=0).unloads
    assert parsed(messages=[], keep_alive="0s").unloads
    assert not parsed(messages=[], keep_alive=1).unloads
    assert not parsed(messages=[]).unloads
    assert not parsed(keep_alive=0).unloads


IMAGES_SENTENCE = (
    '{"error":{"code":400,"message":"Multimodal data provided, but model does not support multimodal requests.",'
    '"type":"invalid_request_error"}}'
)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"think": True}, '"smollm2" does not support thinking'),
        ({"think": "low"}, '"smollm2" does not support thinking'),
        ({"tools": [{"type": "function"}]}, "smollm2:latest does not support tools"),
        ({"messages": [{"role": "assistant", "tool_calls": [{}]}]}, "smollm2:latest does not support tools"),
        ({"messages": [{"role": "user", "images": ["aGk="]}]}, IMAGES_SENTENCE),
        ({"format": "json"}, "the embedded engine does not support structured output (format)"),
        ({"format": {"type": "object"}}, "the embedded engine does not support structured output (format)"),
        ({"format": {}}, "the embedded engine does not support structured output (format)"),
    ],
)
def test_what_the_engine_cannot_do_is_refused(fields: dict[str, object], sentence: str):
    with pytest.raises(Refused) as caught:
        check_abilities(parsed(**fields), "smollm2:latest")
    assert (caught.value.status, caught.value.message) == (400, sentence)


@pytest.mark.parametrize(
    "fields", [{}, {"think": False}, {"tools": []}, {"format": ""}, {"messages": [{"images": [], "tool_calls": []}]}]
)
def test_what_asks_for_nothing_special_passes(fields: dict[str, object]):
    check_abilities(parsed(**fields), "smollm2:latest")


def test_show():
    assert parse_show(b'{"model": "a"}').model == "a"
    assert parse_show(b'{"name": "a", "verbose": true}').verbose
    with pytest.raises(Refused, match="model is required"):
        parse_show(b"{}")
