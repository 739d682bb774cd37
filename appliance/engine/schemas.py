"""JSON schema to grammar: what a model may write so that its answer satisfies the schema. Pure.

It must not know what the answer is for. Every constraint is either in the grammar or named in `Inexpressible`; words
that JSON Schema does not know are annotations, as the standard says. Where a schema leaves a choice, the narrower
one is taken, as llama.cpp's own converter does: an object has the members that it lists, in their order, and one
alternative of `oneOf` is as good as of `anyOf`. Source: JSON Schema, draft 2020-12.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from appliance.engine import digits, schema_words
from appliance.engine.gbnf import Rules, TooLarge, json_literal, repeated
from appliance.engine.schema_words import Inexpressible, Schema, merged

MAX_DEPTH = 64
"""Schemas inside schemas; also what ends an `allOf` that refers to itself."""

_SEPARATOR = 'space "," space'
_SHAPES = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "string": ("minLength", "maxLength"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
"""The words that say of which type a value is where `type` does not."""
_KINDS: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


class SchemaWriter:
    """Writes one schema as rules. With `lenient`, what cannot be expressed is any JSON value."""

    def __init__(self, rules: Rules, document: object, *, lenient: bool = False) -> None:
        self._rules = rules
        self._document = document
        self._lenient = lenient
        self._references: dict[str, str] = {}
        self._open: frozenset[str] = frozenset()
        self._depth = 0

    def write(self, schema: object, place: str = "#") -> str:
        """The expression for `schema`, whose place in the document is a JSON pointer. Raises Inexpressible."""
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise Inexpressible(place, "is nested too deeply")
            return self._written(schema, place)
        except Inexpressible:
            if not self._lenient:
                raise
            return "value"
        except TooLarge:
            raise Inexpressible(place, "makes the grammar too large") from None
        finally:
            self._depth -= 1

    def _written(self, schema: object, place: str) -> str:
        if schema is True or schema == {}:
            return "value"
        words = schema_words.checked(schema, place)
        if "$ref" in words:
            others = {word: value for word, value in words.items() if word != "$ref"}
            if others:
                return self.write({"allOf": [{"$ref": words["$ref"]}, others]}, place)
            return self._reference(words["$ref"], place)
        if "allOf" in words:
            return self.write(merged(words, self._document, place), place)
        for union in ("anyOf", "oneOf"):
            if union in words:
                return self._union(words, union, place)
        if "const" in words or "enum" in words:
            return self._values(words, place)
        types = _types(words, place)
        written = [self._typed(each, words, place) for each in types]
        return written[0] if len(written) == 1 else self._rules.add("types", " | ".join(written))

    def _reference(self, target: object, place: str) -> str:
        pointer = str(target)
        if pointer in self._open:  # it would have to be written before itself
            raise Inexpressible(place, "refers to itself")
        if pointer not in self._references:
            schema = schema_words.resolve(self._document, target, place)
            self._references[pointer] = self._rules.reserve("ref")
            before, self._open = self._open, self._open | {pointer}
            self._rules.define(self._references[pointer], self.write(schema, pointer))
            self._open = before
        return self._references[pointer]

    def _union(self, words: Schema, union: str, place: str) -> str:
        rest = {word: value for word, value in words.items() if word != union}
        branches = schema_words.schemas(words, union, place)
        if rest:
            branches = [{"allOf": [rest, branch]} for branch in branches]
        written = [self.write(branch, f"{place}/{union}/{number}") for number, branch in enumerate(branches)]
        return self._rules.add("any", " | ".join(written))

    def _values(self, words: Schema, place: str) -> str:
        values = [words["const"]] if "const" in words else schema_words.array(words, "enum", place)
        if "const" in words and "enum" in words and words["const"] not in schema_words.array(words, "enum", place):
            values = []
        if "type" in words:
            types = _types(words, place)
            values = [value for value in values if any(_is_a(value, each) for each in types)]
        if not values:
            raise Inexpressible(place, "allows no value")
        return self._rules.add("one-of", " | ".join(json_literal(value) for value in values))

    def _typed(self, kind: str, words: Schema, place: str) -> str:
        match kind:
            case "object" | "array":
                # What stands inside of brackets may refer to what is around them.
                before, self._open = self._open, frozenset()
                written = self._object(words, place) if kind == "object" else self._array(words, place)
                self._open = before
                return written
            case "string":
                return self._string(words, place)
            case "integer" | "number":
                return self._number(kind, words, place)
            case _:
                return kind

    def _object(self, words: Schema, place: str) -> str:
        others = words.get("additionalProperties", True)
        members = {name: schema for name, schema in schema_words.members(words, place).items() if schema is not False}
        required = schema_words.names(words, "required", place)
        for name in required:
            if name not in members:
                if others is False:
                    raise Inexpressible(place, f'requires the member "{name}" and forbids it')
                members[name] = others
        if members:
            return self._members(members, set(required), place)
        if others is True:
            return "object"
        if others is False:
            return self._rules.add("empty", '"{" space "}"')
        member = f'string space ":" space {self.write(others, f"{place}/additionalProperties")}'
        pair = self._rules.add("member", member)
        return self._rules.add("map", f'"{{" space ({pair} ({_SEPARATOR} {pair})*)? space "}}"')

    def _members(self, members: Schema, required: set[str], place: str) -> str:
        """The members in their order, the optional ones or not. What follows a first member is a rule of its own."""
        pairs: list[str] = []
        for name, schema in members.items():
            value = self.write(schema, f"{place}/properties/{name}")
            pairs.append(self._rules.add("member", f'{json_literal(name)} space ":" space {value}'))
        followers = [""] * (len(pairs) + 1)
        for at in range(len(pairs) - 1, 0, -1):
            more = f"{_SEPARATOR} {pairs[at]}" if list(members)[at] in required else f"({_SEPARATOR} {pairs[at]})?"
            followers[at] = self._rules.add("more", f"{more} {followers[at + 1]}")
        starts: list[str] = []
        for at, name in enumerate(members):
            starts.append(f"{pairs[at]} {followers[at + 1]}")
            if name in required:
                break
        optional = "" if required else "?"
        return self._rules.add("object", f'"{{" space ({" | ".join(starts)}){optional} space "}}"')

    def _array(self, words: Schema, place: str) -> str:
        items = words.get("items", True)
        first = schema_words.array(words, "prefixItems", place)
        if isinstance(items, list):  # the older way to write prefixItems
            first, items = cast("list[object]", items), True
        least = schema_words.count(words, "minItems", place) or 0
        most = schema_words.count(words, "maxItems", place)
        if most is None and first and items is True:
            most = max(least, len(first))  # what may follow may also be absent
        if items is False:
            most = len(first) if most is None else min(most, len(first))
        schema_words.check_counts(least, most, place)
        first = first[:most]
        written = [self.write(each, f"{place}/prefixItems/{number}") for number, each in enumerate(first)]
        left = None if most is None else most - len(first)
        if left == 0:
            return self._rules.add("array", f'"[" space {f" {_SEPARATOR} ".join(written)} space "]"')
        item = self._rules.add("item", self.write(items, f"{place}/items"))
        if written:
            more = repeated(f"({_SEPARATOR} {item})", max(0, least - len(first)), left)
            return self._rules.add("array", f'"[" space {f" {_SEPARATOR} ".join(written)} {more} space "]"')
        more = repeated(f"({_SEPARATOR} {item})", max(0, least - 1), None if left is None else left - 1)
        optional = "?" if least == 0 else ""
        return self._rules.add("array", f'"[" space ({item} {more}){optional} space "]"')

    def _string(self, words: Schema, place: str) -> str:
        least = schema_words.count(words, "minLength", place) or 0
        most = schema_words.count(words, "maxLength", place)
        form = schema_words.string_form(words, place)
        if form:
            if least or most is not None:
                raise Inexpressible(place, "bounds the length of a format, which the engine cannot do")
            return self._rules.add("form", f'"\\"" {form} "\\""')
        if not least and most is None:
            return "string"
        schema_words.check_counts(least, most, place)
        return self._rules.add("string", f'"\\"" {repeated("char", least, most)} "\\""')

    def _number(self, kind: str, words: Schema, place: str) -> str:
        least, most = schema_words.bounds(words, place, whole=kind == "integer")
        if least is None and most is None:
            return kind
        return self._rules.add(kind, (digits.integers if kind == "integer" else digits.numbers)(least, most))


def _types(words: Schema, place: str) -> Sequence[str]:
    given = words.get("type")
    if given is None:
        return [kind for kind, signs in _SHAPES.items() if any(sign in words for sign in signs)][:1] or ["value"]
    types = cast("list[object]", given) if isinstance(given, list) else [given]
    known = [each for each in types if isinstance(each, str) and each in _KINDS]
    if not types or len(known) != len(types):
        raise Inexpressible(place, "has a type that JSON does not have")
    return known


def _is_a(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _KINDS[kind]) or (kind == "integer" and isinstance(value, float) and value.is_integer())
