"""Which of the values that a schema lists (`enum`, `const`) satisfy what the same schema asks beside them. Pure.

It must not know how a grammar is written. Source: JSON Schema, draft 2020-12.
"""

from collections.abc import Mapping
from typing import cast

from appliance.engine import schema_words
from appliance.engine.json_values import KINDS, Spend, is_a, same
from appliance.engine.schema_words import Inexpressible, Schema

_INSIDE: Mapping[type, tuple[str, ...]] = {
    dict: ("properties", "additionalProperties"),
    list: ("items", "prefixItems"),
    str: ("format",),
}
"""What would have to be judged value by value inside of a listed one."""


def listed(words: Schema, place: str, spend: Spend) -> list[object]:
    """The values that `enum` and `const` leave. Raises Inexpressible if there are none, or if that cannot be told."""
    values = schema_words.array(words, "enum", place) if "enum" in words else [words["const"]]
    spend(len(values))
    if "const" in words and "enum" in words:
        values = [value for value in values if same(value, words["const"], spend)][:1]
    values = [value for value in values if _satisfies(value, words, place)]
    if not values:
        raise Inexpressible(place, "allows no value")
    return values


def types(words: Schema, place: str) -> list[str]:
    """The types at `type`, of which there must be one at least."""
    given = words["type"]
    found = cast("list[object]", given) if isinstance(given, list) else [given]
    known = [each for each in found if isinstance(each, str) and each in KINDS]
    if not found or len(known) != len(found):
        raise Inexpressible(place, "has a type that JSON does not have")
    return known


def _satisfies(value: object, words: Schema, place: str) -> bool:
    if "type" in words and not any(is_a(value, kind) for kind in types(words, place)):
        return False
    for word in _INSIDE.get(type(value), ()):
        says_nothing = word == "format" and not schema_words.string_form(words, place)
        if word in words and not says_nothing:
            raise Inexpressible(place, f'lists values and uses "{word}", which the engine cannot enforce together')
    match value:
        case bool() | None:
            return True
        case str():
            return _counts(len(value), words, "minLength", "maxLength", place)
        case list():
            return _counts(len(cast("list[object]", value)), words, "minItems", "maxItems", place)
        case dict():
            return all(name in value for name in schema_words.names(words, "required", place))
        case _:
            return _in_bounds(cast("float", value), words, place)


def _counts(size: int, words: Schema, least: str, most: str, place: str) -> bool:
    top = schema_words.count(words, most, place)
    return (schema_words.count(words, least, place) or 0) <= size and (top is None or size <= top)


def _in_bounds(value: float, words: Schema, place: str) -> bool:
    number = schema_words.number
    least, most = number(words, "minimum", place), number(words, "maximum", place)
    above, below = number(words, "exclusiveMinimum", place), number(words, "exclusiveMaximum", place)
    return (
        (least is None or value >= least)
        and (most is None or value <= most)
        and (above is None or value > above)
        and (below is None or value < below)
    )
