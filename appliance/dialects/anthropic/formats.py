"""Which schemas of an answer Anthropic's `output_config.format` can say as they are.

The API compiles a schema into a grammar and refuses what it cannot compile, instead of reading over it. A schema is
sent word by word or not at all: rewritten, it would ask for something else than the caller did.
Source: Anthropic's documentation ("Structured outputs") and what its SDK keeps of a schema (PyPI `anthropic` 2.14.0,
`lib/_parse/_transform.py`).
"""

from graphlib import CycleError, TopologicalSorter
from typing import cast

from appliance.dialects.schemas import MAX_DEPTH, Schema

_ALWAYS = frozenset({"type", "enum", "const", "anyOf", "allOf", "$ref", "$defs", "title", "description"})

_SAYING = _ALWAYS - {"$defs", "title", "description"}
"""Without any of these it is a schema of any value, which a grammar cannot end."""

_BY_TYPE: dict[str, frozenset[str]] = {
    "object": frozenset({"properties", "required", "additionalProperties"}),
    "array": frozenset({"items", "minItems"}),
    "string": frozenset({"format"}),
}

_STRING_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)


def can_say(schema: Schema) -> bool:
    """Whether the API's grammar can hold an answer to the whole of this schema."""
    return _fits(schema, 0) and _is_finite(schema)


def _fits(value: object, depth: int) -> bool:
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return False
    schema = cast("dict[str, object]", value)
    types = _listed(schema.get("type"))
    own = _BY_TYPE.get(str(types[0]), frozenset[str]()) if len(types) == 1 else frozenset[str]()
    return (
        bool(_SAYING & schema.keys())
        and schema.keys() <= _ALWAYS | own
        and all(isinstance(each, str) for each in types)
        and (len(types) < 2 or not {"object", "array"} & {*types})
        and _fits_in_detail(schema)
        and all(_fits(each, depth + 1) for each in _inside(schema))
    )


def _fits_in_detail(schema: Schema) -> bool:
    kind = schema.get("type")
    if kind == "object" and not (schema.get("additionalProperties") is False and "properties" in schema):
        return False  # one that may hold anything
    if kind == "array" and ("items" not in schema or schema.get("minItems", 0) not in (0, 1)):
        return False
    values = [*_listed(schema.get("enum")), schema.get("const")]
    named = schema.get("format")
    return not any(isinstance(each, dict | list) for each in values) and (
        named is None or (isinstance(named, str) and named in _STRING_FORMATS)
    )


def _listed(value: object) -> list[object]:
    """The items of a list, or the one value."""
    return cast("list[object]", value) if isinstance(value, list) else [value] if value is not None else []


def _inside(schema: Schema) -> list[object]:
    """The schemas in a schema, and None for whatever stands where some have to."""
    found: list[object] = [schema["items"]] if "items" in schema else []
    for name in ("anyOf", "allOf"):
        listed = schema.get(name, [])
        found += cast("list[object]", listed) if isinstance(listed, list) else [None]
    for name in ("properties", "$defs"):
        named = schema.get(name, {})
        found += cast("dict[str, object]", named).values() if isinstance(named, dict) else [None]
    return found


def _is_finite(root: Schema) -> bool:
    """Whether all references are to definitions that do not come back to themselves."""
    named = root.get("$defs", {})
    definitions = cast("dict[str, object]", named) if isinstance(named, dict) else {}
    uses = {name: _references(definition) for name, definition in definitions.items()}
    if any(not names <= definitions.keys() for names in (_references(root), *uses.values())):
        return False
    try:
        TopologicalSorter(uses).prepare()
    except CycleError:
        return False
    return True


def _references(value: object) -> set[str]:
    """The names of the definitions that a schema refers to; a reference to anything else by the whole of it."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        schema = waiting.pop()
        if isinstance(schema, dict):
            fields = cast("dict[str, object]", schema)
            if "$ref" in fields:
                found.add(str(fields["$ref"]).removeprefix("#/$defs/"))
            waiting += _inside(fields)
    return found
