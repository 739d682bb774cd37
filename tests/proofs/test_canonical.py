import json
import os
import shutil
import subprocess
from enum import IntEnum, StrEnum

import orjson
import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.errors import ProofError
from appliance.proofs import canonical

texts = st.text(st.characters(exclude_characters="\x7f", exclude_categories=["Cs"]))
keys = st.text(st.characters(max_codepoint=0x7E))
integers = st.integers(-canonical.MAX_INTEGER, canonical.MAX_INTEGER)
values = st.recursive(
    st.none() | st.booleans() | integers | texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=20,
)
objects = st.dictionaries(keys, values, max_size=6)


def python_json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@given(values)
@settings(deadline=None)
def test_equals_rfc8785_and_pythons_json(value: object) -> None:
    assert canonical.encode(value) == rfc8785.dumps(value) == python_json(value)  # type: ignore[arg-type]  # a recursive alias


@given(st.lists(objects, min_size=1, max_size=20))
@settings(max_examples=30, deadline=None)
def test_equals_jq(payloads: list[dict[str, object]]) -> None:
    if shutil.which("jq") is None:
        assert "CI" not in os.environ, "jq must be installed in CI"
        pytest.skip("jq is not installed")
    lines = b"".join(canonical.encode(one) + b"\n" for one in payloads)
    assert subprocess.run(["jq", "-cS", "."], input=lines, capture_output=True, check=True).stdout == lines
    # Spelled out of order and with white space, the last of them becomes canonical again.
    spelled = json.dumps({"payload": dict(reversed(payloads[-1].items()))}, indent=2).encode()
    result = subprocess.run(["jq", "-cSj", ".payload"], input=spelled, capture_output=True, check=True)
    assert result.stdout == canonical.encode(payloads[-1])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # RFC 8785, section 3.2.2 and 3.2.4: the member "string" of the sample.
        ("\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/", b'"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
        # RFC 8785, section 3.2.2.2: the short escapes, and lower-case hexadecimal for the other controls.
        ("\b\t\n\f\r\x00\x1f", rb'"\b\t\n\f\r\u0000\u001f"'),
        # RFC 8785, appendix B: the largest safe integers.
        ([9007199254740991, -9007199254740991, 0], b"[9007199254740991,-9007199254740991,0]"),
        # RFC 8785, section 3.2.3: members by code unit, which is not the alphabet.
        ({"b": 1, "B": 2, "a_": 3, "a": 4, "": 5}, b'{"":5,"B":2,"a":4,"a_":3,"b":1}'),
        ({"literals": [None, True, False]}, b'{"literals":[null,true,false]}'),
    ],
)
def test_vectors(value: object, expected: bytes) -> None:
    assert canonical.encode(value) == expected


class Word(StrEnum):
    ONE = "one"


class Number(IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"a": {"b": 1.0}}, "a.b"),
        ({"a": [0, float("nan")]}, "a[1]"),
        ({"a": 2**53}, "a"),
        ({"a": -(2**53)}, "a"),
        ({"a": "\x7f"}, "a"),
        ({"a": "é\x7f"}, "a"),
        ({"a": ["\ud800"]}, "a[0]"),
        ({"a": "é\udfff"}, "a"),
        ({"a": {"é": 1}}, "a"),
        ({"\x7f": 1}, "The value"),
        ({"a": {1: 1}}, "a"),
        ({"a": b"bytes"}, "a"),
        ({"a": (1, 2)}, "a"),
        ({"a": {1, 2}}, "a"),
        ({"a": Word.ONE}, "a"),
        ({"a": Number.ONE}, "a"),
    ],
)
def test_refuses_what_lies_outside_the_profile(value: object, place: str) -> None:
    with pytest.raises(ProofError) as caught:
        canonical.encode(value)
    assert caught.value.message.startswith(f"{place} ")


def nested(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


def test_depth_is_bounded() -> None:
    assert canonical.encode(canonical.decode(nested(canonical.MAX_DEPTH))) == nested(canonical.MAX_DEPTH)
    with pytest.raises(ProofError, match="nested deeper than 32"):
        canonical.decode(nested(canonical.MAX_DEPTH + 1))
    endless: dict[str, object] = {}
    endless["again"] = endless
    with pytest.raises(ProofError, match="nested deeper than 32"):
        canonical.encode(endless)


@given(objects)
@settings(deadline=None)
def test_decode_reads_what_encode_wrote(value: dict[str, object]) -> None:
    assert canonical.decode(canonical.encode(value)) == value


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"a":1,"a":1}', "two members of one name"),
        (b'{"a":{"b":1,"b":2}}', "two members of one name"),
        (b'{"a":1,"\\u0061":2}', "two members of one name"),
        (b'{"a":1.0}', "not an integer"),
        (b'{"a":1e3}', "not an integer"),
        (b'{"a":NaN}', "not an integer"),
        (b'{"a":-Infinity}', "not an integer"),
        (b'{"a":9007199254740992}', "beyond"),
        (b'{"a":' + b"9" * 5000 + b"}", "beyond"),
        (b'{"a":-0}', "canonical form"),
        (b'{"b":1,"a":1}', "canonical form"),
        (b'{"a": 1}', "canonical form"),
        (b'{"a":1}\n', "canonical form"),
        (b' {"a":1}', "canonical form"),
        (b'{"a":"\\u0041"}', "canonical form"),
        (b'{"a":"\\/"}', "canonical form"),
        (b'{"a":"\\u000A"}', "canonical form"),
        (b'{"a":"\\ud83d\\ude00"}', "canonical form"),
        (b'{"a":"\\ud83d"}', "lone surrogate"),
        (b'{"a":"\xed\xa0\x80"}', "well-formed"),
        (b'{"a":"\x7f"}', "U\\+007F"),
        (b'{"a":"\xff"}', "well-formed"),
        (b'{"a":"\n"}', "well-formed"),
        (b'{"a":1}{"a":1}', "well-formed"),
        (b'{"a":1}x', "well-formed"),
        (b'{"a":01}', "well-formed"),
        (b"", "well-formed"),
        (b"\xef\xbb\xbf{}", "well-formed"),
        ("{}".encode("utf-16"), "well-formed"),
        (b"[]", "not an object"),
        (b"null", "not an object"),
        (b"[" * 100_000, "well-formed"),
        (b'{"a":' * 100_000, "well-formed"),
        (b'{"a":' + b"[" * 500 + b"]" * 500 + b"}", "nested deeper"),
    ],
)
def test_decode_refuses(data: bytes, says: str) -> None:
    with pytest.raises(ProofError, match=says):
        canonical.decode(data)


def only_proof_errors(data: bytes) -> None:
    try:
        value = canonical.decode(data)
    except ProofError:
        return
    assert canonical.encode(value) == data


@given(st.binary())
@settings(deadline=None)
def test_decode_of_any_bytes_raises_nothing_else(data: bytes) -> None:
    only_proof_errors(data)


@given(st.text(st.sampled_from('{}[]",:\\ud8e0.-+1aNfé \n\x00'), max_size=40))
@settings(deadline=None)
def test_decode_of_almost_json_raises_nothing_else(text: str) -> None:
    only_proof_errors(text.encode())


@given(objects)
@settings(deadline=None)
def test_parse_accepts_any_layout(value: dict[str, object]) -> None:
    assert canonical.parse(json.dumps(value, indent=2).encode()) == value
    assert canonical.parse(orjson.dumps(value)) == value
