"""How a private key on an elliptic curve is written where the secret is kept safe by other means."""

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


def pkcs8(key: ec.EllipticCurvePrivateKey, encoding: serialization.Encoding) -> bytes:
    """PKCS #8 (RFC 5958), not encrypted."""
    return key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
