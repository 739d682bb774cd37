"""Whether a JSON schema is one, and small and plain enough that answers can be checked with it.

Callers write them: nothing that a schema names is fetched, and what would take long to read is refused.
"""

from collections.abc import Iterable
from typing import cast

import jsonschema_rs

from appliance.dialects.schemas import Schema, SchemaError, inside, lookup

MAX_SCHEMAS = 10_000
"""Schemas inside one; OpenAI allows 5,000 properties."""

MAX_PATTERNS = 100
"""Regular expressions in one schema: each may take a millisecond to compile."""

_PATTERN_OPTIONS = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000, size_limit=1_000_000)
"""Steps back, and bytes once compiled: with more, a pattern counts as one that does not match, or as too large."""

_DRAFT = "https://json-schema.org/draft/2020-12/schema"

_DRAFTS = {
    url: jsonschema_rs.validator_for({"$schema": url, "$ref": url}, offline=True, validate_formats=True)
    for url in (
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        _DRAFT,
    )
}
"""What judges a schema of each draft. A schema that names another one is read as 2020-12; its URL is not followed."""


def schema_error(schema: Schema) -> str | None:
    """What is wrong with a schema, going on after "it …"; None where answers can be checked with it."""
    try:
        _check_extent(schema)
    except SchemaError as error:
        return str(error)
    except ValueError:
        return "has a pattern that is not valid, or too large"
    wrong = next(_DRAFTS[draft(schema)].iter_errors(schema), None)
    return None if wrong is None else f"is not a valid JSON schema, at {_pointer(wrong.instance_path)!r}"


def judge(schema: Schema, draft_url: str) -> jsonschema_rs.Validator:
    """The library's validator for a schema of that draft. Raises ValueError for one that is not valid."""
    return jsonschema_rs.validator_for({**schema, "$schema": draft_url}, offline=True, pattern_options=_PATTERN_OPTIONS)


def _check_extent(root: Schema) -> None:
    schemas, patterns = 0, 0
    waiting: list[object] = [root]
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict):
            continue
        fields = cast("dict[str, object]", schema)
        schemas += 1
        found = _patterns(fields)
        patterns += len(found)
        if schemas > MAX_SCHEMAS or patterns > MAX_PATTERNS:
            raise SchemaError(f"has more than {MAX_SCHEMAS} schemas or {MAX_PATTERNS} patterns in it")
        _check_plain(root, fields)
        for pattern in found:
            judge({"pattern": pattern}, _DRAFT)
        waiting.extend(inside(fields))


def _patterns(schema: Schema) -> list[str]:
    own, of_names = schema.get("pattern"), schema.get("patternProperties")
    return [
        *([own] if isinstance(own, str) else []),
        *(cast("dict[str, object]", of_names) if isinstance(of_names, dict) else []),
    ]


def _check_plain(root: Schema, schema: Schema) -> None:
    if "$dynamicRef" in schema or "$recursiveRef" in schema:
        raise SchemaError("has a reference that is not a plain `$ref`")
    reference = schema.get("$ref")
    if isinstance(reference, str):
        lookup(root, reference)


def draft(schema: Schema) -> str:
    """The URL of the draft that a schema is read as: the one that it names, if we know it."""
    named = schema.get("$schema")
    return named if isinstance(named, str) and named in _DRAFTS else _DRAFT


def _pointer(path: Iterable[str | int]) -> str:
    return "/".join(["#", *(str(step).replace("~", "~0").replace("/", "~1") for step in path)])
