"""Schemas as data. Sources: JSON Schema 2020-12 and draft-07; RFC 6901 (its examples of §5 and §6)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.schemas import MAX_DEPTH, Allowance, SchemaError, inline, inside, lookup

POINTED: dict[str, object] = {
    "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, 'k"l': 6, " ": 7, "m~n": 8,
}  # fmt: skip
"""The document of RFC 6901 §5."""


def inlined(schema: dict[str, object], characters: int = 100_000) -> dict[str, object]:
    return inline(schema, Allowance(characters))


def refused(schema: dict[str, object], characters: int = 100_000) -> str:
    with pytest.raises(SchemaError) as error:
        inlined(schema, characters)
    return str(error.value)


class TestLookup:
    @pytest.mark.parametrize(
        ("reference", "value"),
        [
            # RFC 6901 §6, as URI fragments.
            ("#", POINTED), ("#/foo", ["bar", "baz"]), ("#/foo/0", "bar"), ("#/", 0), ("#/a~1b", 1), ("#/c%25d", 2),
            ("#/e%5Ef", 3), ("#/g%7Ch", 4), ("#/i%5Cj", 5), ("#/k%22l", 6), ("#/%20", 7), ("#/m~0n", 8),
        ],
    )  # fmt: skip
    def test_the_examples_of_the_standard(self, reference: str, value: object):
        assert lookup(POINTED, reference) == value

    @pytest.mark.parametrize("reference", ["#/nope", "#/foo/2", "#/foo/-1", "#/foo/x", "#/foo/0/x", "#/foo/1000000000"])
    def test_a_part_that_is_not_there(self, reference: str):
        with pytest.raises(SchemaError, match="does not have"):
            lookup(POINTED, reference)

    @pytest.mark.parametrize(
        "reference", ["", "foo", "#foo", "http://127.0.0.1/s", "https://x/s#/a", "file:///etc/passwd", "other.json"]
    )
    def test_nothing_outside_is_looked_up(self, reference: str):
        with pytest.raises(SchemaError, match="outside itself"):
            lookup(POINTED, reference)


def test_where_schemas_stand():
    schema = {
        "properties": {"a": 1, "b": 2},
        "allOf": [3, 4],
        "items": 5,
        "not": 6,
        "dependentSchemas": {"c": 7},
        "enum": [{"properties": "is data"}],
        "const": {"items": "is data"},
        "default": {},
    }
    assert list(inside(schema)) == [1, 2, 3, 4, 5, 6, 7]
    assert list(inside({"items": [1, 2]})) == [1, 2]


class TestInline:
    def test_references_become_what_they_mean(self):
        schema: dict[str, object] = {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/city"}, "b": {"type": "array", "items": {"$ref": "#/$defs/city"}}},
            "anyOf": [{"$ref": "#/definitions/old"}],
            "$defs": {"city": {"type": "string", "minLength": 1}},
            "definitions": {"old": {"required": ["a"]}},
        }
        city = {"type": "string", "minLength": 1}
        assert inlined(schema) == {
            "type": "object",
            "properties": {"a": city, "b": {"type": "array", "items": city}},
            "anyOf": [{"required": ["a"]}],
        }
        assert list(inlined(schema)) == ["type", "properties", "anyOf"]

    def test_references_of_references(self):
        schema: dict[str, object] = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "null"}}}
        assert inlined(schema) == {"type": "null"}

    def test_what_is_said_beside_a_reference_wins(self):
        defs = {"a": {"type": "string", "description": "any"}}
        schema: dict[str, object] = {"$ref": "#/$defs/a", "description": "a city", "$defs": defs}
        assert inlined(schema) == {"type": "string", "description": "a city"}

    def test_names_and_data_that_look_like_references_are_left(self):
        schema: dict[str, object] = {
            "properties": {"$ref": {"type": "string"}, "$defs": {"type": "null"}},
            "const": {"$ref": "#/nope"},
            "enum": [{"$ref": "#/nope"}],
        }
        assert inlined(schema) == schema

    @pytest.mark.parametrize("reference", ["#", "#/$defs/node"])
    def test_a_schema_that_contains_itself_is_cut(self, reference: str):
        node = {
            "type": "object",
            "description": "A node.",
            "properties": {"name": {"type": "string"}, "below": {"type": "array", "items": {"$ref": reference}}},
        }
        schema = {**node, "$defs": {"node": node}}
        out = inlined(schema)
        cut = {"type": "object", "description": "A node."}
        below = out["properties"]["below"]["items"]  # type: ignore[index]
        assert below == cut or below["properties"]["below"]["items"] == cut
        assert "$ref" not in str(out)

    @pytest.mark.parametrize("schema", [{"$ref": "#"}, {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}])
    def test_a_reference_to_nothing_but_itself(self, schema: dict[str, object]):
        assert inlined(schema) == {}

    @pytest.mark.parametrize("value", [True, False, 5, "x", None, []])
    def test_what_is_no_schema_is_left(self, value: object):
        assert inlined({"properties": {"a": value}, "items": value}) == {"properties": {"a": value}, "items": value}
        assert inlined({"$ref": "#/$defs/a", "$defs": {"a": value}}) == {}

    def test_a_reference_that_means_nothing_is_an_error(self):
        assert "does not have" in refused({"$ref": "#/$defs/a"})
        assert "outside itself" in refused({"items": {"$ref": "https://example.com/s"}})

    def test_references_that_double_are_bounded(self):
        """2**40 schemas from forty small ones."""
        defs: dict[str, object] = {
            f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}, {"$ref": f"#/$defs/a{i + 1}"}]} for i in range(40)
        }
        assert "too long" in refused({"$ref": "#/$defs/a0", "$defs": {**defs, "a40": {"type": "null"}}})

    def test_a_long_text_counts_each_time_it_is_used(self):
        defs = {"a": {"description": "x" * 1000}}
        schema: dict[str, object] = {"properties": {f"p{i}": {"$ref": "#/$defs/a"} for i in range(50)}, "$defs": defs}
        assert inlined(schema)
        assert "too long" in refused(schema, 50_000)
        assert "too long" in refused({"enum": ["x" * 1000]}, 1000)

    def test_depth_is_bounded(self):
        defs: dict[str, object] = {f"a{i}": {"items": {"$ref": f"#/$defs/a{i + 1}"}} for i in range(MAX_DEPTH)}
        assert "too deeply" in refused({"$ref": "#/$defs/a0", "$defs": {**defs, f"a{MAX_DEPTH}": {}}})

    def test_what_comes_out_can_be_written(self):
        """A chain of references with deep data at its end: each is allowed alone."""
        deep: object = 1
        for _ in range(150):
            deep = [deep]
        defs: dict[str, object] = {f"a{i}": {"properties": {"x": {"$ref": f"#/$defs/a{i + 1}"}}} for i in range(40)}
        assert "too deeply" in refused({"$ref": "#/$defs/a0", "$defs": {**defs, "a40": {"const": deep}}})

    @given(
        st.recursive(
            st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/nope"]).map(lambda one: {"$ref": one}),
            lambda inner: (
                st.dictionaries(st.sampled_from(["items", "not"]), inner)
                | st.lists(inner, max_size=3).map(lambda some: {"anyOf": some})
                | st.dictionaries(st.sampled_from(["p", "q"]), inner).map(lambda some: {"properties": some})
            ),
            max_leaves=8,
        ),
        st.data(),
    )
    def test_any_references_end(self, schema: dict[str, object], data: st.DataObject):
        schema = {**schema, "$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#"}}}}
        try:
            out = inlined(schema)
        except SchemaError:
            return
        assert "$ref" not in str(out)
