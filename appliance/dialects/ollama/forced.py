"""A tool call that the caller demands, of a server that knows no `tool_choice`: the schema of the answer forces it.

The model answers with JSON that fits the tool's schema, or, where it may choose among several tools, with the name of
one and its arguments; that text is the call. Source: dialects.md §1.3.
"""

from dataclasses import dataclass
from typing import cast

import orjson

from appliance.dialects.chat import Chat, Tool
from appliance.dialects.jsonbody import MAX_DEPTH, nested_deeper
from appliance.dialects.jsonobject import json_object
from appliance.dialects.ollama.errors import InvalidToolCall
from appliance.dialects.ollama.tools import MAX_CHARACTERS, inlined
from appliance.dialects.schemas import Allowance
from appliance.dialects.structured import check_value


@dataclass(frozen=True, slots=True)
class Forced:
    """One of `tools`, of which there is at least one, has to be called."""

    tools: tuple[Tool, ...]

    def schema(self) -> dict[str, object]:
        """What the text of the answer has to fit. Raises DialectError naming the tool whose schema is unusable."""
        if len(self.tools) == 1:
            # References and all: the server resolves them, and knows schemas that contain themselves.
            return {"type": "object", **(self.tools[0].parameters or {})}
        allowance = Allowance(MAX_CHARACTERS)
        return {"anyOf": [_choice(tool, allowance) for tool in self.tools]}

    def call(self, text: str) -> tuple[str, str]:
        """The name of the tool and its arguments, as compact JSON, that the answer's text stands for.

        Raises InvalidToolCall.
        """
        value = json_object(text.encode(errors="replace"))
        if value is None or nested_deeper(value, MAX_DEPTH):
            raise InvalidToolCall("The model's tool call is not a JSON object.")
        tool, arguments = self._called(value)
        problem = check_value(arguments, tool.parameters or {})
        if problem:
            raise InvalidToolCall(f"The model's call of the tool {tool.name!r} {problem}.")
        return tool.name, orjson.dumps(arguments).decode()

    def _called(self, value: dict[str, object]) -> tuple[Tool, dict[str, object]]:
        if len(self.tools) == 1:
            return self.tools[0], value
        tool = next((tool for tool in self.tools if tool.name == value.get("name")), None)
        arguments = value.get("arguments")
        if tool is None or not isinstance(arguments, dict):
            raise InvalidToolCall("The model's tool call names no tool that it was given, or has no arguments.")
        return tool, cast("dict[str, object]", arguments)


def forced(chat: Chat) -> Forced | None:
    """What the caller's `tool_choice` demands; None where the model is free to call a tool or not."""
    choice = chat.tool_choice
    if choice.mode == "named":
        tools = tuple(tool for tool in chat.tools if tool.name == choice.name)[:1]
    else:
        tools = chat.tools if choice.mode == "required" else ()
    return Forced(tools) if tools else None


def _choice(tool: Tool, allowance: Allowance) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string", "enum": [tool.name]},
            "arguments": {"type": "object", **inlined(tool, allowance)},
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
