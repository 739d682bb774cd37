"""JSON schemas as data: where schemas stand inside one, what a reference means, and the same without references.

Must not know what a schema is for. Only references into the schema itself have a meaning here: nothing is fetched.
Source: JSON Schema 2020-12 and, for what older writers use, draft-07; RFC 6901 (JSON Pointer).
"""

from collections.abc import Iterator, Mapping
from typing import cast
from urllib.parse import unquote

import orjson

from appliance.dialects.jsonbody import MAX_DEPTH as MAX_JSON_DEPTH
from appliance.dialects.jsonbody import nested_deeper

Schema = Mapping[str, object]

MAX_DEPTH = 100
"""Levels of schemas inside schemas, references followed. Real ones have about ten."""

_OF_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
_OF_LISTED = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_OF_ONE = (
    "items", "additionalItems", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else",
    "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
"""The keywords whose value holds schemas: as an object's values, as a list's items, as the value itself."""

_TOO_DEEP = "is nested too deeply, with its references resolved"

_CHARACTERS_PER_KEYWORD = 16
"""What a keyword counts beside its texts, so that schemas made of many tiny ones are bounded too."""


class SchemaError(Exception):
    """A schema that cannot be read. The text goes on after "it …" and quotes none of it but references."""


class Allowance:
    """How many characters may still be written. References make a small schema large, and each use costs."""

    def __init__(self, characters: int) -> None:
        self._left = characters

    def spend(self, characters: int) -> None:
        """Raises SchemaError."""
        self._left -= characters
        if self._left < 0:
            raise SchemaError("is too long, with its references resolved")


def lookup(root: Schema, reference: str) -> object:
    """What a reference into `root` points at: `#`, or `#` and a JSON Pointer. Raises SchemaError."""
    if reference != "#" and not reference.startswith("#/"):
        raise SchemaError("refers to something outside itself")
    found: object = root
    for token in unquote(reference).split("/")[1:]:
        found = _member(found, token.replace("~1", "/").replace("~0", "~"))
    return found


def _member(value: object, name: str) -> object:
    if isinstance(value, dict) and name in value:
        return cast("dict[str, object]", value)[name]
    if isinstance(value, list) and name.isascii() and name.isdigit() and len(name) < 7:
        items = cast("list[object]", value)
        if int(name) < len(items):
            return items[int(name)]
    raise SchemaError("refers to a part of itself that it does not have")


def inside(schema: Schema) -> Iterator[object]:
    """The values that stand where a schema has to stand directly inside `schema`."""
    for name, value in schema.items():
        if isinstance(value, dict) and name in _OF_NAMED:
            yield from cast("dict[str, object]", value).values()
        elif isinstance(value, list) and name in _OF_LISTED:
            yield from cast("list[object]", value)
        elif name in _OF_ONE:
            yield value


def inline(schema: Schema, allowance: Allowance) -> dict[str, object]:
    """The same schema with every reference replaced by what it means, in the same order of keywords.

    A schema that contains itself is cut where it comes again, to its type and description. Raises SchemaError.
    """
    inlined = _Inliner(schema, allowance).read(schema, ("#",))
    if nested_deeper(inlined, MAX_JSON_DEPTH):
        raise SchemaError(_TOO_DEEP)
    return inlined


class _Inliner:
    def __init__(self, root: Schema, allowance: Allowance) -> None:
        self._root = root
        self._allowance = allowance
        self._depth = 0

    def read(self, schema: Schema, followed: tuple[str, ...]) -> dict[str, object]:
        if self._depth >= MAX_DEPTH:
            raise SchemaError(_TOO_DEEP)
        self._depth += 1
        out = self._referred(schema.get("$ref"), followed)
        for name, value in schema.items():
            if name not in ("$ref", "$defs", "definitions"):
                self._allowance.spend(len(name) + _CHARACTERS_PER_KEYWORD)
                out[name] = self._keyword(name, value, followed)
        self._depth -= 1
        return out

    def _referred(self, reference: object, followed: tuple[str, ...]) -> dict[str, object]:
        """What is said beside a reference is added to what it means, and wins."""
        if not isinstance(reference, str):
            return {}
        found = lookup(self._root, reference)
        if not isinstance(found, dict):
            return {}
        target = cast("dict[str, object]", found)
        if reference in followed:
            return {name: target[name] for name in ("type", "description") if name in target}
        return self.read(target, (*followed, reference))

    def _keyword(self, name: str, value: object, followed: tuple[str, ...]) -> object:
        if isinstance(value, dict):
            inner = cast("dict[str, object]", value)
            if name in _OF_NAMED:
                return {key: self._value(each, followed, len(key)) for key, each in inner.items()}
            if name in _OF_ONE:
                return self.read(inner, followed)
        if isinstance(value, list) and name in _OF_LISTED:
            return [self._value(each, followed) for each in cast("list[object]", value)]
        return self._data(cast("object", value))

    def _value(self, value: object, followed: tuple[str, ...], extra: int = 0) -> object:
        self._allowance.spend(extra)
        return self.read(cast("dict[str, object]", value), followed) if isinstance(value, dict) else self._data(value)

    def _data(self, value: object) -> object:
        self._allowance.spend(len(value) if isinstance(value, str) else len(orjson.dumps(value)))
        return value
