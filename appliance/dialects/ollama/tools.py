"""Tools as Ollama reads them, with what it would drop said in the descriptions.

Ollama reads every definition into types of its own before the model sees it: of a schema's keywords it keeps `type`,
`items`, `description`, `enum`, `properties`, `required` and `anyOf`, and of the outermost schema only `type`, `items`,
`properties` and `required`; a value of another type than it expects is an error. So references are resolved here, what
has the same meaning is put into these words, and limits go where the model can read them.
Source: dialects.md §2; Ollama 0.33, `api/types.go`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import orjson

from appliance.dialects.chat import DialectError, Tool
from appliance.dialects.schemas import Allowance, Schema, SchemaError, inline

MAX_CHARACTERS = 500_000
"""Of all definitions of one call, references resolved: over a hundred thousand tokens, more than most local models
read, and a tenth of a second to write."""

_LIMITS = (
    "default", "format", "pattern", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf",
    "minLength", "maxLength", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "oneOf", "not",
    "if", "then", "else", "prefixItems", "contains", "minContains", "maxContains", "patternProperties",
    "additionalProperties", "propertyNames", "dependentRequired", "dependentSchemas",
)  # fmt: skip
_LIMITS_OUTSIDE = ("anyOf", "enum", "const", *_LIMITS)
"""The keywords that are said in a description, of a property and of the parameters as a whole."""

_SAYS_NOTHING: dict[str, tuple[object, ...]] = {
    "additionalProperties": (True, False, {}),
    "propertyNames": (True, {}, {"type": "string"}),
}
"""Values that are not worth a word to a model: writers of schemas add them everywhere."""


def definitions(tools: Iterable[Tool]) -> list[dict[str, object]]:
    """The `tools` of a body. Raises DialectError naming the tool whose schema cannot be written."""
    allowance = Allowance(MAX_CHARACTERS)
    return [_definition(tool, inlined(tool, allowance)) for tool in tools]


def inlined(tool: Tool, allowance: Allowance) -> dict[str, object]:
    """The schema of a tool's arguments without references. Raises DialectError naming the tool."""
    try:
        return inline(tool.parameters or {}, allowance)
    except SchemaError as error:
        raise DialectError(f"`tools`: the schema of the tool {tool.name!r} {error}.", "tools") from None


def _definition(tool: Tool, schema: Schema) -> dict[str, object]:
    schema = _merged(schema)
    function: dict[str, object] = {"name": tool.name}
    own = schema.get("description")
    texts = [tool.description or "", own if isinstance(own, str) and own != tool.description else ""]
    description = _described(" ".join(text for text in texts if text), schema, _LIMITS_OUTSIDE)
    if description:
        function["description"] = description
    parameters: dict[str, object] = {"type": "object", "properties": _properties(schema) or {}}
    required = _strings(schema.get("required"))
    if required:
        parameters["required"] = required
    function["parameters"] = parameters
    return {"type": "function", "function": function}


def _property(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        return {}
    schema = _merged(cast("dict[str, object]", value))
    own = schema.get("description")
    alternatives = "anyOf" if "anyOf" in schema else "oneOf"
    limits = [name for name in _LIMITS if name != alternatives]
    out: dict[str, object] = {
        "type": _type(schema.get("type")),
        "description": _described(own if isinstance(own, str) else "", schema, limits),
        "enum": [schema["const"]] if "const" in schema else _items(schema, "enum"),
        "items": schema.get("items"),
        "properties": _properties(schema),
        "required": _strings(schema.get("required")),
        "anyOf": [_property(one) for one in _items(schema, alternatives)],
    }
    return {name: kept for name, kept in out.items() if kept not in (None, "", [])}


def _properties(schema: Schema) -> dict[str, object] | None:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return None
    return {name: _property(one) for name, one in cast("dict[str, object]", properties).items()}


def _merged(schema: Schema) -> Schema:
    """The schema with `allOf` taken apart: its parts' properties and required names together, else the first word."""
    parts = [cast("dict[str, object]", part) for part in _items(schema, "allOf") if isinstance(part, dict)]
    if not parts:
        return schema
    merged: dict[str, object] = {}
    properties: dict[str, object] = {}
    required: dict[str, object] = {}
    for one in [{name: value for name, value in schema.items() if name != "allOf"}, *map(_merged, parts)]:
        _fill(merged, one)
        theirs = one.get("properties")
        _fill(properties, cast("dict[str, object]", theirs) if isinstance(theirs, dict) else {})
        _fill(required, dict.fromkeys(_strings(one.get("required"))))
    together = {"properties": properties, "required": list(required)}
    return merged | {name: value for name, value in together.items() if value}


def _fill(into: dict[str, object], more: Mapping[str, object]) -> None:
    for name, value in more.items():
        into.setdefault(name, value)


def _described(text: str, schema: Schema, limits: Sequence[str]) -> str:
    said = [f"{name}: {orjson.dumps(schema[name]).decode()}" for name in limits if _says_something(schema, name)]
    return f"{text} ({'; '.join(said)})".strip() if said else text


def _says_something(schema: Mapping[str, object], name: str) -> bool:
    return name in schema and schema[name] not in _SAYS_NOTHING.get(name, ())


def _type(value: object) -> object:
    """A name or several; anything else is an error to Ollama."""
    return value if isinstance(value, str) else _strings(value)


def _strings(value: object) -> list[str]:
    return [one for one in cast("list[object]", value) if isinstance(one, str)] if isinstance(value, list) else []


def _items(schema: Schema, name: str) -> list[object]:
    value = schema.get(name)
    return cast("list[object]", value) if isinstance(value, list) else []
