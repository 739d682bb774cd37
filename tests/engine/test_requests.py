"""Request bodies. Source: recordings 12, 20, 24, 27, 28 and 42 to 46, Ollama 0.32 for `/api/generate`."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.engine.refusal import Refused
from appliance.engine.requests import (
    ChatRequest,
    GenerateRequest,
    Message,
    Terms,
    check_chat,
    check_generate,
    parse_chat,
    parse_generate,
    parse_show,
)
from appliance.engine.tools import Tool, ToolCall

HI = [{"role": "user", "content": "Hi"}]
TERMS = Terms(
    model="smollm2",
    stream=True,
    truncate=True,
    keep_alive=None,
    options={},
    logprobs=False,
    top_logprobs=0,
    think=False,
    format=None,
)


def chat(**fields: object) -> ChatRequest:
    return parse_chat(json.dumps({"model": "smollm2", "messages": HI} | fields).encode())


def generate(**fields: object) -> GenerateRequest:
    return parse_generate(json.dumps({"model": "smollm2", "prompt": "Hi"} | fields).encode())


def test_what_is_not_said():
    assert chat() == ChatRequest(TERMS, (Message("user", "Hi"),), (), images=False)
    assert generate() == GenerateRequest(TERMS, "Hi", "", "", "", (), raw=False, images=False)


def test_what_is_said_of_the_answer():
    given_terms = {
        "stream": False,
        "truncate": False,
        "keep_alive": "30s",
        "options": {"seed": 1},
        "logprobs": True,
        "top_logprobs": 3,
        "format": {"type": "object"},
        "think": "low",
        "shift": False,
        "surprise": 1,
    }
    expected = Terms(
        model="smollm2",
        stream=False,
        truncate=False,
        keep_alive=30,
        options={"seed": 1},
        logprobs=True,
        top_logprobs=3,
        think=True,
        format={"type": "object"},
    )
    assert chat(**given_terms).terms == generate(**given_terms).terms == expected


def test_what_is_said_to_generate():
    request = generate(system="S", suffix="x", template="t", context=[1, 2], raw=True, images=["aGk="])
    assert (request.system, request.suffix, request.template) == ("S", "x", "t")
    assert (request.context, request.raw, request.images) == ((1, 2), True, True)


def test_null_is_absent():
    names = ["stream", "truncate", "keep_alive", "options", "logprobs", "top_logprobs", "think", "tools", "format"]
    assert chat(**dict.fromkeys(names)) == chat()
    names = ["system", "suffix", "template", "context", "raw", "images", "format"]
    assert generate(**dict.fromkeys(names)) == generate()


def test_roles_are_free_and_lower_case_and_missing_text_is_empty():
    request = chat(messages=[{"role": "SYSTEM", "content": "s"}, {"role": "martian"}, {"content": None}])
    assert request.messages == (Message("system", "s"), Message("martian", ""), Message("", ""))


def test_tools_and_calls_and_results():
    request = chat(
        tools=[{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
        messages=[
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]},
            {"role": "tool", "tool_name": "f", "tool_call_id": "call_1", "content": "r"},
        ],
    )
    assert request.tools == (Tool("f", "d", {"type": "object"}),)
    assert request.messages == (
        Message("assistant", "", (ToolCall("f", {"a": 1}),)),
        Message("tool", "r", (), "f", "call_1"),
    )


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b'{"messages": []}', "model is required"),
        (b"null", "model is required"),
        (b'{"model": ""}', "model is required"),
        (b'{"model":"m","top_logprobs":21}', "top_logprobs must be between 0 and 20"),
        (b'{"model":"m","top_logprobs":-1}', "top_logprobs must be between 0 and 20"),
        (b'{"model":"m","keep_alive":"5"}', 'time: missing unit in duration "5"'),
        (
            b'{"model":"m","think":"hard"}',
            'think must be a boolean or string ("high", "medium", "low", "max", true, or false)',
        ),
    ],
)
@pytest.mark.parametrize("parse", [parse_chat, parse_generate])
def test_refusals(parse: object, body: bytes, sentence: str):
    assert callable(parse)
    with pytest.raises(Refused) as caught:
        parse(body)
    assert (caught.value.status, caught.value.message) == (400, sentence)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"messages": "Hi"}, "string into Go struct field ChatRequest.messages"),
        ({"messages": ["Hi"]}, "string into Go struct field ChatRequest.messages"),
        ({"messages": [{"role": 1}]}, "number into Go struct field ChatRequest.messages.role"),
        ({"messages": [{"content": [{"type": "text"}]}]}, "array into Go struct field ChatRequest.messages.content"),
        ({"messages": [{"images": "x"}]}, "string into Go struct field ChatRequest.messages.images"),
        ({"messages": [{"tool_calls": [1]}]}, "number into Go struct field ChatRequest.messages.tool_calls"),
        ({"messages": [{"tool_name": 1}]}, "number into Go struct field ChatRequest.messages.tool_name"),
        ({"stream": "yes"}, "string into Go struct field ChatRequest.stream"),
        ({"truncate": 0}, "number into Go struct field ChatRequest.truncate"),
        ({"options": []}, "array into Go struct field ChatRequest.options"),
        ({"tools": {}}, "object into Go struct field ChatRequest.tools"),
        ({"logprobs": 1}, "number into Go struct field ChatRequest.logprobs"),
        ({"top_logprobs": True}, "bool into Go struct field ChatRequest.top_logprobs"),
    ],
)
def test_wrong_types_are_named(fields: dict[str, object], place: str):
    with pytest.raises(Refused) as caught:
        chat(**fields)
    assert caught.value.status == 400
    assert caught.value.message.startswith(f"json: cannot unmarshal {place}")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
FIELDS = [
    *("messages", "stream", "truncate", "keep_alive", "options", "logprobs", "think", "tools", "format"),
    *("prompt", "system", "context", "raw"),
]


@given(st.dictionaries(st.sampled_from(FIELDS), JSON_VALUES))
@settings(max_examples=40)
def test_any_value_is_taken_or_refused_with_400(fields: dict[str, object]):
    body = json.dumps({"model": "m"} | fields).encode()
    assert {status_of(parse_chat, body), status_of(parse_generate, body)} <= {None, 400}


def status_of(parse: object, body: bytes) -> int | None:
    """The status of the refusal, or `None` where the body is taken."""
    assert callable(parse)
    try:
        parse(body)
    except Refused as refused:
        return refused.status
    return None


def test_a_request_that_unloads():
    assert chat(messages=[], keep_alive=0).unloads
    assert chat(messages=[], keep_alive="0s").unloads
    assert not chat(messages=[], keep_alive=1).unloads
    assert not chat(messages=[]).unloads
    assert not chat(keep_alive=0).unloads
    assert generate(prompt="", keep_alive=0).unloads
    assert not generate(keep_alive=0).unloads


IMAGES_SENTENCE = (
    '{"error":{"code":400,"message":"Multimodal data provided, but model does not support multimodal requests.",'
    '"type":"invalid_request_error"}}'
)
A_CALL = {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"think": True}, '"smollm2" does not support thinking'),
        ({"think": "low"}, '"smollm2" does not support thinking'),
        ({"tools": [{"type": "function"}]}, "smollm2:latest does not support tools"),
        ({"messages": [A_CALL]}, "smollm2:latest does not support tools"),
        ({"messages": [{"role": "user", "images": ["aGk="]}]}, IMAGES_SENTENCE),
    ],
)
def test_what_the_model_cannot_do_is_refused(fields: dict[str, object], sentence: str):
    with pytest.raises(Refused) as caught:
        check_chat(chat(**fields), "smollm2:latest", tools=False)
    assert (caught.value.status, caught.value.message) == (400, sentence)


@pytest.mark.parametrize(
    "fields", [{}, {"think": False}, {"tools": []}, {"format": ""}, {"messages": [{"images": [], "tool_calls": []}]}]
)
def test_what_asks_for_nothing_special_passes(fields: dict[str, object]):
    check_chat(chat(**fields), "smollm2:latest", tools=False)


def test_a_model_that_calls_tools():
    check_chat(chat(tools=[{"function": {"name": "f"}}], messages=[A_CALL]), "smollm2:latest", tools=True)
    with pytest.raises(Refused, match="a function with a name"):
        check_chat(chat(tools=[{}]), "smollm2:latest", tools=True)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"think": True}, '"smollm2" does not support thinking'),
        ({"suffix": "x"}, "smollm2:latest does not support insert"),
        ({"template": "{{ .Prompt }}"}, "the embedded engine does not support another template"),
        ({"images": ["aGk="]}, IMAGES_SENTENCE),
        ({"raw": True, "system": "S"}, "raw mode does not support template, system, or context"),
        ({"raw": True, "template": "t"}, "raw mode does not support template, system, or context"),
        ({"raw": True, "context": [1]}, "raw mode does not support template, system, or context"),
    ],
)
def test_what_generate_cannot_do_is_refused(fields: dict[str, object], sentence: str):
    with pytest.raises(Refused) as caught:
        check_generate(generate(**fields), "smollm2:latest")
    assert (caught.value.status, caught.value.message) == (400, sentence)


def test_what_generate_can_do_passes():
    check_generate(generate(system="S", context=[1], format="json"), "smollm2:latest")
    check_generate(generate(raw=True), "smollm2:latest")


def test_show():
    assert parse_show(b'{"model": "a"}').model == "a"
    assert parse_show(b'{"name": "a", "verbose": true}').verbose
    with pytest.raises(Refused, match="model is required"):
        parse_show(b"{}")
