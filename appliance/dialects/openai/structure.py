"""Which strings of a Chat Completions body are its structure and no text, which name an end user, and which hold what
cannot be read.

Everything else that a body holds is text, names and ids and fields that nobody knows included, so that nothing leaves
unread. Source: the OpenAI API reference, "Create chat completion"; shield.md ("What is scanned"); gateway.md
("Sensitive data that is not text").
"""

from appliance.dialects.bodies import NAME, WORD, Structure, is_file, names_person, place_of
from appliance.dialects.jsontext import KEY, Path

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

_REPLACED: frozenset[Path] = frozenset(
    {("model",), ("user",), ("safety_identifier",), ("prompt_cache_key",), ("metadata", "user_id")}
)
"""What never leaves as it is: the provider gets its own model's name, and a keyed hash for a person's."""

_SAID = ("messages", "tools", "functions", "response_format", "tool_choice", "function_call", "prediction")
"""Members whose texts a model reads: a `user` in them is a word of the conversation."""


def is_text(path: Path, text: str) -> bool:
    """Whether the shield has to read this string of a body. An empty one says nothing."""
    if not text:
        return False
    if path[-1] == KEY:
        return NAME.fullmatch(text) is None
    if len(path) <= 2 and path in _REPLACED:
        return False
    return WORD.fullmatch(text) is None or place_of(path) not in _KINDS


def is_end_user(path: Path) -> bool:
    """Whether the string at this path names the person who asks, or stands for them."""
    if path[-1] == KEY:
        return False
    place = place_of(path)
    if place[:1] == ("messages",):
        place = place[1:]
        if place[:1] not in (("user",), ("metadata",)):
            return False
    elif place[:1] and place[0] in _SAID:
        return False
    return names_person(place)


def structure(_: str) -> Structure:
    """Of any body: here a path alone says what a string is."""
    return Structure(is_text, is_end_user, lambda _, text: is_file(text))
