"""Which strings of a Chat Completions body are its structure and no text, which name an end user, and which hold what
cannot be read.

Everything else that a body holds is text, names and ids and fields that nobody knows included, so that nothing leaves
unread. Source: the OpenAI API reference, "Create chat completion"; shield.md ("What is scanned"); gateway.md
("Sensitive data that is not text").
"""

import re

from appliance.dialects.jsontext import KEY, Path

_WORD = re.compile(r"[a-z_]{1,32}")
"""What kinds and roles are written with. What is in their place and is no such word is read as text all the same."""

_NAME = re.compile(r"[A-Za-z_$][A-Za-z_$-]{0,63}")
"""A member's name as programmers write them; one with a digit, a dot or a space may be a value."""

_KINDS: frozenset[tuple[str, ...]] = frozenset(
    {
        ("messages", "role"),
        ("messages", "tool_calls", "type"),
        ("messages", "content", "type"),
        ("messages", "content", "image_url", "detail"),
        ("tools", "type"),
        ("tool_choice",),
        ("tool_choice", "type"),
        ("function_call",),
        ("response_format", "type"),
        ("reasoning_effort",),
        ("service_tier",),
        ("verbosity",),
    }
)
"""The places of words out of a closed set, as their paths without the indices."""

_REPLACED: frozenset[tuple[str, ...]] = frozenset(
    {("model",), ("user",), ("safety_identifier",), ("prompt_cache_key",), ("metadata", "user_id")}
)
"""What never leaves as it is: the provider gets its own model's name, and a keyed hash for a person's."""

_PEOPLE = frozenset({
    "user", "userid", "username", "enduser", "enduserid", "safetyidentifier", "promptcachekey", "sessionid",
    "customer", "customerid", "accountid", "clientid", "visitorid", "deviceid", "externalid",
})  # fmt: skip
"""Names of members that name an end user, in small letters without what joins their words."""

_SAID = ("messages", "tools", "functions", "response_format", "tool_choice", "function_call", "prediction")
"""Members whose texts a model reads: a `user` in them is a word of the conversation."""

_ENCODED = re.compile(r"data:[^,]{0,200};base64,")
_FILE = re.compile(
    r"(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi|UEsDB|SUQz|T2dnUw|AAAA[A-Za-z0-9+/]{2}Z0eX|Qk[0-9])"
    r"[A-Za-z0-9+/_\-\s]{64,}={0,2}\s*"
)
"""Base64 of a picture, a PDF, an archive, a sound or a film, by how each begins."""


def is_text(path: Path, text: str) -> bool:
    """Whether the shield has to read this string of a body. An empty one says nothing."""
    if not text:
        return False
    if path[-1] == KEY:
        return _NAME.fullmatch(text) is None
    place = _place(path)
    return place not in _REPLACED and not (place in _KINDS and _WORD.fullmatch(text))


def is_end_user(path: Path) -> bool:
    """Whether the string at this path names the person who asks, or stands for them."""
    if path[-1] == KEY:
        return False
    place = _place(path)
    if place[:1] == ("messages",):
        place = place[1:]
        if place[:1] not in (("user",), ("metadata",)):
            return False
    elif place[:1] and place[0] in _SAID:
        return False
    return any(re.sub("[^a-z]", "", step.lower()) in _PEOPLE for step in place)


def is_unscannable(text: str) -> bool:
    """Whether this is no text but a picture, a sound or a file, which nobody can read for personal data."""
    return _ENCODED.match(text) is not None or _FILE.fullmatch(text) is not None


def _place(path: Path) -> tuple[str, ...]:
    return tuple(step for step in path if isinstance(step, str))
