"""Which strings of this dialect nobody has written: the ids of calls, and what the provider encrypted.

It takes them back byte for byte or not at all. What only stands in their place and has not their form is text like any
other. Must not know what is looked for in them. Source: the types of PyPI `anthropic` 2.14.0; the ids that Anthropic,
OpenAI, vLLM and llama.cpp give.
"""

import re
from collections.abc import Iterator, Mapping
from typing import cast

from appliance.dialects.bodies import place_of
from appliance.dialects.jsontext import KEY, Path

_CONTENT = ("messages", "content")
_IDS = frozenset({(*_CONTENT, "id"), (*_CONTENT, "tool_use_id"), (*_CONTENT, "caller", "tool_id")})

_ENCRYPTED = ("encrypted_content", "encrypted_index", "encrypted_stdout")
_ENCRYPTED_PLACES = frozenset(
    (*_CONTENT, *within, name) for name in _ENCRYPTED for within in ((), ("content",), ("citations",))
)

_ID = re.compile(
    r"(?:(?:toolu|srvtoolu|mcptoolu)_(?:bdrk_|vrtx_)?|call_)"
    r"(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])(?![A-Za-z0-9]{0,34}[0-9]{6})[A-Za-z0-9]{20,40}"
    r"|(?:chatcmpl-tool-|call_)(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
)
"""A prefix that providers use, and so many characters that they are random: letters and digits without a number among
them, or 128 bits in hexadecimal."""

SHORTEST = 32
"""Characters of what is encrypted: what is shorter is no provider's."""

_BASE64 = re.compile(rf"[A-Za-z0-9+/_\-]{{{SHORTEST},}}={{0,2}}")


def is_opaque(path: Path, text: str) -> bool:
    """Whether the string at this path of a Messages body is such an id, or was encrypted."""
    if path[-1] == KEY:
        return False
    place = place_of(path)
    return (place in _IDS and _ID.fullmatch(text) is not None) or (place in _ENCRYPTED_PLACES and is_encrypted(text))


def is_encrypted(text: str) -> bool:
    """Whether a text is base64 and nothing else, and long enough to be what a provider made."""
    return _BASE64.fullmatch(text) is not None


def encrypted_in(block: Mapping[str, object]) -> tuple[str, ...]:
    """What the provider encrypted in a block of its answer, or in a part of one, whatever form it has."""
    return tuple(_encrypted(block))


def _encrypted(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            for name, inner in cast("dict[str, object]", value).items():
                if name in _ENCRYPTED and isinstance(inner, str):
                    yield inner
                else:
                    waiting.append(inner)
        elif isinstance(value, list):
            waiting += cast("list[object]", value)
