"""Reading calls that nobody here made up: those of real clients, as recorded, and arbitrary ones."""

import base64
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.chat import DialectError, Effort, Format, Image, Text, ToolChoice
from appliance.dialects.openai.request import Request, parse

RECORDINGS = Path(__file__).parents[3].parent / "shared" / "recordings" / "clients"


def recorded() -> list[Any]:
    return [
        pytest.param(path, id=path.stem) for path in sorted(RECORDINGS.glob("*-POST_v1_chat_completions.json"))
    ] or [pytest.param(None, marks=pytest.mark.skip(reason="the recordings of real clients are not on this machine"))]


def call_of(name: str) -> tuple[dict[str, Any], Request]:
    path = RECORDINGS / f"{name}-POST_v1_chat_completions.json"
    if not path.is_file():
        pytest.skip("the recordings of real clients are not on this machine")
    body = json.loads(path.read_text())["body"]
    return body, parse(json.dumps(body).encode())


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@pytest.mark.parametrize("path", recorded())
def test_every_call_of_a_real_client_is_read(path: Path):
    body = json.loads(path.read_text())["body"]
    request = parse(json.dumps(body).encode())
    chat = request.chat
    assert request.model == body["model"]
    assert request.stream is body.get("stream", False)
    assert [message.text for message in chat.messages] == [text_of(one["content"]) for one in body["messages"]]
    assert chat.sampling.temperature == body.get("temperature")
    assert [(tool.name, tool.description, tool.parameters) for tool in chat.tools] == [
        (tool["function"]["name"], tool["function"]["description"], tool["function"]["parameters"])
        for tool in body.get("tools", [])
    ]


def test_langchain_demands_a_call():
    _, request = call_of("sdk-langchain-03")
    assert request.chat.tool_choice == ToolChoice("required")
    assert request.chat.parallel


def test_langchain_names_the_tool_of_its_structured_output():
    _, request = call_of("sdk-langchain-05")
    assert request.chat.tool_choice == ToolChoice("named", "L")
    assert not request.chat.parallel


def test_llm_sends_a_schema_without_strict():
    body, request = call_of("llm-hi-03")
    assert request.chat.format == Format(body["response_format"]["json_schema"]["schema"])


def test_vercel_sends_json_object_without_a_schema():
    assert call_of("js-vercel-03")[1].chat.format == Format()


def test_the_openai_sdk_sends_a_picture_and_much_more():
    body, request = call_of("sdk-openai-02")
    text, picture = request.chat.messages[1].parts
    assert request.chat.messages[0].role == "system"
    assert text == Text("what is this")
    encoded = body["messages"][1]["content"][1]["image_url"]["url"].removeprefix("data:image/png;base64,")
    assert picture == Image(base64.b64decode(encoded), "image/png")
    sampling = request.chat.sampling
    assert (sampling.top_logprobs, sampling.max_tokens, sampling.seed, sampling.stop) == (2, 50, 7, ("\n\n",))
    assert (request.chat.effort, request.chat.choices) == ("low", 1)


WORDS = st.sampled_from([
    "text", "user", "assistant", "tool", "function", "system", "", "x", "auto", "required", "none", "low",
    "json_object", "json_schema", "image_url", "data:image/png;base64,iVBORw0KGgo=", "data:;base64,/etc/passwd",
    "object", "#", "(", "{}", '{"a":', "c1",
])  # fmt: skip
KEYS = st.sampled_from([
    "type", "text", "role", "content", "effort", "include_usage", "function", "name", "parameters", "description",
    "image_url", "url", "tool_calls", "id", "arguments", "tool_call_id", "json_schema", "schema", "properties", "items",
    "$ref", "pattern", "required", "reasoning", "refusal", "function_call", "$schema",
])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**64 - 1) | st.floats(-3, 3) | WORDS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=14,
)
NAMES = st.sampled_from([
    "model", "messages", "stream", "stream_options", "stop", "seed", "n", "tools", "tool_choice", "functions",
    "function_call", "parallel_tool_calls", "temperature", "reasoning", "reasoning_effort", "response_format",
    "max_tokens", "logprobs", "top_logprobs", "logit_bias", "modalities", "input", "prediction",
])  # fmt: skip


def outcome(body: dict[str, Any]) -> Request | DialectError:
    try:
        return parse(json.dumps(body).encode())
    except DialectError as error:
        return error


def check(read: Request | DialectError) -> None:
    if isinstance(read, Request):
        assert read.chat.messages
        assert 1 <= read.chat.choices <= 8
        assert read.chat.effort in (None, *get_args(Effort))
    else:
        assert read.param
        assert f"`{read.param}`" in read.message


@given(st.dictionaries(NAMES, JSON))
def test_any_object_is_a_call_or_refused_with_a_name(body: dict[str, Any]):
    check(outcome(body))


@given(NAMES, JSON, st.lists(st.dictionaries(KEYS, JSON, max_size=5), max_size=2))
def test_any_value_in_any_field_of_a_call(name: str, value: object, messages: list[dict[str, Any]]):
    users = [{"role": "user", "content": "hi"}, *({"role": "assistant", **message} for message in messages)]
    tools = [{"type": "function", "function": {"name": "x"}}]
    check(outcome({"messages": users, "tools": tools, name: value}))
    check(outcome({"messages": users, name: value}))
