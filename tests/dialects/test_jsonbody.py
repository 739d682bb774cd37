"""Bytes to one JSON object (RFC 8259), or a sentence that says what and where and quotes nothing."""

import json
import re

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.dialects.chat import DialectError
from appliance.dialects.jsonbody import MAX_BRACKETS, MAX_DEPTH, load_object, nested_deeper


def refused(body: bytes) -> str:
    with pytest.raises(DialectError) as error:
        load_object(body)
    assert error.value.param is None
    # What the parser knew holds the whole document: it must not be reachable from a log's traceback.
    assert error.value.__suppress_context__ or error.value.__context__ is None
    return error.value.message


@pytest.mark.parametrize("body", [b"", b" ", b"\n\r\t "])
def test_empty(body: bytes):
    assert refused(body) == "The request body is empty."


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"1", b"null", b"true", b'[{"model":"x"}]'])
def test_not_an_object(body: bytes):
    assert refused(body) == "The request body must be a JSON object."


@pytest.mark.parametrize(
    ("body", "offset"),
    [
        (b'{"a":"\xff"}', 6),
        (b"\x80", 0),
        (b'{"a":"\xc3', 6),  # cut in the middle of a character
        (b'{"a":"\xed\xa0\x80"}', 6),  # a surrogate written as UTF-8 (RFC 3629, section 3)
        (b'{"a":"\xc0\xaf"}', 6),  # an overlong form
        ('{"é":"'.encode() + b'\xe9"}', 7),  # Latin-1
        ('{"a":"x"}'.encode("utf-16"), 0),
    ],
)
def test_not_utf8(body: bytes, offset: int):
    assert refused(body) == f"The request body is not UTF-8: the byte at offset {offset} is wrong."


@pytest.mark.parametrize(
    ("body", "line", "column"),
    [
        (b"{", 1, 2),
        (b'{"model":', 1, 10),
        (b'{"a":1,}', 1, 7),
        (b"{'a':1}", 1, 2),
        (b'{"a":1}{"b":2}', 1, 8),
        (b'{"a":NaN}', 1, 6),
        (b'{"a":01}', 1, 6),
        (b'{\n  "a": 1\n  "b": 2\n}', 3, 3),
        ('{"é":1,\n "b":é}'.encode(), 2, 6),
        (b'{"a":"\n"}', 1, 7),
        (b'// {"a":1}', 1, 1),
        (b"\xef\xbb\xbf{}", 1, 1),
    ],
)
def test_malformed(body: bytes, line: int, column: int):
    message = refused(body)
    assert message.startswith("The request body is not valid JSON: ")
    assert message.endswith(f" (line {line}, column {column}).")


@pytest.mark.parametrize("escape", ["\\ud800", "\\udfff", "\\ud800x", "\\ud800\\ud800", "\\udc00\\ud800"])
@pytest.mark.parametrize("place", ['{"a":"%s"}', '{"%s":1}', '{"a":["","%s"]}'])
def test_lone_surrogates(escape: str, place: str):
    assert "lone surrogate" in refused((place % escape).encode())


@pytest.mark.parametrize("number", ["1e999", "-1e400", "9" * 5_000])
def test_numbers_beyond_a_double(number: str):
    assert "a number is too large" in refused(f'{{"seed":{number}}}'.encode())


def test_integers_beyond_64_bits_are_not_integers():
    assert load_object(b'{"a":18446744073709551616}') == {"a": 2.0**64}


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 1_024, 1_025, 100_000, 900_000])
@pytest.mark.parametrize("closed", [True, False])
def test_deep_nesting(depth: int, closed: bool):
    for opening, closing in (('{"a":', "}"), ("[", "]")):
        body = '{"a":' + opening * (depth - 1) + "1" + (closing * (depth - 1) + "}" if closed else "")
        message = refused(body.encode())
        assert re.search(r"nested too deeply: more than 200 levels\.$|unexpected end|never closed", message)
        assert not closed or message == f"The request body is nested too deeply: more than {MAX_DEPTH} levels."


def test_the_deepest_body_that_is_accepted_can_be_written_again():
    body = b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH
    assert orjson.dumps(load_object(body)) == body


def test_many_brackets_are_not_depth():
    assert (
        load_object(b'{"a":[' + b",".join([b"[{}]"] * 10_000) + b'],"b":"' + b"[{" * 10_000 + b'"}')["b"]
        == "[{" * 10_000
    )


@pytest.mark.parametrize("text", ["", "a\x00b", "\x7f", "é😀", "\u2028", "\ufeff", "\uffff"])
def test_text_is_kept_as_it_was_written(text: str):
    for ascii_only in (True, False):
        assert load_object(json.dumps({"t": text}, ensure_ascii=ascii_only).encode()) == {"t": text}


@pytest.mark.parametrize("secret", [b"jean.dupont", b"FR7630006000011234567890189"], ids=["name", "iban"])
@pytest.mark.parametrize(
    "wrong", [b'{"a":"%s', b'{"a":"%s"', b"{%s}", b'{"a":%s}', b'{"%s":1 2}', b'{"a":"%s\xff"}', b"%s"]
)
def test_nothing_is_quoted(secret: bytes, wrong: bytes):
    assert secret.decode() not in refused(wrong.replace(b"%s", secret))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(), inner, max_size=6),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), VALUES, max_size=6))
def test_every_object_is_read_as_it_is(value: dict[str, object]):
    assert load_object(json.dumps(value).encode()) == value


@given(st.binary() | st.text('{}[]",:\\u0d8 1e-tnf').map(str.encode))
def test_any_bytes_are_an_object_or_refused(body: bytes):
    try:
        outcome: object = load_object(body)
    except DialectError as error:
        outcome = error.message
    assert isinstance(outcome, dict) or re.fullmatch(r"The request body .+\.", str(outcome))


@pytest.mark.parametrize(
    ("value", "levels"),
    [(None, 0), ("[[", 0), ([], 1), ({}, 1), ([1, "x"], 1), ([[], {"a": {}}], 3), ({"a": [{"b": []}], "c": 1}, 4)],
)
def test_levels_of_nesting(value: object, levels: int):
    assert not nested_deeper(value, levels)
    assert levels == 0 or nested_deeper(value, levels - 1)


def test_more_brackets_than_any_text_has_are_refused_before_they_cost_memory():
    assert refused(b'{"a":[' + b"[]," * MAX_BRACKETS + b"0]}") == (
        f"The request body has too many brackets: more than {MAX_BRACKETS}."
    )
    assert load_object(b'{"a":"' + b"[" * (MAX_BRACKETS - 1) + b'"}')
