"""What Anthropic's Messages API refuses of a JSON schema: of a tool's input, and, far stricter, of an answer's format.

Sources: Anthropic's documentation ("Structured outputs", "JSON Schema limitations"); PyPI `anthropic` 2.14.0,
`lib/_parse/_transform.py`, which takes out of a schema whatever the API would refuse; anthropics/claude-code 40075.
"""

import re
from typing import Any

import jsonschema_rs

_PROPERTY = re.compile(r"^[a-zA-Z0-9_.-]{1,64}$")

_KEPT = {"type", "enum", "const", "anyOf", "allOf", "$ref", "$defs", "description", "title"}
_KEPT_OF = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems"},
    "string": {"format"},
}
_FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]


def check_input_schema(schema: dict[str, Any]) -> str | None:
    if schema.get("type") != "object":
        return "type: Input should be 'object'"
    if schema.keys() & {"oneOf", "allOf", "anyOf"}:
        return "input_schema does not support oneOf, allOf, or anyOf at the top level"
    if not jsonschema_rs.meta.is_valid(schema):
        return "JSON schema is invalid. It must match JSON Schema draft 2020-12"
    if any(not _PROPERTY.match(name) for name in schema.get("properties", {})):
        return f"properties: Property keys should match pattern '{_PROPERTY.pattern}'"
    return None


def check_format(schema: Any) -> str | None:
    return _check(schema, schema, ())


def _check(schema: Any, root: Any, references: tuple[str, ...]) -> str | None:
    if not isinstance(schema, dict):
        return "Input should be a valid dictionary"
    if "$ref" in schema:
        return _check_reference(schema["$ref"], root, references)
    kind = schema.get("type", "")
    unknown = schema.keys() - _KEPT - (_KEPT_OF.get(kind, set()) if isinstance(kind, str) else set())
    if unknown:
        return f"For '{kind}' type, property '{min(unknown)}' is not supported"
    if not schema.keys() & {"type", "enum", "const", "anyOf", "allOf"}:
        return "Schema type is missing"
    if any(isinstance(value, list | dict) for value in [*schema.get("enum", []), schema.get("const")]):
        return "Enum value is not a primitive"
    wrong = _check_type(schema)
    if wrong:
        return wrong
    inside = [
        *schema.get("properties", {}).values(),
        *schema.get("anyOf", []),
        *schema.get("allOf", []),
        *([schema["items"]] if "items" in schema else []),
    ]
    return next((found for each in inside if (found := _check(each, root, references))), None)


def _check_type(schema: dict[str, Any]) -> str | None:
    kind = schema.get("type")
    if kind == "object" and schema.get("additionalProperties") is not False:
        return "For 'object' type, 'additionalProperties' must be explicitly set to false"
    if kind == "array" and schema.get("minItems", 0) not in (0, 1):
        return "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
    if kind == "string" and schema.get("format", _FORMATS[0]) not in _FORMATS:
        return f"For 'string' type, format '{schema['format']}' is not supported"
    return None


def _check_reference(reference: str, root: dict[str, Any], references: tuple[str, ...]) -> str | None:
    name = reference.removeprefix("#/$defs/")
    if name not in root.get("$defs", {}):
        return f"Reference '{reference}' is not supported"
    if name in references:
        return "Circular references are not supported"
    return _check(root["$defs"][name], root, (*references, name))
