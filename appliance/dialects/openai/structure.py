"""Which strings of a Chat Completions body are its structure and no text: names, kinds and ids.

Everything else that a body holds is text, fields that nobody knows included, so that nothing leaves unread.
Source: the OpenAI API reference, "Create chat completion"; shield.md ("What is scanned").
"""

import re

from appliance.dialects.jsontext import KEY, Path

_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:/-]{0,128}")
"""What names and ids are made of. One that holds anything else is read as text all the same."""

_NAME = re.compile(r"[A-Za-z_$][A-Za-z_$-]{0,63}")
"""A member's name as programmers write them; one with a digit, a dot or a space may be a value."""

_PLACES: frozenset[tuple[str, ...]] = frozenset(
    {
        ("model",),
        ("messages", "role"),
        ("messages", "tool_call_id"),
        ("messages", "tool_calls", "id"),
        ("messages", "tool_calls", "type"),
        ("messages", "tool_calls", "function", "name"),
        ("messages", "function_call", "name"),
        ("messages", "content", "type"),
        ("messages", "content", "image_url", "detail"),
        ("tools", "type"),
        ("tools", "function", "name"),
        ("functions", "name"),
        ("tool_choice",),
        ("tool_choice", "type"),
        ("tool_choice", "function", "name"),
        ("function_call",),
        ("function_call", "name"),
        ("response_format", "type"),
        ("response_format", "json_schema", "name"),
        ("reasoning_effort",),
        ("service_tier",),
        ("verbosity",),
    }
)
"""Their paths without the indices."""

_PICTURE = ("messages", "content", "image_url", "url")


def is_text(path: Path, text: str) -> bool:
    """Whether the shield has to read this string of a body. An empty one says nothing."""
    if not text:
        return False
    if path[-1] == KEY:
        return _NAME.fullmatch(text) is None
    place = tuple(step for step in path if isinstance(step, str))
    if place == _PICTURE:
        return not text.startswith("data:")
    return place not in _PLACES or _IDENTIFIER.fullmatch(text) is None
