"""Canonical JSON: the one byte form of a value that is signed, and a reader that accepts no other.

The form is JCS (RFC 8785) within a narrow profile, so that `jq -cS` and Python's `json` give the same bytes:
ASCII keys, integers within ±(2^53-1), no floats, no U+007F, no lone surrogates, bounded depth.
This module must not know what the values mean.
"""

import json
from typing import cast

import orjson

from appliance.errors import ProofError

MAX_INTEGER = 2**53 - 1
"""Largest magnitude that every JSON reader keeps exact (RFC 8785 appendix D, I-JSON)."""

MAX_DEPTH = 32
"""Nested objects and arrays; a certificate file needs five."""

_INTEGER_CHARACTERS = len(str(-MAX_INTEGER))


def encode(value: object) -> bytes:
    """The canonical bytes of a JSON value made of dict, list, str, int, bool and None.

    Raises:
        ProofError: the value lies outside the profile; the message names the place.
    """
    _check(value, "", MAX_DEPTH)
    return _dump(value)


def decode(data: bytes) -> dict[str, object]:
    """The object whose canonical bytes are exactly `data`.

    Raises:
        ProofError: for any other bytes.
    """
    value = parse(data)
    if _dump(value) != data:
        raise ProofError("The JSON is not in canonical form: white space, order of members or spelling of a value.")
    return value


def parse(data: bytes) -> dict[str, object]:
    """A JSON object within the profile, in any layout; duplicate members are refused.

    Raises:
        ProofError: for anything else.
    """
    try:
        value: object = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_members,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
            parse_int=_integer,
        )
    except (ValueError, RecursionError):
        raise ProofError("The bytes are not well-formed JSON in UTF-8.") from None
    if type(value) is not dict:
        raise ProofError("The JSON is not an object.")
    _check(cast("object", value), "", MAX_DEPTH)
    return cast("dict[str, object]", value)


def _dump(value: object) -> bytes:
    # Within the profile orjson writes what JCS asks for; the tests hold it against rfc8785 itself.
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _check(value: object, path: str, depth: int) -> None:
    # Exact types: orjson would also write subclasses, enums and dates, whose bytes are no one's rule.
    kind = type(value)
    if kind is str:
        _check_text(cast("str", value), path)
    elif kind is int:
        _check_integer(cast("int", value), path)
    elif kind is dict:
        _check_depth(path, depth)
        for key, member in cast("dict[object, object]", value).items():
            name = _checked_key(key, path)
            _check(member, f"{path}.{name}" if path else name, depth - 1)
    elif kind is list:
        _check_depth(path, depth)
        for index, item in enumerate(cast("list[object]", value)):
            _check(item, f"{path}[{index}]", depth - 1)
    elif value is not None and kind is not bool:
        raise ProofError(f"{_place(path)} is a {kind.__name__}, which cannot be signed.")


def _check_text(text: str, path: str) -> None:
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise ProofError(f"{_place(path)} holds a lone surrogate, which cannot be signed.") from None
    if b"\x7f" in encoded:
        raise ProofError(f"{_place(path)} holds U+007F, which cannot be signed.")


def _check_integer(number: int, path: str) -> None:
    if abs(number) > MAX_INTEGER:
        raise ProofError(f"{_place(path)} is an integer beyond ±(2^53-1).")


def _check_depth(path: str, depth: int) -> None:
    if depth == 0:
        raise ProofError(f"{_place(path)} is nested deeper than {MAX_DEPTH} levels.")


def _checked_key(key: object, path: str) -> str:
    if type(key) is not str or not key.isascii() or "\x7f" in key:
        raise ProofError(f"{_place(path)} has a member whose name is not plain ASCII.")
    return key


def _place(path: str) -> str:
    return path or "The value"


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ProofError("The JSON has two members of one name in the same object.")
    return members


def _refuse_number(_text: str) -> object:
    raise ProofError("The JSON has a number that is not an integer.")


def _integer(text: str) -> int:
    if len(text) > _INTEGER_CHARACTERS:
        raise ProofError("The JSON has an integer beyond ±(2^53-1).")
    return int(text)
