"""Typed reading: JSON's types are apart (RFC 8259), a boolean is not a number, and an error names field and type."""

import pytest

from appliance.dialects.chat import DialectError
from appliance.dialects.fields import Fields, as_fields


@pytest.mark.parametrize("values", [{}, {"x": None}])
def test_missing_and_null_are_the_same(values: dict[str, object]):
    fields = Fields(values)
    assert fields.get("x") is None
    assert fields.text("x") is None
    assert fields.flag("x") is False
    assert fields.integer("x", 0, 1) is None
    assert fields.number("x", 0, 1) is None
    assert fields.items("x") is None
    assert fields.nested("x") is None


def test_values_of_the_right_type():
    fields = Fields({"s": "", "t": True, "f": False, "i": 0, "n": 1, "d": 0.5, "l": [], "o": {"k": "v"}})
    assert fields.text("s") == ""
    assert fields.flag("t") is True
    assert fields.flag("f") is False
    assert fields.integer("i", 0, 0) == 0
    assert fields.number("n", 0, 1) == 1.0
    assert isinstance(fields.number("n", 0, 1), float)
    assert fields.number("d", 0, 1) == 0.5
    assert fields.items("l") == []
    nested = fields.nested("o")
    assert nested is not None
    assert (nested.text("k"), nested.param("k")) == ("v", "o.k")


@pytest.mark.parametrize(
    ("read", "wrong", "expected"),
    [
        (lambda fields: fields.text("x"), [1, 0, True, False, [], {}, 1.5], "a string"),
        (lambda fields: fields.flag("x"), [1, 0, "true", "", [], {}], "a boolean"),
        (lambda fields: fields.integer("x", -5, 5), [True, False, "1", 1.5, [], {}], "an integer"),
        (lambda fields: fields.integer("x", -5, 5), [6, -6, 2**64], "an integer between -5 and 5"),
        (lambda fields: fields.number("x", 0, 2), [True, "1", [], {}, 2.1, -0.1, 3], "a number between 0 and 2"),
        (lambda fields: fields.items("x"), ["a", "", 0, False, {}], "a list"),
        (lambda fields: fields.nested("x"), ["a", "", 0, False, []], "an object"),
    ],
)
def test_wrong_types(read, wrong: list[object], expected: str):
    for value in wrong:
        with pytest.raises(DialectError) as refused:
            read(Fields({"x": value}, "messages[3]"))
        assert refused.value.message == f"`messages[3].x` must be {expected}."
        assert refused.value.param == "messages[3].x"


def test_as_fields_names_the_place():
    with pytest.raises(DialectError) as refused:
        as_fields("hello", "messages[0]")
    assert refused.value.message == "`messages[0]` must be an object."
    assert as_fields({"a": 1}, "messages[0]") == Fields({"a": 1}, "messages[0]")
