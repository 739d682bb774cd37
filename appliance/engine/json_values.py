"""JSON values as JSON Schema sees them: when two are equal, and of which type one is. Pure.

It must not know schemas.
"""

from collections.abc import Callable, Mapping
from typing import cast

import orjson

Spend = Callable[[int], None]
"""Counts steps of work, and ends it where they are too many."""

KINDS: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
"""JSON Schema's types."""


def same(first: object, second: object, spend: Spend) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, and is not true."""
    spend(1)
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, dict) and isinstance(second, dict):
        one, other = cast("dict[str, object]", first), cast("dict[str, object]", second)
        return one.keys() == other.keys() and all(same(value, other[name], spend) for name, value in one.items())
    if isinstance(first, list) and isinstance(second, list):
        ones, others = cast("list[object]", first), cast("list[object]", second)
        return len(ones) == len(others) and all(same(*pair, spend) for pair in zip(ones, others, strict=True))
    return first == second


def is_too_deep(value: object) -> bool:
    """Whether a value cannot be written again inside of another, such as an answer, which puts six levels around it.

    orjson reads 1024 levels and writes 254.
    """
    try:
        orjson.dumps([[[[[[[[value]]]]]]]])
    except TypeError:
        return True
    return False


def is_a(value: object, kind: str) -> bool:
    """Whether a value is of the type `kind`; 1.0 is an integer."""
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, KINDS[kind]) or (kind == "integer" and isinstance(value, float) and value.is_integer())
