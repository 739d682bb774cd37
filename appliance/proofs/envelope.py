"""A signed statement: DSSE's message, its Ed25519 signature, and the canonical file that carries both.

It must not know what a payload says, where keys are kept, or whom to trust.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from appliance.proofs import canonical
from appliance.proofs.fields import Fields
from appliance.proofs.keyset import key_id

CERTIFICATE = "application/vnd.synapse.certificate.v1+json"
INTENT = "application/vnd.synapse.intent.v1+json"
KEY = "application/vnd.synapse.key.v1+json"
NODE_ADMIT = "application/vnd.synapse.node-admit.v1+json"
NODE_REVOKE = "application/vnd.synapse.node-revoke.v1+json"
PAYLOAD_TYPES = (CERTIFICATE, INTENT, KEY, NODE_ADMIT, NODE_REVOKE)

_SIGNATURE_BYTES = 64


def pae(payload_type: str, body: bytes) -> bytes:
    """The bytes that are signed: DSSE v1 pre-authentication encoding."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)


@dataclass(frozen=True, slots=True)
class Signature:
    """`keyid` is the hex SHA-256 of the key's SPKI DER, `value` the raw 64 bytes."""

    keyid: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Signed:
    """A payload's canonical bytes with their signature; a key entry may carry a second one, of the key it replaces."""

    payload_type: str
    body: bytes
    keyid: str
    signature: bytes
    cosigned: Signature | None = None

    @property
    def message(self) -> bytes:
        return pae(self.payload_type, self.body)

    @property
    def entry_hash(self) -> bytes:
        """SHA-256 of the message: this statement's entry in the log."""
        return hashlib.sha256(self.message).digest()

    @property
    def payload(self) -> dict[str, object]:
        return canonical.decode(self.body)

    def file(self) -> bytes:
        """The canonical file, without a newline at its end; signatures stand in the order of their key ids."""
        signatures = [Signature(self.keyid, self.signature), *([self.cosigned] if self.cosigned else [])]
        listed = [
            {"keyid": one.keyid, "sig": base64.b64encode(one.value).decode("ascii")}
            for one in sorted(signatures, key=lambda one: one.keyid)
        ]
        # The three names are in canonical order already, so the body need not be read again.
        return b'{"payload":%b,"payloadType":%b,"signatures":%b}' % (
            self.body,
            canonical.encode(self.payload_type),
            canonical.encode(listed),
        )


class Signer:
    """Signs payloads with one Ed25519 key. `public` is the raw 32-byte public key."""

    __slots__ = ("_private", "keyid", "public")

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public = private.public_key().public_bytes_raw()
        self.keyid = key_id(self.public)

    def sign(self, payload_type: str, payload: Mapping[str, object]) -> Signed:
        """Raises `ProofError` where the payload lies outside the canonical profile."""
        body = canonical.encode(dict(payload))
        return Signed(payload_type, body, self.keyid, self._private.sign(pae(payload_type, body)))


def parse_file(data: bytes) -> Signed:
    """Read a file that is byte for byte what `Signed.file` writes. The signature itself is not checked here.

    Raises:
        ProofError: for any other bytes; the message names the member.
    """
    top = Fields(canonical.decode(data))
    top.only("payload", "payloadType", "signatures")
    payload_type = top.choice("payloadType", PAYLOAD_TYPES)
    signatures = [_signature(entry) for entry in top.children("signatures")]
    if not 1 <= len(signatures) <= (2 if payload_type == KEY else 1):
        top.fail("signatures", "has not the right number of signatures")
    first, second = signatures[0], signatures[1] if len(signatures) > 1 else None
    if second and second.keyid <= first.keyid:
        top.fail("signatures", "is not in the order of its key ids")
    return Signed(payload_type, canonical.encode(top.child("payload").values), first.keyid, first.value, second)


def _signature(entry: Fields) -> Signature:
    entry.only("keyid", "sig")
    text = entry.text("sig")
    try:
        value = base64.b64decode(text, validate=True)
    except ValueError:
        entry.fail("sig", "is not base64")
    # The decoder ignores the unused bits before the padding, so only writing it again shows that they are zero.
    if len(value) != _SIGNATURE_BYTES or base64.b64encode(value) != text.encode():
        entry.fail("sig", "is not a 64-byte signature in canonical base64")
    return Signature(entry.digest("keyid"), value)
