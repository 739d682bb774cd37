"""Questions with tools for the embedded engine's own model, in the Anthropic dialect, and what its answers must be."""

import re
from typing import Any

import jsonschema_rs

QUESTION = "What is the weather in Paris?"
OTHER = "What is 7 times 6?"
RESULT = '{"temperature": 23, "sky": "sunny"}'
TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "description": "Get the current weather in a city",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    {
        "name": "send_note",
        "description": "Send a note to a colleague",
        "input_schema": {
            "type": "object",
            "properties": {"to": {"type": "string", "maxLength": 30}, "text": {"type": "string", "maxLength": 60}},
            "required": ["to", "text"],
        },
    },
]
NAMED = {"type": "tool", "name": "get_weather"}
REQUIRED = {"type": "any"}


def asked(question: str, **fields: Any) -> dict[str, Any]:
    """A body of the Messages API; the model says the same to it each time."""
    messages = [{"role": "user", "content": question}]
    return {"model": "pulse-auto", "max_tokens": 120, "temperature": 0, "messages": messages, "tools": TOOLS, **fields}


def call(answer: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The only call of an answer."""
    (used,) = [block for block in answer["content"] if block["type"] == "tool_use"]
    assert re.fullmatch(r"[\w-]+", used["id"])
    assert answer["stop_reason"] == "tool_use"
    return used["name"], used["input"]


def check_loop(answers: list[dict[str, Any]]) -> None:
    called, told = answers
    assert call(called) == ("get_weather", {"city": "Paris"})
    assert told["stop_reason"] == "end_turn"
    (block,) = told["content"]
    assert "sun" in block["text"]  # in whichever words


def check_named(answer: dict[str, Any]) -> None:
    name, given = call(answer)
    assert name == "get_weather"
    assert list(given) == ["city"]


def check_required(answer: dict[str, Any]) -> None:
    name, given = call(answer)
    schemas = {tool["name"]: tool["input_schema"] for tool in TOOLS}
    assert jsonschema_rs.is_valid(schemas[name], given)
