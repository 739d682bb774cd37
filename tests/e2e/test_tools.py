"""Tools and structured answers with the `openai` SDK, from the embedded engine's own model."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema_rs
import openai
import pytest

from tests.e2e.installation import Installation

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get the current weather in a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    },
    {
        "type": "function",
        "function": {
            "name": "send_note",
            "description": "Send a note to a colleague",
            "parameters": {
                "type": "object",
                "properties": {"to": {"type": "string", "maxLength": 30}, "text": {"type": "string", "maxLength": 60}},
                "required": ["to", "text"],
            },
        },
    },
]
QUESTION = "What is the weather in Paris?"
RESULT = '{"temperature": 23, "sky": "sunny"}'
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"enum": ["colleague", "client"]}, "maxItems": 2},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}


class Asker:
    """One way to ask, whole or streamed, that gives the whole message and its finish reason."""

    def __init__(self, client: openai.OpenAI, *, stream: bool) -> None:
        self._client = client
        self._stream = stream

    def ask(self, messages: list[Any], **fields: Any) -> tuple[dict[str, Any], str]:
        given = {"model": "pulse-auto", "messages": messages, "temperature": 0, "max_tokens": 120} | fields
        if not self._stream:
            choice = self._client.chat.completions.create(**given).choices[0]
            return choice.message.model_dump(exclude_none=True), choice.finish_reason
        # The SDK's own accumulator, which is stricter than adding up by hand.
        with self._client.chat.completions.stream(**given) as stream:
            choice = stream.get_final_completion().choices[0]
        message = choice.message.model_dump(exclude_none=True, exclude={"parsed"})
        for call in message.get("tool_calls", ()):
            call["function"].pop("parsed_arguments", None)
        return message, choice.finish_reason


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def asker(installation: Installation, request: pytest.FixtureRequest) -> Iterator[Asker]:
    with httpx.Client(trust_env=False) as http:
        client = openai.OpenAI(base_url=f"{installation.base}/v1", api_key=installation.key, http_client=http)
        yield Asker(client, stream=request.param)


def called(message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    (call,) = message["tool_calls"]
    assert call["type"] == "function"
    assert call["id"]
    return call["function"]["name"], json.loads(call["function"]["arguments"])


def test_a_tool_loop_of_two_steps(asker: Asker):
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    message, finish = asker.ask(messages, tools=TOOLS)
    assert finish == "tool_calls"
    assert called(message) == ("get_weather", {"city": "Paris"})
    messages += [message, {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": RESULT}]
    told, finish = asker.ask(messages, tools=TOOLS)
    assert finish == "stop"
    assert "tool_calls" not in told
    assert "sun" in told["content"]  # in whichever words


@pytest.mark.parametrize("question", [QUESTION, "What is 7 times 6?"])
def test_a_named_tool_is_called_whatever_was_asked(asker: Asker, question: str):
    choice = {"type": "function", "function": {"name": "get_weather"}}
    message, finish = asker.ask([{"role": "user", "content": question}], tools=TOOLS, tool_choice=choice)
    name, arguments = called(message)
    assert finish in ("stop", "tool_calls")
    assert name == "get_weather"
    assert list(arguments) == ["city"]


@pytest.mark.parametrize("question", [QUESTION, "Hello!"])
def test_some_tool_is_called_where_one_is_required(asker: Asker, question: str):
    message, finish = asker.ask([{"role": "user", "content": question}], tools=TOOLS, tool_choice="required")
    assert finish == "tool_calls"
    name, arguments = called(message)
    by_name = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
    assert jsonschema_rs.is_valid(by_name[name], arguments)


def test_no_tool_is_called_where_none_may_be(asker: Asker):
    message, finish = asker.ask([{"role": "user", "content": "Hello!"}], tools=TOOLS, tool_choice="none")
    assert finish == "stop"
    assert message["content"]
    assert "tool_calls" not in message


def test_an_answer_of_a_schema(asker: Asker):
    form = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": PERSON}}
    message, finish = asker.ask(
        [{"role": "user", "content": "Anna is 34 and a client. Extract the person."}], response_format=form
    )
    assert finish == "stop"
    found = json.loads(message["content"])
    assert jsonschema_rs.is_valid(PERSON, found)
    assert (found["name"], found["age"]) == ("Anna", 34)


def test_an_answer_in_json(asker: Asker):
    message, finish = asker.ask(
        [{"role": "user", "content": 'Answer with the JSON object {"ok": true} and nothing else.'}],
        response_format={"type": "json_object"},
    )
    assert finish == "stop"
    assert isinstance(json.loads(message["content"]), dict)


def test_a_schema_that_cannot_be_held_to_is_named(asker: Asker):
    form = {
        "type": "json_schema",
        "json_schema": {"name": "code", "schema": {"type": "object", "properties": {"a": {"not": {"const": 1}}}}},
    }
    with pytest.raises(openai.BadRequestError, match='"not"') as refused:
        asker.ask([{"role": "user", "content": "Hi"}], response_format=form)
    assert refused.value.param == "response_format"
