"""Tools and calls of tools, as they stand in requests and answers of Ollama's API. Pure.

It must not know how a model is told of a tool, or how it writes a call.
"""

import secrets
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from appliance.engine.fields import Fields
from appliance.engine.refusal import Refused

_ID_LETTERS = string.ascii_lowercase + string.digits


@dataclass(frozen=True, slots=True)
class Tool:
    """`parameters` is a JSON schema, as the request wrote it."""

    name: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`index` counts the calls of one answer from 0."""

    name: str
    arguments: Mapping[str, object]
    id: str = ""
    index: int = 0


def parse_tools(fields: Fields) -> tuple[Tool, ...]:
    """The `tools` of a request, with or without a name. Raises Refused (400) for wrong types."""
    functions = [tool.inner("function") for tool in fields.objects("tools")]
    return tuple(Tool(each.text("name"), each.text("description"), each.mapping("parameters")) for each in functions)


def parse_calls(message: Fields) -> tuple[ToolCall, ...]:
    """The `tool_calls` of a message in a conversation. Raises Refused (400) for wrong types."""
    calls: list[ToolCall] = []
    for call in message.objects("tool_calls"):
        function = call.inner("function")
        calls.append(
            ToolCall(function.text("name"), function.mapping("arguments"), call.text("id"), function.integer("index"))
        )
    return tuple(calls)


def check_names(tools: Sequence[Tool]) -> None:
    """Raises Refused (400) for a tool that a call could not name."""
    if not all(tool.name for tool in tools):
        raise Refused(400, "a tool needs a function with a name")


def new_call_id() -> str:
    """`call_` and eight characters, as Ollama makes them."""
    return "call_" + "".join(secrets.choice(_ID_LETTERS) for _ in range(8))
