"""The public keys of an installation as a JWK set: who may sign what, and from which log entry to which.

It must not know private keys, and refuses a file that holds one.
"""

import base64
import hashlib
from dataclasses import dataclass
from typing import Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from appliance.errors import ProofError
from appliance.proofs import canonical
from appliance.proofs.fields import Fields

CERTIFICATE_ROLE = "certificate"
"""The role of the key that signs certificates, intents and key entries."""

# DER of a SubjectPublicKeyInfo up to the 32 key bytes (RFC 8410).
_SPKI_PREFIX = bytes.fromhex("302a300506032b6570032100")
_KEY_BYTES = 32
_JWK = {"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA"}

Status = Literal["active", "retired"]


def key_id(public: bytes) -> str:
    """Hex SHA-256 of the SPKI DER of a raw 32-byte Ed25519 public key."""
    return hashlib.sha256(_SPKI_PREFIX + public).hexdigest()


@dataclass(frozen=True, slots=True)
class PublicKey:
    """One key. `public` is the raw 32 bytes; it signs the log entries `first` to `last`, which is None while in use."""

    public: bytes
    role: str
    first: int
    last: int | None = None

    @property
    def keyid(self) -> str:
        return key_id(self.public)

    @property
    def status(self) -> Status:
        return "active" if self.last is None else "retired"

    def covers(self, index: int) -> bool:
        """Whether the log entry with this index is one that this key may sign."""
        return self.first <= index and (self.last is None or index <= self.last)

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Whether `signature` is this key's Ed25519 signature (RFC 8032) of `message`."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    def jwk(self) -> dict[str, object]:
        """RFC 7517 and RFC 8037, with our members `role`, `first`, `last` and `status`."""
        return {
            **_JWK,
            "x": _to_base64url(self.public),
            "kid": self.keyid,
            "role": self.role,
            "first": self.first,
            "last": self.last,
            "status": self.status,
        }


@dataclass(frozen=True, slots=True)
class KeySet:
    keys: tuple[PublicKey, ...]

    def find(self, keyid: str) -> PublicKey | None:
        return next((key for key in self.keys if key.keyid == keyid), None)

    def to_json(self) -> bytes:
        """The canonical bytes of the JWK set."""
        return canonical.encode({"keys": [key.jwk() for key in self.keys]})

    @classmethod
    def parse(cls, data: bytes) -> "KeySet":
        """Read a JWK set in any layout; every key must be one of ours, whole and consistent.

        Raises:
            ProofError: names the member that is not what it must be.
        """
        keys = tuple(_key(entry) for entry in Fields(canonical.parse(data)).children("keys"))
        if len({key.keyid for key in keys}) != len(keys):
            raise ProofError("The key set lists a key twice.")
        return cls(keys)


def _key(jwk: Fields) -> PublicKey:
    jwk.forbid("d", why="it is the private part of a key, which must never be in this file")
    for name, value in _JWK.items():
        jwk.choice(name, (value,))
    key = PublicKey(_public(jwk), jwk.text("role"), jwk.integer("first"), _last(jwk))
    if jwk.text("kid") != key.keyid:
        jwk.fail("kid", "is not the hash of the key")
    jwk.choice("status", (key.status,))
    return key


def _last(jwk: Fields) -> int | None:
    if "last" in jwk and jwk.values["last"] is None:
        return None
    return jwk.integer("last", minimum=jwk.integer("first"))


def _public(jwk: Fields) -> bytes:
    text = jwk.text("x")
    try:
        public = base64.b64decode(text + "=", altchars=b"-_", validate=True)
    except ValueError:
        jwk.fail("x", "is not base64url")
    if len(public) != _KEY_BYTES or _to_base64url(public) != text:
        jwk.fail("x", "is not a 32-byte key in base64url without padding")
    return public


def _to_base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
