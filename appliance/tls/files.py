"""The administrator's own certificate and key: read, and checked for all that would otherwise fail in a handshake."""

import ssl
import stat
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from appliance.errors import ConfigError
from appliance.tls.contexts import Pair, server_context

MAX_BYTES = 1024 * 1024
"""A chain has some kilobytes."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the files hold. `names` are the DNS names of the certificate, without wildcards."""

    context: ssl.SSLContext = field(repr=False)
    names: tuple[str, ...]
    ends: datetime


def load(certificate: Path, key: Path, now: datetime) -> Loaded:
    """Read both.

    Raises:
        ConfigError: one cannot be read, the key is readable by others, encrypted or of another certificate, or the
            certificate does not hold now; the message says which, and what to do.
    """
    chain = _read(certificate, "certificate", "gateway.tls_certificate")
    secret = _read(key, "key", "gateway.tls_key")
    _check_private(key)
    certificates = _certificates(chain, certificate)
    _check_match(certificates, _public_key(secret, key), certificate, key)
    _check_dates(certificates[0], certificate, now)
    try:
        context = server_context(Pair(chain, secret))
    except ssl.SSLError as error:
        raise ConfigError(
            f"OpenSSL does not take the certificate {certificate} ({error.reason or 'unknown reason'}).",
            advice="Have another issued, with a P-256 key or an RSA key of 2048 bits or more.",
        ) from error
    return Loaded(context, _dns_names(certificates[0]), certificates[0].not_valid_after_utc)


def _read(path: Path, what: str, setting: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            f"The TLS {what} {path} cannot be read ({error.strerror}).",
            advice=f"Set {setting} to a file that the user who runs Synapse may read.",
        ) from error
    if len(content) > MAX_BYTES:
        raise ConfigError(f"The TLS {what} {path} is larger than {MAX_BYTES} bytes.", advice=f"Set {setting} right.")
    return content


def _check_private(path: Path) -> None:
    """Its group may read a key (`ssl-cert` of Debian has that purpose), and nobody else but its owner."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o027:
        who = "open to others" if mode & 0o007 else "writable by its group"
        raise ConfigError(f"The TLS key {path} is {who} (mode {mode:04o}).", advice=f"Run: chmod 640 {path}")


def _certificates(chain: bytes, path: Path) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(chain)
    except ValueError as error:
        raise ConfigError(
            f"{path} holds no certificate in PEM.",
            advice="Give the file that begins with -----BEGIN CERTIFICATE-----, the server's own certificate first.",
        ) from error


def _public_key(content: bytes, path: Path) -> object:
    """The public half of the private key in the file."""
    try:
        return serialization.load_pem_private_key(content, password=None).public_key()
    except TypeError as error:
        raise ConfigError(
            f"The TLS key {path} is encrypted.",
            advice=f"Nobody is there to type its password; decrypt it: openssl pkey -in {path} -out server.key",
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ConfigError(
            f"{path} holds no private key in PEM.", advice="Give the file that begins with -----BEGIN PRIVATE KEY-----."
        ) from error


def _check_match(certificates: list[x509.Certificate], public: object, certificate: Path, key: Path) -> None:
    fits = [one.public_key() == public for one in certificates]
    if not fits[0]:
        raise ConfigError(
            f"The TLS key {key} is not that of the certificate {certificate}.",
            advice="The server's own certificate must come first in the file, before those that issued it."
            if any(fits)
            else "Give the key that the certificate was issued for.",
        )


def _check_dates(leaf: x509.Certificate, path: Path, now: datetime) -> None:
    begins, ends = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    if now >= ends:
        raise ConfigError(f"The certificate {path} has expired ({ends:%Y-%m-%d}).", advice="Have a new one issued.")
    if now < begins:
        raise ConfigError(
            f"The certificate {path} does not hold before {begins:%Y-%m-%d %H:%M} UTC.",
            advice="Wait for that day, or set this machine's clock right.",
        )


def _dns_names(leaf: x509.Certificate) -> tuple[str, ...]:
    try:
        held = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(name for name in held.get_values_for_type(x509.DNSName) if not name.startswith("*"))
