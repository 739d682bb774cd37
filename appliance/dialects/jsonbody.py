"""A request's bytes as one JSON object, or a sentence that says what is wrong with them and where.

Must not know what the object means, and quotes nothing of it.
"""

from typing import NoReturn, cast

import orjson

from appliance.dialects.chat import DialectError

MAX_DEPTH = 200
"""Levels of nesting. orjson writes 254, and what is accepted here must be writable again inside a larger body."""

MAX_BRACKETS = 1_000_000
"""Open brackets and braces, those in strings too: each may cost a hundred bytes, and no model reads as many."""

_PLAIN = {
    "no low surrogate in string": "a string holds a lone surrogate",
    "invalid low surrogate in string": "a string holds a lone surrogate",
    "invalid high surrogate in string": "a string holds a lone surrogate",
    "number is infinity when parsed as double": "a number is too large",
    # It reserves what a whole document of this length can need, which only open brackets exceed.
    "failed to allocate memory": "brackets are opened that are never closed",
}
"""The parser's words for what a caller would not recognise in them; its other messages are fixed and plain."""


def load_object(body: bytes) -> dict[str, object]:
    """The object that `body` is (RFC 8259). Raises DialectError, and nothing else, for any other bytes."""
    if not body or body.isspace():
        raise DialectError("The request body is empty.")
    brackets = body.count(b"[") + body.count(b"{")
    if brackets > MAX_BRACKETS:
        raise DialectError(f"The request body has too many brackets: more than {MAX_BRACKETS}.")
    try:
        value: object = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        _explain(body, error)
    if not isinstance(value, dict):
        raise DialectError("The request body must be a JSON object.")
    loaded = cast("dict[str, object]", value)
    # Counting is cheap and settles nearly every body: no bracket, no level.
    if brackets > MAX_DEPTH and nested_deeper(loaded, MAX_DEPTH):
        _refuse_depth()
    return loaded


def _explain(body: bytes, error: orjson.JSONDecodeError) -> NoReturn:
    try:
        body.decode()
    except UnicodeDecodeError as wrong:
        raise DialectError(f"The request body is not UTF-8: the byte at offset {wrong.start} is wrong.") from None
    if error.msg == "depth limit exceeded":
        _refuse_depth()
    what = _PLAIN.get(error.msg, error.msg)
    # The parser's error keeps the whole document, which must not travel with ours into a log.
    raise DialectError(
        f"The request body is not valid JSON: {what} (line {error.lineno}, column {error.colno})."
    ) from None


def _refuse_depth() -> NoReturn:
    raise DialectError(f"The request body is nested too deeply: more than {MAX_DEPTH} levels.") from None


def nested_deeper(value: object, levels: int) -> bool:
    """Whether a JSON value has more levels of objects and lists than that."""
    level = _containers([value])
    while level:
        if levels == 0:
            return True
        levels -= 1
        level = [child for container in level for child in _containers(container)]
    return False


def _containers(value: object) -> list[object]:
    children = cast("dict[str, object]", value).values() if isinstance(value, dict) else cast("list[object]", value)
    return [child for child in children if isinstance(child, dict | list)]
