import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.errors import ProofError
from appliance.proofs import canonical, envelope
from appliance.proofs.envelope import Signature, Signed, Signer, pae, parse_file
from appliance.proofs.keyset import PublicKey


def test_pae_of_the_dsse_specification() -> None:
    """DSSE v1.0.0, protocol.md, "Test Vectors"."""
    expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert pae("http://example.com/HelloWorld", b"hello world") == expected


def test_pae_counts_bytes() -> None:
    """DSSE v1.0.0, protocol.md: LEN is the length in bytes of the UTF-8."""
    assert pae("é", "né".encode()) == "DSSEv1 2 é 3 né".encode()
    assert pae("", b"") == b"DSSEv1 0  0 "


def test_sign_covers_type_and_canonical_body(signer: Signer) -> None:
    signed = signer.sign(envelope.INTENT, {"b": 1, "a": "é"})
    assert signed.body == '{"a":"é","b":1}'.encode()
    assert signed.message == b"DSSEv1 38 application/vnd.synapse.intent.v1+json 16 " + signed.body
    assert signed.entry_hash == hashlib.sha256(signed.message).digest()
    assert signed.payload == {"a": "é", "b": 1}
    key = PublicKey(signer.public, "certificate", 0)
    assert signed.keyid == key.keyid == signer.keyid
    assert key.verifies(signed.signature, signed.message)
    assert not key.verifies(signed.signature, pae(envelope.CERTIFICATE, signed.body))


def test_refuses_to_sign_outside_the_profile(signer: Signer) -> None:
    with pytest.raises(ProofError, match=r"cost is a float"):
        signer.sign(envelope.CERTIFICATE, {"cost": 0.1})


def test_the_file_is_canonical_and_reads_back(signed: Signed) -> None:
    data = signed.file()
    assert not data.endswith(b"\n")
    assert canonical.encode(json.loads(data)) == data
    assert parse_file(data) == signed
    assert json.loads(data) == {
        "payload": signed.payload,
        "payloadType": "application/vnd.synapse.certificate.v1+json",
        "signatures": [{"keyid": signed.keyid, "sig": base64.b64encode(signed.signature).decode()}],
    }


def cosigned(signed: Signed, payload_type: str, signer: Signer) -> Signed:
    return replace(signed, payload_type=payload_type, cosigned=Signature(signer.keyid, b"\0" * 64))


def test_only_a_key_entry_has_two_signatures(signed: Signed, other_signer: Signer) -> None:
    rotation = cosigned(signed, envelope.KEY, other_signer)
    read = parse_file(rotation.file())
    assert read.file() == rotation.file()
    assert read.cosigned is not None
    assert {read.keyid, read.cosigned.keyid} == {signed.keyid, other_signer.keyid}
    for payload_type in (envelope.CERTIFICATE, envelope.INTENT):
        with pytest.raises(ProofError, match="signatures has not the right number"):
            parse_file(cosigned(signed, payload_type, other_signer).file())


def test_two_signatures_have_one_order(signed: Signed, other_signer: Signer, signer: Signer) -> None:
    content = json.loads(cosigned(signed, envelope.KEY, other_signer).file())
    content["signatures"].reverse()
    with pytest.raises(ProofError, match="order of its key ids"):
        parse_file(canonical.encode(content))
    with pytest.raises(ProofError, match="order of its key ids"):
        parse_file(cosigned(signed, envelope.KEY, signer).file())


def with_signature(**members: object) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["signatures"][0].update(members)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda c: c.pop("payload"), "payload is missing"),
        (lambda c: c.pop("payloadType"), "payloadType is missing"),
        (lambda c: c.pop("signatures"), "signatures is missing"),
        (lambda c: c.update(more=1), "a member that does not belong"),
        (lambda c: c.update(payload="x"), "payload is not an object"),
        (lambda c: c.update(payloadType="application/json"), "payloadType is not"),
        (lambda c: c.update(payloadType=1), "payloadType is not a text"),
        (lambda c: c.update(signatures=[]), "the right number of signatures"),
        (lambda c: c.update(signatures={}), "signatures is not a list"),
        (lambda c: c["signatures"].append(c["signatures"][0]), "the right number of signatures"),
        (with_signature(more=1), r"signatures\[0\] has a member that does not belong"),
        (with_signature(keyid="0" * 63), r"signatures\[0\]\.keyid is not a SHA-256"),
        (with_signature(keyid="A" * 64), r"signatures\[0\]\.keyid is not a SHA-256"),
        (with_signature(sig=""), r"signatures\[0\]\.sig is empty"),
        (with_signature(sig="é" * 88), r"signatures\[0\]\.sig is not base64"),
        (with_signature(sig="A" * 86), r"signatures\[0\]\.sig is not base64"),
        (with_signature(sig="A" * 84), r"signatures\[0\]\.sig is not a 64-byte"),
        (with_signature(sig="A" * 86 + "==\n"), r"signatures\[0\]\.sig is not"),
        (with_signature(sig="_" * 86 + "=="), r"signatures\[0\]\.sig is not"),
        # The four bits before the padding are not part of the 64 bytes.
        (with_signature(sig="A" * 85 + "B=="), r"signatures\[0\]\.sig is not a 64-byte signature in canonical"),
    ],
)
def test_refuses_a_file_of_another_shape(signed: Signed, change: Callable[[dict[str, Any]], object], says: str) -> None:
    content = json.loads(signed.file())
    change(content)
    with pytest.raises(ProofError, match=says):
        parse_file(canonical.encode(content))


@given(st.binary())
@settings(deadline=None)
def test_any_bytes_raise_nothing_else(data: bytes) -> None:
    with pytest.raises(ProofError):
        parse_file(data)
