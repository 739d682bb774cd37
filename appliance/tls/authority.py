"""The installation's own certificate authority: what an office's tools are told to trust, and what it issues.

It can vouch for names of this machine and of private networks and for nothing else (RFC 5280, section 4.2.1.10): who
trusts it does not thereby trust whoever holds its key with the names of the internet.
"""

import hashlib
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Self, cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from appliance.cluster.addresses import PRIVATE_NETWORKS, Address, Network
from appliance.private_keys import pkcs8
from appliance.tls.contexts import Pair
from appliance.tls.names import Names

DAYS = 90
"""How long a certificate holds. A new one is issued long before, and at every start."""

RENEW_DAYS = 30
"""So much is left of it when the next one is issued."""

CLOCK_DAYS = 1
"""Certificates begin this much earlier, for the clocks of clients that lag behind."""

PRIVATE_DOMAINS = ("localhost", "local", "lan", "home.arpa", "internal")
"""Names that no one owns on the internet (RFC 6761, RFC 6762, RFC 8375; `internal` by ICANN, `lan` by custom)."""

VOUCHED_NETWORKS: tuple[Network, ...] = (*PRIVATE_NETWORKS, ipaddress.IPv4Network("100.64.0.0/10"))
"""The last is shared by a provider's customers, or by those of a VPN (RFC 6598): on nobody's internet, but not inside
the building either before an administrator says so."""

_FROM = datetime(2000, 1, 1, tzinfo=UTC)
_UNTIL = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
"""The CA has no expiry (RFC 5280, section 4.1.2.5): an office that forgot it would lose all its tools in a day."""


@dataclass(frozen=True, slots=True)
class Authority:
    """`certificate` is DER, `key` the private key in PKCS #8 DER."""

    certificate: bytes
    key: bytes = field(repr=False)

    @classmethod
    def create(cls, names: Names, networks: Iterable[Network] = ()) -> Self:
        """A new one, for private names and networks, for these names, and for `networks` besides (local.networks)."""
        key = ec.generate_private_key(ec.SECP256R1())
        spki = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        subject = _subject(f"Synapse CA {_called(names)[:40]} {spki.digest.hex()[:8]}")
        certificate = (
            _builder(subject, subject, key.public_key(), key.public_key(), _FROM, _UNTIL)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(ca=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.NameConstraints(_permitted(names, networks), None), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate.public_bytes(serialization.Encoding.DER), pkcs8(key, serialization.Encoding.DER))

    @property
    def pem(self) -> bytes:
        """What tools are told to trust."""
        return self._loaded().public_bytes(serialization.Encoding.PEM)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the certificate, as browsers and `openssl x509 -fingerprint` show it."""
        return hashlib.sha256(self.certificate).digest().hex(":").upper()

    def covered(self, names: Names) -> tuple[Names, tuple[str, ...]]:
        """Those that this CA may vouch for, and the rest as text."""
        constraints = self._loaded().extensions.get_extension_for_class(x509.NameConstraints).value
        permitted = [one.value for one in constraints.permitted_subtrees or ()]
        domains = [one for one in permitted if isinstance(one, str)]
        networks = [one for one in permitted if isinstance(one, ipaddress.IPv4Network | ipaddress.IPv6Network)]

        def may_name(name: str) -> bool:
            return any(name == domain or name.endswith(f".{domain}") for domain in domains)

        def may_reach(address: Address) -> bool:
            return any(address in network for network in networks)

        kept = Names(tuple(filter(may_name, names.dns)), tuple(filter(may_reach, names.addresses)))
        rest = (*(name for name in names.dns if not may_name(name)),)
        return kept, (*rest, *(str(one) for one in names.addresses if not may_reach(one)))

    def issue(self, names: Names, now: datetime) -> Pair:
        """A certificate for a server of these names, which must all be covered, with a key of its own."""
        authority = self._loaded()
        signer = cast(ec.EllipticCurvePrivateKey, serialization.load_der_private_key(self.key, password=None))
        key = ec.generate_private_key(ec.SECP256R1())
        begins, ends = now - timedelta(days=CLOCK_DAYS), now + timedelta(days=DAYS)
        held: list[x509.GeneralName] = [x509.DNSName(name) for name in names.dns]
        held += [x509.IPAddress(address) for address in names.addresses]
        subject = _subject(_called(names)[:64])
        certificate = (
            _builder(subject, authority.subject, key.public_key(), signer.public_key(), begins, ends)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(ca=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName(held), critical=False)
            .sign(signer, hashes.SHA256())
        )
        encoding = serialization.Encoding.PEM
        return Pair(certificate.public_bytes(encoding), pkcs8(key, encoding))

    def _loaded(self) -> x509.Certificate:
        return x509.load_der_x509_certificate(self.certificate)


def due(now: datetime, *, issued: datetime) -> bool:
    """Whether a certificate of that moment is to be followed by a new one; also where the clock was set back."""
    return not issued - timedelta(days=CLOCK_DAYS) <= now < issued + timedelta(days=DAYS - RENEW_DAYS)


def _called(names: Names) -> str:
    """What people call the machine."""
    return next((name for name in names.dns if name not in PRIVATE_DOMAINS), "localhost")


def _permitted(names: Names, networks: Iterable[Network]) -> list[x509.GeneralName]:
    own = (ipaddress.ip_network(one) for one in names.addresses)
    outside = [one for one in dict.fromkeys((*networks, *own)) if not _within(one, VOUCHED_NETWORKS)]
    more = [name for name in names.dns if not _below(name, PRIVATE_DOMAINS)]
    return [
        *(x509.DNSName(domain) for domain in (*PRIVATE_DOMAINS, *more)),
        *(x509.IPAddress(network) for network in (*VOUCHED_NETWORKS, *outside)),
    ]


def _below(domain: str, others: Iterable[str]) -> bool:
    return any(domain == other or domain.endswith(f".{other}") for other in others)


def _within(network: Network, others: Iterable[Network]) -> bool:
    if isinstance(network, ipaddress.IPv4Network):
        return any(isinstance(other, ipaddress.IPv4Network) and network.subnet_of(other) for other in others)
    return any(isinstance(other, ipaddress.IPv6Network) and network.subnet_of(other) for other in others)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePublicKey,
    begins: datetime,
    ends: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
    )


def _usage(*, ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )


def _subject(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
