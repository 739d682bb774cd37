"""A certificate file is refused after any change to any byte (the design, "A certificate file is canonical")."""

import base64
import json
from collections.abc import Iterator

import pytest

from appliance.proofs import canonical
from appliance.proofs.envelope import Signed
from appliance.proofs.verify import verify

# One flips the lowest bit, one the case of a letter, one leaves ASCII; the rest are JSON's own marks and blanks.
FLIPS = (0x01, 0x02, 0x20, 0x80)
REPLACEMENTS = b'"\\,:{}[]0a \n\x00\x7f'
INSERTIONS = b'" 0a\n,\\\x00'


def refuse(data: bytes, keys: bytes) -> None:
    assert verify({"cert.json": data}, keys).exit_code == 1, data


@pytest.fixture
def good(signed: Signed, keys: bytes) -> bytes:
    data = signed.file()
    assert verify({"cert.json": data}, keys).exit_code == 0
    return data


def test_any_byte_changed(good: bytes, keys: bytes) -> None:
    for position, byte in enumerate(good):
        for other in {*(byte ^ flip for flip in FLIPS), *REPLACEMENTS} - {byte}:
            refuse(good[:position] + bytes([other]) + good[position + 1 :], keys)


def test_any_byte_deleted_or_doubled(good: bytes, keys: bytes) -> None:
    for position in range(len(good)):
        refuse(good[:position] + good[position + 1 :], keys)
        refuse(good[:position] + good[position : position + 1] + good[position:], keys)


def test_a_byte_inserted_anywhere(good: bytes, keys: bytes) -> None:
    for position in range(len(good) + 1):
        for byte in INSERTIONS:
            refuse(good[:position] + bytes([byte]) + good[position:], keys)


def test_cut_anywhere(good: bytes, keys: bytes) -> None:
    for length in range(len(good)):
        refuse(good[:length], keys)


@pytest.mark.parametrize("more", [b"\n", b"\r\n", b" ", b"\x00", b"{}", b",", b"\xef\xbb\xbf"])
def test_anything_before_or_after(good: bytes, keys: bytes, more: bytes) -> None:
    refuse(good + more, keys)
    refuse(more + good, keys)


def swapped(value: object) -> Iterator[object]:
    """The value with two neighbouring members or items exchanged, in each place where there are two."""
    if isinstance(value, dict):
        pairs = list(value.items())
        for i in range(len(pairs) - 1):
            yield dict([*pairs[:i], pairs[i + 1], pairs[i], *pairs[i + 2 :]])
        for key, inner in pairs:
            yield from ({**value, key: other} for other in swapped(inner))
    elif isinstance(value, list):
        for i in range(len(value) - 1):
            yield [*value[:i], value[i + 1], value[i], *value[i + 2 :]]
        for i, inner in enumerate(value):
            yield from ([*value[:i], other, *value[i + 1 :]] for other in swapped(inner))


def test_members_and_items_reordered(good: bytes, keys: bytes) -> None:
    changed = list(swapped(json.loads(good)))
    assert len(changed) > 30
    for value in changed:
        refuse(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(), keys)


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if pairs is None:
        yield path
    else:
        for key, inner in pairs:
            yield from leaves(inner, (*path, key))


def test_members_doubled_and_values_exchanged(good: bytes, keys: bytes) -> None:
    content = json.loads(good)
    for name, value in content["payload"].items():
        member = canonical.encode({name: value})[1:-1]
        refuse(good.replace(member, member + b"," + member, 1), keys)
    for path in leaves(content):
        changed = json.loads(good)
        target = changed
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = "another" if isinstance(target[path[-1]], str) else 7
        refuse(canonical.encode(changed), keys)


def test_unused_bits_of_the_base64(good: bytes, keys: bytes) -> None:
    """RFC 4648, section 3.5: decoders may ignore the bits before the padding, so there are 16 spellings."""
    content = json.loads(good)
    sig = content["signatures"][0]["sig"]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    value = alphabet.index(sig[-3])
    spellings = [sig[:-3] + alphabet[value & 0b110000 | bits] + "==" for bits in range(16)]
    assert all(base64.b64decode(one) == base64.b64decode(sig) for one in spellings)
    others = [one for one in spellings if one != sig]
    assert len(others) == 15
    for other in [*others, sig[:-1], sig[:-2], sig + "=", sig.replace("=", ""), sig[:40] + "\n" + sig[40:]]:
        content["signatures"][0]["sig"] = other
        refuse(canonical.encode(content), keys)
