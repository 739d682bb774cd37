"""Who a gateway or a node is: a P-256 key with a self-signed certificate, and TLS that trusts exactly one other.

Identity is a key, never a name or an address (cluster.md). Knows nothing of discovery or of how two sides came to
trust each other.
"""

import asyncio
import base64
import hashlib
import hmac
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from appliance.memory_files import as_file
from appliance.private_keys import pkcs8

ID_BYTES = 32
"""Of SHA-256; as text an id has 52 characters."""

COMMON_NAME = "synapse"
"""Certificates travel in the open before anybody is trusted: they name neither machine nor person."""

_FROM = datetime(2000, 1, 1, tzinfo=UTC)
_UNTIL = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
"""No expiry (RFC 5280 4.1.2.5): trust ends when the pin goes, and a wrong clock in an office must not end it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """`certificate` is DER, `key` the private key in PKCS #8 DER."""

    certificate: bytes
    key: bytes = field(repr=False)

    @classmethod
    def create(cls, name: str = COMMON_NAME) -> Self:
        """A new key. `name` is the certificate's common name, which whoever connects can read."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=False,
            crl_sign=False,
            encipher_only=False,
            decipher_only=False,
        )
        both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_FROM)
            .not_valid_after(_UNTIL)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(both, critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate.public_bytes(serialization.Encoding.DER), pkcs8(key, serialization.Encoding.DER))

    @classmethod
    def from_bytes(cls, certificate: bytes, key: bytes) -> Self:
        """The identity of these two, in DER. Raises ValueError: one cannot be read, or they do not belong together."""
        private = _private_key(key)
        if _public_key(certificate) != private.public_key():
            raise ValueError("the certificate is of another key")
        return cls(certificate, key)

    @property
    def id(self) -> str:
        return id_of(self.certificate)

    @property
    def instance(self) -> str:
        """The name on the network (cluster.md, "What mDNS is for")."""
        return instance_of(self.id)

    def sign(self, data: bytes) -> bytes:
        """ECDSA on P-256 with SHA-256, in DER."""
        return _private_key(self.key).sign(data, ec.ECDSA(hashes.SHA256()))

    def pem(self) -> bytes:
        """Certificate and private key in PEM, as OpenSSL reads them from one file."""
        certificate = x509.load_der_x509_certificate(self.certificate)
        encoding = serialization.Encoding.PEM
        return certificate.public_bytes(encoding) + pkcs8(_private_key(self.key), encoding)

    @classmethod
    def from_pem(cls, content: bytes) -> Self:
        """What `pem` gave. Raises ValueError as `from_bytes`."""
        encoding = serialization.Encoding.DER
        certificate = x509.load_pem_x509_certificate(content).public_bytes(encoding)
        try:
            key = serialization.load_pem_private_key(content, password=None)
        except TypeError as error:
            raise ValueError("the private key is encrypted") from error
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the private key is not on P-256")
        return cls.from_bytes(certificate, pkcs8(key, encoding))


def id_of(certificate: bytes) -> str:
    """SHA-256 of the certificate's public key (SPKI, DER) in lower-case base32 (RFC 4648) without padding.

    Raises:
        ValueError: not a certificate in DER, or not of a P-256 key.
    """
    spki = _public_key(certificate).public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return base64.b32encode(hashlib.sha256(spki).digest()).decode().rstrip("=").lower()


def id_bytes(node_id: str) -> bytes:
    """The 32 bytes of an id. Raises ValueError: it is not an id."""
    raw = b""
    with suppress(ValueError):
        raw = base64.b32decode(node_id.upper() + "====")
    # Written again, since the last character has bits to spare, and upper case is no second name of a machine.
    if len(raw) != ID_BYTES or base64.b32encode(raw).decode().rstrip("=").lower() != node_id:
        raise ValueError("this is not an id, which has 52 characters of lower-case base32")
    return raw


def instance_of(node_id: str) -> str:
    return "syn-" + node_id[:16]


def verifies(certificate: bytes, signature: bytes, data: bytes) -> bool:
    """Whether the certificate's key made this signature. Raises ValueError as `id_of` does."""
    try:
        _public_key(certificate).verify(signature, data, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True


def server_context(identity: Identity, trusted: bytes | None) -> ssl.SSLContext:
    """TLS 1.3 as a server that only takes clients with the certificate `trusted`; None takes anybody."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, identity, trusted)
    # A resumed session would skip the certificate, and so outlive its being revoked.
    context.num_tickets = 0
    return context


def client_context(identity: Identity | None, trusted: bytes | None) -> ssl.SSLContext:
    """TLS 1.3 as a client that only talks to a server with the certificate `trusted`; None talks to anybody."""
    return _context(ssl.PROTOCOL_TLS_CLIENT, identity, trusted)


def peer_certificate(connection: asyncio.BaseTransport | asyncio.StreamWriter) -> bytes | None:
    """The leaf that the other side showed, in DER; None where it showed none."""
    tls = connection.get_extra_info("ssl_object")
    return None if tls is None else tls.getpeercert(binary_form=True)


def presents(connection: asyncio.BaseTransport | asyncio.StreamWriter, certificate: bytes) -> bool:
    """Whether the other side showed exactly this certificate, byte for byte."""
    shown = peer_certificate(connection)
    return shown is not None and hmac.compare_digest(shown, certificate)


def _context(protocol: int, identity: Identity | None, trusted: bytes | None) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if identity is not None:
        with as_file(identity.pem()) as path:
            context.load_cert_chain(path)
    if trusted is not None:
        context.load_verify_locations(cadata=trusted)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _private_key(der: bytes) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_der_private_key(der, password=None)
    except TypeError as error:
        raise ValueError("the private key is encrypted") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("the private key is not on P-256")
    return key


def _public_key(certificate: bytes) -> ec.EllipticCurvePublicKey:
    try:
        key = x509.load_der_x509_certificate(certificate).public_key()
    except Exception as error:  # the library has several kinds for bytes that are not what they should be
        raise ValueError("not a certificate of a key that we know") from error
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("the certificate's key is not on P-256")
    return key
