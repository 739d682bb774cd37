"""The one walker over the caller's own text in a call: size estimates and the shield read the same leaves.

Pictures have no text. Names and ids of calls are not prose and are left out, and so is what is no part of the prompt:
stop sequences and the schema of a structured answer. Source: architecture.md, rule 2; routing.md ("Auto-classify").
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import orjson

from appliance.dialects.chat import Chat, Message, Role, Text, Tool


@dataclass(frozen=True, slots=True)
class Leaf:
    """One piece of text and who wrote it; `definition` is a tool as the caller described it, as compact JSON."""

    role: Role | Literal["definition"]
    text: str


def leaves(chat: Chat) -> Iterator[Leaf]:
    """Every piece of text, in the order of the call: its messages, then its tools. None is empty."""
    for message in chat.messages:
        yield from (Leaf(message.role, text) for text in _texts(message) if text)
    for tool in chat.tools:
        yield Leaf("definition", orjson.dumps(tool.written or definition(tool)).decode())


def definition(tool: Tool) -> dict[str, object]:
    """A tool as a JSON value, in the shape that OpenAI and Ollama share. What the caller left out stays out."""
    function: dict[str, object] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.parameters is not None:
        function["parameters"] = tool.parameters
    return {"type": "function", "function": function}


def _texts(message: Message) -> Iterator[str]:
    yield message.reasoning
    yield from (part.text for part in message.parts if isinstance(part, Text))
    yield from (call.arguments for call in message.tool_calls)
