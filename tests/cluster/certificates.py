"""Certificates that an identity would not make: of other kinds of keys, issued by others, or again for one key."""

from datetime import UTC, datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import NameOID

from appliance.cluster.identity import Identity

DER = serialization.Encoding.DER


def certificate_of(key: Any, *, signer: Any = None, name: str = "synapse", issuer: str = "synapse") -> bytes:
    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(named(issuer))
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2050, 1, 1, tzinfo=UTC))
        .sign(signer or key, algorithm)
        .public_bytes(DER)
    )


def private(identity: Identity) -> Any:
    return serialization.load_der_private_key(identity.key, password=None)


def pkcs8(key: Any) -> bytes:
    return key.private_bytes(DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
