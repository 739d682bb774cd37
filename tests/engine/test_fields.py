"""The JSON object of a request. Source: recordings 35 to 37, and Go's JSON for wrong types."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.engine.fields import Fields, read_object
from appliance.engine.refusal import Refused


def refusal(body: bytes) -> str:
    with pytest.raises(Refused) as caught:
        read_object(body, "ChatRequest")
    assert caught.value.status == 400
    return caught.value.message


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "missing request body"),
        (b" \n", "missing request body"),
        (b'{"model":', "unexpected EOF"),
        (b"[]", "json: cannot unmarshal array into Go value of type api.ChatRequest"),
        (b"3", "json: cannot unmarshal number into Go value of type api.ChatRequest"),
        (b'"x"', "json: cannot unmarshal string into Go value of type api.ChatRequest"),
        (b"true", "json: cannot unmarshal bool into Go value of type api.ChatRequest"),
    ],
)
def test_what_is_no_object(body: bytes, sentence: str):
    assert refusal(body) == sentence


@pytest.mark.parametrize("levels", [255, 500, 1000])
def test_what_is_nested_deeper_than_it_could_be_passed_on_is_refused(levels: int):
    body = b'{"format":' * levels + b"1" + b"}" * levels
    assert refusal(body) == "invalid JSON: it is nested too deeply"


@pytest.mark.parametrize("body", [b'{"model" 1}', b'{"a":"\xff"}', b"[" * 5000, b'{"a": 1e999}'])
def test_bad_json_is_not_repeated_to_the_caller(body: bytes):
    sentence = refusal(body)
    assert sentence.startswith("invalid JSON: ")
    assert len(sentence) < 120


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(body: bytes):
    with contextlib.suppress(Refused):
        read_object(body, "X")


FULL = {
    "text": "t",
    "yes": True,
    "number": 3,
    "map": {"a": 1},
    "list": [1, "a"],
    "numbers": [1, 2],
    "inner": {"text": "i"},
    "inners": [{"text": "1"}, {"text": "2"}],
    "model": "m",
}


def test_what_is_there():
    fields = read_object(json.dumps(FULL).encode(), "X")
    assert fields.value("list") == [1, "a"]
    assert fields.text("text") == "t"
    assert fields.boolean("yes", default=False)
    assert fields.integer("number") == 3
    assert fields.mapping("map") == {"a": 1}
    assert fields.array("list") == [1, "a"]
    assert fields.integers("numbers") == [1, 2]
    assert fields.inner("inner").text("text") == "i"
    assert [each.text("text") for each in fields.objects("inners")] == ["1", "2"]
    assert fields.model() == "m"


@pytest.mark.parametrize("body", [b"{}", b"null", json.dumps(dict.fromkeys(FULL)).encode()])
def test_null_is_absent(body: bytes):
    fields = read_object(body, "X")
    assert fields.value("text") is None
    assert fields.text("text") == ""
    assert fields.boolean("yes", default=True)
    assert fields.integer("number") == 0
    assert fields.mapping("map") == {}
    assert fields.array("list") == fields.integers("numbers") == fields.objects("inners") == []
    assert fields.inner("inner").text("text") == ""
    with pytest.raises(Refused, match="model is required"):
        fields.model()


@pytest.mark.parametrize(
    ("read", "value", "sentence"),
    [
        ("text", 3, "number into Go struct field X.a of type string"),
        ("integer", "3", "string into Go struct field X.a of type int"),
        ("integer", True, "bool into Go struct field X.a of type int"),
        ("integer", 1.5, "number into Go struct field X.a of type int"),
        ("mapping", [], "array into Go struct field X.a of type map[string]interface {}"),
        ("array", {}, "object into Go struct field X.a of type array"),
        ("integers", [1, "2"], "string into Go struct field X.a of type int"),
        ("inner", "x", "string into Go struct field X.a of type map[string]interface {}"),
        ("objects", [1], "number into Go struct field X.a of type object"),
    ],
)
def test_wrong_types_are_named(read: str, value: object, sentence: str):
    with pytest.raises(Refused) as caught:
        getattr(Fields({"a": value}, "X"), read)("a")
    assert (caught.value.status, caught.value.message) == (400, f"json: cannot unmarshal {sentence}")


def test_an_object_inside_has_its_place():
    fields = Fields({"a": {"b": [{"c": 1}]}}, "X").inner("a").objects("b")[0]
    with pytest.raises(Refused, match=r"X\.a\.b\.c of type string"):
        fields.text("c")
