"""The `format` of a request, as a grammar that the answer has to follow. Pure.

Source: Ollama 0.32, whose sentence and status (500) a wrong `format` gets. A schema that no grammar can hold is
refused with 400, which names the word: a build of llama.cpp with LLGuidance, such as xllamacpp's wheels, would ignore
the whole schema instead and say so in its log only, and Ollama ignores single words.
"""

import json
from typing import cast

import orjson

from appliance.engine.gbnf import PRETTY_SPACE, Grammar, Rules, json_grammar
from appliance.engine.refusal import Refused
from appliance.engine.schema_words import Inexpressible
from appliance.engine.schemas import SchemaWriter


def grammar_of(form: object) -> Grammar | None:
    """The grammar for `format`, `None` where there is none. Raises Refused (400, 500)."""
    if form is None or form == "":
        return None
    if form == "json":
        return json_grammar()
    if not isinstance(form, dict):
        # Ollama quotes the JSON text of the value, as Go's %q does.
        quoted = json.dumps(orjson.dumps(form).decode(), ensure_ascii=False)
        raise Refused(500, f'invalid format: {quoted}; expected "json" or a valid JSON Schema object')
    schema = cast("dict[str, object]", form)
    rules = Rules(PRETTY_SPACE)
    try:
        root = SchemaWriter(rules, schema).write(schema)
    except Inexpressible as error:
        raise Refused(400, f"the schema in format cannot be honoured: {error}") from None
    # A schema that says nothing means an object here, as it does for llama.cpp's converter.
    return rules.grammar("object" if root == "value" else root)
