import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from appliance.errors import ProofError
from appliance.proofs.envelope import Signer
from appliance.proofs.keyset import KeySet, PublicKey, key_id


def test_the_jwk_of_the_standard(signer: Signer) -> None:
    """RFC 8037, appendix A.2 gives kty, crv and x of this key."""
    key = PublicKey(signer.public, "certificate", 0)
    jwk = key.jwk()
    assert {name: jwk[name] for name in ("kty", "crv", "x")} == {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    }
    assert (jwk["use"], jwk["alg"]) == ("sig", "EdDSA")
    assert (jwk["role"], jwk["first"], jwk["last"], jwk["status"]) == ("certificate", 0, None, "active")
    assert jwk["kid"] == key.keyid


def test_a_key_id_is_the_hash_of_the_spki() -> None:
    public = Ed25519PrivateKey.generate().public_key()
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert key_id(public.public_bytes_raw()) == hashlib.sha256(der).hexdigest()


def test_verifies_the_vector_of_rfc_8032() -> None:
    """RFC 8032, section 7.1, test 2."""
    key = PublicKey(bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"), "certificate", 0)
    signature = bytes.fromhex(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    assert key.verifies(signature, b"\x72")
    assert not key.verifies(signature, b"\x73")
    assert not key.verifies(signature[:-1], b"\x72")
    assert not key.verifies(b"", b"\x72")


def test_an_open_and_a_retired_key_cover_their_entries(signer: Signer) -> None:
    active = PublicKey(signer.public, "certificate", 5)
    retired = PublicKey(signer.public, "certificate", 5, 9)
    assert [active.covers(index) for index in (4, 5, 10**9)] == [False, True, True]
    assert [retired.covers(index) for index in (4, 5, 9, 10)] == [False, True, True, False]
    assert (active.status, retired.status) == ("active", "retired")


def test_round_trip_and_lookup(signer: Signer, other_signer: Signer) -> None:
    keys = KeySet((PublicKey(signer.public, "certificate", 0, 9), PublicKey(other_signer.public, "certificate", 9)))
    assert KeySet.parse(keys.to_json()) == keys
    assert KeySet.parse(json.dumps(json.loads(keys.to_json()), indent=4).encode() + b"\n") == keys
    assert keys.find(other_signer.keyid) == keys.keys[1]
    assert keys.find("0" * 64) is None
    assert KeySet.parse(KeySet(()).to_json()) == KeySet(())


def test_further_members_are_let_through(keys: bytes) -> None:
    """RFC 7517, section 4 and 5: members that are not understood are ignored."""
    content = json.loads(keys)
    content["keys"][0]["nbf"] = 1
    content["issued"] = "today"
    assert KeySet.parse(json.dumps(content).encode()) == KeySet.parse(keys)


MEMBERS = ("kty", "crv", "x", "kid", "use", "alg", "role", "first", "last", "status")


def edit(**changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda jwk: jwk.update(changes)


def drop(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda jwk: jwk.pop(name)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        *((drop(name), rf"keys\[0\]\.{name} is missing") for name in MEMBERS),
        (edit(kty="EC"), r"kty is not OKP"),
        (edit(crv="X25519"), "crv is not Ed25519"),
        (edit(use="enc"), "use is not sig"),
        (edit(alg="HS256"), "alg is not EdDSA"),
        (edit(kid="0" * 64), "kid is not the hash of the key"),
        (edit(x="11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo="), "x is not"),
        (edit(x="11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURp"), "x is not a 32-byte key"),
        (edit(x="11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo"), "x is not"),
        (edit(x="11qY"), "x is not a 32-byte key"),
        (edit(x="é"), "x is not base64url"),
        (edit(d="nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"), "d must be absent: it is the private part"),
        (edit(role=""), "role is empty"),
        (edit(first=-1), "first is out of range"),
        (edit(first="0"), "first is not an integer"),
        (edit(first=None), "first is not an integer"),
        (edit(last=True), "last is not an integer"),
        (edit(first=9, last=8, status="retired"), "last is out of range"),
        (edit(last=9), "status is not retired"),
        (edit(status="retired"), "status is not active"),
    ],
)
def test_refuses_a_key_that_is_not_whole(keys: bytes, change: Callable[[dict[str, Any]], object], says: str) -> None:
    content = json.loads(keys)
    change(content["keys"][0])
    with pytest.raises(ProofError, match=says):
        KeySet.parse(json.dumps(content).encode())


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "well-formed"),
        (b"[]", "not an object"),
        (b"{}", "keys is missing"),
        (b'{"keys":{}}', "keys is not a list"),
        (b'{"keys":[1]}', r"keys\[0\] is not an object"),
        (b'{"keys":[],"keys":[]}', "two members of one name"),
    ],
)
def test_refuses_what_is_not_a_key_set(data: bytes, says: str) -> None:
    with pytest.raises(ProofError, match=says):
        KeySet.parse(data)


def test_refuses_a_key_that_is_listed_twice(keys: bytes) -> None:
    content = json.loads(keys)
    content["keys"] *= 2
    with pytest.raises(ProofError, match="lists a key twice"):
        KeySet.parse(json.dumps(content).encode())
