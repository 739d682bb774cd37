"""The Anthropic dialect's error object. Which error gets which status and type is the gateway's to say."""

import re

import orjson

_WORDS = {
    "response_format": "output_config.format",
    "reasoning_effort": "output_config.effort",
    "stop": "stop_sequences",
    "max_completion_tokens": "max_tokens",
}
"""Fields by the name that the rest of the gateway knows them by, and by that which a caller of this dialect wrote."""

_QUOTED = re.compile(rf"`({'|'.join(_WORDS)})`")


def body(
    message: str,
    type: str,  # noqa: A002  the wire's own word
    request_id: str,
) -> bytes:
    """The error as one compact JSON object."""
    return orjson.dumps(
        {"type": "error", "error": {"type": type, "message": worded(message)}, "request_id": request_id}
    )


def worded(message: str) -> str:
    """A sentence with the fields that it quotes called as this dialect calls them."""
    return _QUOTED.sub(lambda found: f"`{_WORDS[found[1]]}`", message)


def too_long(tokens: int, maximum: int) -> str:
    """What is said of a prompt that is longer than the model's context: clients read the numbers out of it."""
    return f"prompt is too long: {tokens} tokens > {maximum} maximum"
