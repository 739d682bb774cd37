"""JSON schema to grammar: what a model may write so that its answer satisfies the schema. Pure.

It must not know what the answer is for. Every constraint is either in the grammar or named in `Inexpressible`; words
that JSON Schema does not know are annotations, as the standard says. Where a schema leaves a choice, the narrower
one is taken, as llama.cpp's own converter does: an object has the members that it lists, in their order, and one
alternative of `oneOf` is as good as of `anyOf`. Source: JSON Schema, draft 2020-12.
"""

from collections.abc import Iterable, Sequence
from typing import cast

from appliance.engine import digits, schema_values, schema_words
from appliance.engine.gbnf import Rules, TooLarge, json_literal, json_text
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
        """The rule for `schema`, whose place in the document is a JSON pointer.

        Raises Inexpressible; where it is lenient, only TooLarge, since a part less would not end the work.
        """
        self._depth += 1
        opened = self._open
        try:
            self._rules.spend(1)
            if self._depth > MAX_DEPTH:
                raise Inexpressible(place, "is nested too deeply")
            return self._written(schema, place)
        except Inexpressible:
            if not self._lenient:
                raise
            return "value"
        except TooLarge:
            if self._lenient:
                raise
            raise Inexpressible(place, "makes the grammar too large") from None
        finally:
            self._depth -= 1
            self._open = opened

    def _written(self, schema: object, place: str) -> str:
        if schema is True or schema == {}:
            return "value"
        words = schema_words.checked(schema, place)
        self._rules.spend(len(words))
        if "$ref" in words:
            others = {word: value for word, value in words.items() if word != "$ref"}
            if others:
                return self.write({"allOf": [{"$ref": words["$ref"]}, others]}, place)
            return self._reference(words["$ref"], place)
        if "allOf" in words:
            return self.write(merged(words, self._document, place, self._rules.spend), place)
        for union in ("anyOf", "oneOf"):
            if union in words:
                return self._union(words, union, place)
        if "const" in words or "enum" in words:
            return self._rules.one_of([json_text(each) for each in self._values(words, place)])
        return self._any("types", [self._typed(each, words, place) for each in _types(words, place)])

    def _reference(self, target: object, place: str) -> str:
        schema = schema_words.resolve(self._document, target, place)
        pointer = str(target)
        if pointer in self._open:  # it would have to be written before itself
            raise Inexpressible(place, "refers to itself")
        if pointer not in self._references:
            name = self._references[pointer] = self._rules.reserve("ref")
            self._open |= {pointer}
            written = self.write(schema, pointer)
            self._rules.define(name, written, self._rules.width(written))
        return self._references[pointer]

    def _union(self, words: Schema, union: str, place: str) -> str:
        rest = {word: value for word, value in words.items() if word != union}
        branches = schema_words.schemas(words, union, place)
        if rest:
            branches = [{"allOf": [rest, branch]} for branch in branches]
        return self._any("any", [self.write(each, f"{place}/{union}/{at}") for at, each in enumerate(branches)])

    def _any(self, hint: str, written: Sequence[str]) -> str:
        if len(written) == 1:
            return written[0]
        return self._rules.add(hint, " | ".join(written), sum(map(self._rules.width, written)))

    def _values(self, words: Schema, place: str) -> Sequence[object]:
        return schema_values.listed(words, place, self._rules.spend)

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
        value = self.write(others, f"{place}/additionalProperties")
        member = f'string space ":" space {value}'
        pair = self._rules.add("member", member, self._rules.width(value))
        return self._rules.add("map", f'"{{" space ({pair} ({_SEPARATOR} {pair})*)? space "}}"', self._widest([pair]))

    def _members(self, members: Schema, required: set[str], place: str) -> str:
        """The members in their order, the optional ones or not. What follows a first member is a rule of its own."""
        pairs: list[str] = []
        for name, schema in members.items():
            value = self.write(schema, f"{place}/properties/{name}")
            width = self._rules.width(value)
            pairs.append(self._rules.add("member", f'{json_literal(name)} space ":" space {value}', width))
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
        # Before a name, as many members are open as may be left out one after the other, with and without a blank.
        width = max(2 * _longest_choice(members, required), self._widest(pairs))
        return self._rules.add("object", f'"{{" space ({" | ".join(starts)}){optional} space "}}"', width)

    def _widest(self, parts: Sequence[str]) -> int:
        """The width of parts that stand one after the other."""
        return max(map(self._rules.width, parts))

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
            inside = f" {_SEPARATOR} ".join(written)
            return self._rules.add("array", f'"[" space {inside} space "]"', self._widest([*written, "space"]))
        value = self.write(items, f"{place}/items")
        item = self._rules.add("item", value, self._rules.width(value))
        following = self._rules.add("following", f"{_SEPARATOR} {item}", self._rules.width(item))
        width = self._widest([*written, item]) + 1
        if written:
            more = self._rules.repeat(following, max(0, least - len(first)), left)
            inside = f"{f' {_SEPARATOR} '.join(written)} {more}"
            return self._rules.add("array", f'"[" space {inside} space "]"', width)
        more = self._rules.repeat(following, max(0, least - 1), None if left is None else left - 1)
        optional = "?" if least == 0 else ""
        return self._rules.add("array", f'"[" space ({item} {more}){optional} space "]"', width)

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
        return self._rules.add("string", f'"\\"" {self._rules.repeat("char", least, most)} "\\""')

    def _number(self, kind: str, words: Schema, place: str) -> str:
        least, most = schema_words.bounds(words, place, whole=kind == "integer")
        if least is None and most is None:
            return kind
        return self._rules.add(kind, (digits.integers if kind == "integer" else digits.numbers)(least, most))


def _types(words: Schema, place: str) -> Sequence[str]:
    if words.get("type") is None:
        return [kind for kind, signs in _SHAPES.items() if any(sign in words for sign in signs)][:1] or ["value"]
    return schema_values.types(words, place)


def _longest_choice(members: Iterable[str], required: set[str]) -> int:
    longest = open_now = 0
    for name in members:
        open_now = 1 if name in required else open_now + 1
        longest = max(longest, open_now)
    return longest + 1
