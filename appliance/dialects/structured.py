"""Whether the text of a structured answer is the JSON that was asked for.

What one schema says about one value, types, limits, patterns, is the library's to judge (PyPI `jsonschema-rs`). The
walk over schema and value is ours, since callers write the schemas and models the values: each pair is judged once,
so that no nest of references takes exponential time, and nothing is fetched. Not judged: `format`, which is a note by
the standard, and `unevaluatedItems` and `unevaluatedProperties`, which no local model is held to.
"""

from collections.abc import Callable, Iterator
from typing import cast

import orjson

from appliance.dialects.chat import Format
from appliance.dialects.jsonbody import MAX_DEPTH, nested_deeper
from appliance.dialects.schema_checks import draft, judge
from appliance.dialects.schemas import Schema, SchemaError, lookup

MAX_STEPS = 100_000
"""Pairs of schema and value that are judged for one answer: about a third of a second."""

_OF_THE_VALUE = frozenset({
    "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "required", "minProperties",
    "maxProperties", "dependentRequired",
})  # fmt: skip
_OF_ALL_OF_IT = frozenset({"enum", "const", "uniqueItems"})
"""The keywords that the library judges, and those of them that look into the value's own parts."""


def check_json(text: str, format: Format) -> str | None:  # noqa: A002  the field's own name
    """What is wrong with the text of a structured answer, going on after "it …"; None if nothing is.

    The sentence quotes nothing of the text.
    """
    try:
        value: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        return "is not JSON"
    if nested_deeper(value, MAX_DEPTH):
        return f"is nested more than {MAX_DEPTH} levels deep"
    if format.schema is None:
        return None if isinstance(value, dict) else "is not a JSON object"
    return check_value(value, format.schema)


def check_value(value: object, schema: Schema) -> str | None:
    """The same for a value that has been read. What a schema says that is not valid itself is passed over."""
    try:
        broken = _Check(schema).broken(schema, value, "#")
    except (_TooMuchError, RecursionError):
        return "is too large or too deep to be checked with its schema"
    return None if broken is None else f"does not fit its schema at {broken!r}"


class _TooMuchError(Exception):
    pass


class _Check:
    """One value against one schema. Methods give the place in the schema that is broken first, or None."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._draft = draft(root)
        # Until draft-07 nothing else counted beside a reference.
        self._alone = self._draft.startswith("http:")
        self._judged: dict[tuple[int, int], str | None] = {}
        self._judges: dict[int, Judge] = {}
        self._patterns: dict[str, Schema] = {}

    def broken(self, schema: object, value: object, at: str) -> str | None:
        if not isinstance(schema, dict):
            return at if schema is False else None
        pair = (id(cast("object", schema)), id(value))
        if pair not in self._judged:
            if len(self._judged) >= MAX_STEPS:
                raise _TooMuchError
            # A schema that refers to itself without going into the value says nothing by that.
            self._judged[pair] = None
            self._judged[pair] = next(self._problems(cast("dict[str, object]", schema), value, at), None)
        return self._judged[pair]

    def _problems(self, schema: Schema, value: object, at: str) -> Iterator[str]:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            problem = self._referred(reference, value)
            if problem is not None:
                yield problem
            if self._alone:
                return
        keyword = self._judge(schema)(value)
        if keyword is not None:
            yield f"{at}/{keyword}"
        places = (self._here(schema, value, at), self._object(schema, value, at), self._list(schema, value, at))
        yield from (problem for place in places for problem in place if problem is not None)

    def _judge(self, schema: Schema) -> "Judge":
        judge = self._judges.get(id(schema))
        if judge is None:
            judge = self._judges[id(schema)] = _judge_of(schema, self._draft)
        return judge

    def _here(self, schema: Schema, value: object, at: str) -> Iterator[str | None]:
        """The schemas that speak about the same value."""
        for i, one in enumerate(_list(schema, "allOf")):
            yield self.broken(one, value, f"{at}/allOf/{i}")
        if "anyOf" in schema and not any(self._fitting(schema, "anyOf", value, at)):
            yield f"{at}/anyOf"
        if "oneOf" in schema and sum(self._fitting(schema, "oneOf", value, at)) != 1:
            yield f"{at}/oneOf"
        if "not" in schema and self.broken(schema["not"], value, f"{at}/not") is None:
            yield f"{at}/not"
        if "if" in schema:
            branch = "then" if self.broken(schema["if"], value, f"{at}/if") is None else "else"
            yield self.broken(schema.get(branch), value, f"{at}/{branch}")

    def _fitting(self, schema: Schema, keyword: str, value: object, at: str) -> Iterator[bool]:
        for i, one in enumerate(_list(schema, keyword)):
            yield self.broken(one, value, f"{at}/{keyword}/{i}") is None

    def _referred(self, reference: str, value: object) -> str | None:
        try:
            return self.broken(lookup(self._root, reference), value, reference)
        except SchemaError:
            return None

    def _object(self, schema: Schema, value: object, at: str) -> Iterator[str | None]:
        if not isinstance(value, dict):
            return
        fields = cast("dict[str, object]", value)
        named, patterned = _dict(schema, "properties"), _dict(schema, "patternProperties")
        for name, field in fields.items():
            places = [("properties", name)] if name in named else []
            places += [("patternProperties", one) for one in patterned if self._matches(one, name)]
            for keyword, key in places:
                one = named[key] if keyword == "properties" else patterned[key]
                yield self.broken(one, field, _below(at, keyword, key))
            if not places:
                yield self.broken(schema.get("additionalProperties"), field, f"{at}/additionalProperties")
            yield self.broken(schema.get("propertyNames"), name, f"{at}/propertyNames")
        for keyword in ("dependentSchemas", "dependencies"):
            for name, needed in _dict(schema, keyword).items():
                if name in fields:
                    yield self._dependency(needed, fields, _below(at, keyword, name))

    def _dependency(self, needed: object, fields: dict[str, object], at: str) -> str | None:
        if isinstance(needed, list):
            return None if all(name in fields for name in cast("list[object]", needed)) else at
        return self.broken(needed, fields, at)

    def _list(self, schema: Schema, value: object, at: str) -> Iterator[str | None]:
        if not isinstance(value, list):
            return
        items = cast("list[object]", value)
        older = isinstance(schema.get("items"), list)
        first, others = ("items", "additionalItems") if older else ("prefixItems", "items")
        leading = _list(schema, first)
        for i, item in enumerate(items):
            if i < len(leading):
                yield self.broken(leading[i], item, f"{at}/{first}/{i}")
            else:
                yield self.broken(schema.get(others), item, f"{at}/{others}")
        if "contains" in schema:
            count = sum(self.broken(schema["contains"], item, f"{at}/contains") is None for item in items)
            if not _limit(schema, "minContains", 1) <= count <= _limit(schema, "maxContains", len(items)):
                yield f"{at}/contains"

    def _matches(self, pattern: str, name: str) -> bool:
        schema = self._patterns.setdefault(pattern, {"pattern": pattern})
        return self._judge(schema)(name) is None


Judge = Callable[[object], str | None]
"""Gives the keyword of one schema, about a value as a whole, that the value breaks."""


def _judge_of(schema: Schema, draft_url: str) -> Judge:
    ours = {name: value for name, value in schema.items() if name in _OF_THE_VALUE}
    if not ours:
        return lambda _: None
    try:
        validator = judge(ours, draft_url)
    except ValueError:
        return lambda _: None
    shorten = _whole if ours.keys() & _OF_ALL_OF_IT else _shallow

    def broken(value: object) -> str | None:
        error = next(validator.iter_errors(shorten(value)), None)
        return None if error is None else str(error.schema_path[0])

    return broken


def _whole(value: object) -> object:
    return value


def _shallow(value: object) -> object:
    """The value without what is inside it: the library need not read a whole answer at each of its levels."""
    if isinstance(value, dict):
        return dict.fromkeys(cast("dict[str, object]", value))
    return [None] * len(cast("list[object]", value)) if isinstance(value, list) else value


def _below(at: str, keyword: str, name: str) -> str:
    return f"{at}/{keyword}/" + name.replace("~", "~0").replace("/", "~1")


def _list(schema: Schema, name: str) -> list[object]:
    value = schema.get(name)
    return cast("list[object]", value) if isinstance(value, list) else []


def _dict(schema: Schema, name: str) -> dict[str, object]:
    value = schema.get(name)
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _limit(schema: Schema, name: str, otherwise: int) -> int:
    value = schema.get(name)
    return value if isinstance(value, int) else otherwise
