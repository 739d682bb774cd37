"""JSON read without complaint. Sources: RFC 8259; dialects.md §1.1 ("Messages"), litellm#33678."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.jsonobject import json_object, played_back


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'"x"', b"null", b'{"a":NaN}', b"\xff", b'{"a":1}{"b":2}'])
def test_what_is_no_object_is_none(data: bytes):
    assert json_object(data) is None


def test_an_object_is_read():
    assert json_object(b' {"a": [1]} ') == {"a": [1]}


@pytest.mark.parametrize("text", ["{", "not JSON", "[1]", '{"a":"\\ud800"}', '{"a":' * 201 + "1" + "}" * 201])
def test_arguments_that_are_no_object_are_kept_as_text(text: str):
    assert played_back(text) == {"_raw": text}


@pytest.mark.parametrize("text", ["", " \n"])
def test_no_arguments_are_an_empty_object(text: str):
    assert played_back(text) == {}


def test_arguments_keep_their_order_and_spelling():
    text = '{"z": 1e2, "a": 12345678901234567890123, "m": "\\u00e9"}'
    assert orjson.dumps({"input": played_back(text)}) == f'{{"input":{text}}}'.encode()


@given(st.dictionaries(st.text(max_size=3), st.none() | st.integers(-9, 9) | st.text(max_size=5), max_size=4))
def test_any_arguments_come_back(value: dict[str, object]):
    assert json.loads(orjson.dumps(played_back(json.dumps(value)))) == value
