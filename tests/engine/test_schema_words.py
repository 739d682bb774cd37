"""What a JSON schema says, word by word. Source: JSON Schema, draft 2020-12."""

import pytest

from appliance.engine.schema_words import (
    MAX_COUNT,
    MAX_REFERENCE,
    Inexpressible,
    bounds,
    checked,
    count,
    members,
    merged,
    names,
    resolve,
    schemas,
    string_form,
)


def why(call: object, *arguments: object, **named: object) -> str:
    assert callable(call)
    with pytest.raises(Inexpressible) as caught:
        call(*arguments, **named)
    return str(caught.value)


def free(_: int) -> None:
    """Work without end."""


def test_only_what_constrains_is_kept():
    schema = {"type": "string", "title": "T", "description": "D", "default": "d", "$defs": {}, "x-order": 3}
    assert checked(schema, "#") == {"type": "string"}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("not", {"type": "string"}),
        ("if", {}),
        ("pattern", "^a"),
        ("multipleOf", 3),
        ("uniqueItems", True),
        ("contains", {}),
        ("minProperties", 1),
        ("maxProperties", 1),
        ("patternProperties", {"^a": {}}),
        ("propertyNames", {}),
        ("dependentRequired", {"a": ["b"]}),
        ("dependentSchemas", {}),
        ("dependencies", {}),
        ("additionalItems", {}),
        ("unevaluatedItems", False),
        ("$dynamicRef", "#a"),
    ],
)
def test_words_that_no_grammar_holds_are_named_with_their_place(word: str, value: object):
    assert why(checked, {word: value}, "#/properties/a") == (
        f'#/properties/a uses "{word}", which the engine cannot enforce'
    )


@pytest.mark.parametrize("schema", [{"uniqueItems": False}, {"minProperties": 0}, {"unevaluatedProperties": False}])
def test_words_that_say_nothing_are_no_obstacle(schema: dict[str, object]):
    assert checked(schema, "#") == {}


@pytest.mark.parametrize("schema", [False, 3, "x", None, []])
def test_what_is_no_schema(schema: object):
    assert why(checked, schema, "#").startswith("# ")


DOCUMENT = {"$defs": {"a/b": {"type": "string"}, "m~n": 1, "é": 2, "list": [{"type": "null"}]}}


@pytest.mark.parametrize(
    ("reference", "found"),
    [  # RFC 6901, sections 3 and 6
        ("#", DOCUMENT),
        ("#/$defs/a~1b", {"type": "string"}),
        ("#/$defs/m~0n", 1),
        ("#/$defs/%C3%A9", 2),
        ("#/$defs/list/0", {"type": "null"}),
    ],
)
def test_references(reference: str, found: object):
    assert resolve(DOCUMENT, reference, "#") == found


@pytest.mark.parametrize("reference", ["http://x/y", "other.json#/a", "#name", 3, "#/$defs/none", "#/$defs/list/1"])
def test_references_that_lead_nowhere(reference: object):
    assert "refers to" in why(resolve, DOCUMENT, reference, "#")


@pytest.mark.parametrize("digits", [9, 10, 900])
def test_a_place_in_a_list_that_is_no_number_leads_nowhere(digits: int):
    assert "refers to" in why(resolve, {"a": [{}]}, "#/a/" + "9" * digits, "#")


def test_a_reference_is_short():
    assert '"$ref" of more than' in why(resolve, {"a": [{}]}, "#/a/" + "9" * MAX_REFERENCE, "#")


def test_all_parts_of_an_all_of_count():
    whole = merged(
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "allOf": [
                {"$ref": "#/$defs/b"},
                {"properties": {"a": {"maxLength": 3}}, "required": ["a"], "title": "T"},
                True,
            ],
        },
        {"$defs": {"b": {"properties": {"b": {}}, "required": ["b"]}}},
        "#",
        free,
    )
    assert whole == {
        "type": "object",
        "properties": {"a": {"allOf": [{"type": "string"}, {"maxLength": 3}]}, "b": {}},
        "required": ["b", "a"],
    }


def test_a_reference_with_something_beside_it_is_both():
    part = {"$ref": "#/$defs/s", "minLength": 2}
    assert merged({"allOf": [part]}, {"$defs": {"s": {"type": "string"}}}, "#", free) == {
        "type": "string",
        "minLength": 2,
    }


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ([{"type": "string"}, {"type": "integer"}], 'sets "type" twice'),
        ([{"anyOf": [{}]}, {"anyOf": [True]}], 'sets "anyOf" twice'),
        ([{"properties": {"a": {}}, "additionalProperties": False}, {"properties": {"b": {}}}], "additionalProperties"),
        ([], "not empty"),
        ([False], "allows no value"),
    ],
)
def test_an_all_of_that_cannot_be_one_schema(parts: list[object], sentence: str):
    assert sentence in why(merged, {"allOf": parts}, {}, "#", free)


def test_true_is_not_one():
    assert 'sets "const" twice' in why(merged, {"allOf": [{"const": 1}, {"const": True}]}, {}, "#", free)


def test_what_is_required_is_listed_once():
    document = {"$defs": {"a": {"required": ["x", "y"]}}}
    assert merged({"allOf": [{"$ref": "#/$defs/a"}] * 3}, document, "#", free) == {"required": ["x", "y"]}


def test_a_merger_counts_its_work():
    spent: list[int] = []
    levels = 10
    document = {"$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}}
    document["$defs"][f"d{levels}"] = {"type": "object"}
    merged({"allOf": [{"$ref": "#/$defs/d0"}]}, document, "#", spent.append)
    assert sum(spent) > 2**levels


def test_an_all_of_that_goes_round_in_a_circle():
    document = {"allOf": [{"$ref": "#"}]}
    assert "refers to itself" in why(merged, document, document, "#", free)


@pytest.mark.parametrize(
    ("words", "whole", "expected"),
    [
        ({}, True, (None, None)),
        ({"minimum": 1.5, "maximum": 3.5}, True, (2, 3)),
        ({"minimum": -1.5, "maximum": -0.5}, True, (-1, -1)),
        ({"exclusiveMinimum": 1, "exclusiveMaximum": 4}, True, (2, 3)),
        ({"exclusiveMinimum": 1.5, "exclusiveMaximum": 3.5}, True, (2, 3)),
        ({"minimum": 1, "exclusiveMinimum": 1}, True, (2, None)),
        ({"minimum": 0, "maximum": 1.0}, False, (0, 1)),
        ({"maximum": 2**63 - 1, "minimum": -(2**63)}, True, (None, None)),
        ({"maximum": 1e300}, True, (None, None)),
    ],
)
def test_bounds(words: dict[str, object], whole: bool, expected: tuple[int | None, int | None]):
    assert bounds(words, "#", whole=whole) == expected


@pytest.mark.parametrize(
    ("words", "whole", "sentence"),
    [
        ({"minimum": 2, "maximum": 1}, True, "allows no number"),
        ({"exclusiveMinimum": 1, "exclusiveMaximum": 2}, True, "allows no number"),
        ({"minimum": 10**17}, True, "16 digits"),
        ({"maximum": -(10**17)}, True, "16 digits"),
        ({"minimum": 0.5}, False, '"minimum" of a decimal number to 0.5'),
        ({"exclusiveMaximum": 1}, False, '"exclusiveMaximum" of a decimal number to 1'),
        ({"minimum": "1"}, True, '"minimum" that is not a number'),
        ({"exclusiveMinimum": True}, True, '"exclusiveMinimum" that is not a number'),
    ],
)
def test_bounds_that_cannot_be_held(words: dict[str, object], whole: bool, sentence: str):
    assert sentence in why(bounds, words, "#", whole=whole)


def test_counts():
    assert count({}, "minItems", "#") is None
    assert count({"minItems": 3.0}, "minItems", "#") == 3
    for value in (-1, 1.5, "3", True):
        assert "whole number" in why(count, {"minItems": value}, "minItems", "#")
    assert "more than" in why(count, {"maxLength": MAX_COUNT + 1}, "maxLength", "#")


def test_formats():
    assert string_form({}, "#") == ""
    assert string_form({"format": "date"}, "#")
    assert string_form({"format": "password"}, "#") == ""  # nobody's constraint
    assert '"regex"' in why(string_form, {"format": "regex"}, "#")


def test_words_of_the_wrong_type():
    assert "an object" in why(members, {"properties": []}, "#")
    assert "array of strings" in why(names, {"required": [1]}, "required", "#")
    assert "array of strings" in why(names, {"required": [None]}, "required", "#")
    assert "an array" in why(names, {"required": "a"}, "required", "#")
    assert "not empty" in why(schemas, {"anyOf": []}, "anyOf", "#")
