"""Encrypts secrets at rest with the installation's key file, so that a copied database alone gives nothing away."""

import errno
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from appliance.errors import StateError

KEY_BYTES = 32
NONCE_BYTES = 12
KEY_FILE = "secret.key"
CREDENTIAL = "synapse-secret"
"""Name of the systemd credential that may hold the key instead of the file (systemd.exec(5))."""


class Sealer:
    """AES-256-GCM with a random nonce in front; the secret's name is authenticated, so that two cannot be swapped."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._cipher = AESGCM(key)

    @classmethod
    def load(cls, state_dir: Path, environ: Mapping[str, str]) -> Self:
        """Read the key from the systemd credential or `secret.key`; make the file (0600) if there is none.

        Raises:
            StateError: the key cannot be read, has the wrong length, or is readable by others.
        """
        given = _credential(environ)
        if given is not None:
            return cls(given)
        path = state_dir / KEY_FILE
        try:
            return cls(_read_or_create(path))
        except OSError as error:
            advice = (
                "Free disk space there."
                if error.errno == errno.ENOSPC
                else "It must belong to the user that runs Synapse, with mode 0600."
            )
            raise StateError(f"The key file {path} cannot be used ({error.strerror}).", advice=advice) from error

    @property
    def key(self) -> bytes:
        """The key itself, for a backup: it opens every secret."""
        return self._key

    def derived(self, purpose: str) -> bytes:
        """A key of 32 bytes for one purpose (HKDF-SHA256, RFC 5869): always the same for this key file."""
        return HKDF(hashes.SHA256(), KEY_BYTES, salt=None, info=f"synapse/{purpose}".encode()).derive(self._key)

    def seal(self, name: str, secret: bytes) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, secret, name.encode())

    def open(self, name: str, sealed: bytes) -> bytes:
        """Raises `StateError` where the key file is not the one that sealed this secret."""
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], name.encode())
        except (InvalidTag, ValueError) as error:
            raise StateError(
                f"The stored secret {name!r} does not open with this key file.",
                advice="Put back the secret.key that belongs to this database (it is part of every backup).",
            ) from error


def read_key(state_dir: Path, environ: Mapping[str, str]) -> bytes | None:
    """The key as `Sealer.load` would find it, None where it would make one.

    Raises:
        StateError: it has the wrong length, or is readable by others.
        OSError: it cannot be read.
    """
    given = _credential(environ)
    return given if given is not None else _read(state_dir / KEY_FILE)


def credential_is_given(environ: Mapping[str, str]) -> bool:
    """Whether the key comes from systemd, so that no file holds it."""
    directory = environ.get("CREDENTIALS_DIRECTORY")
    return bool(directory) and (Path(directory) / CREDENTIAL).exists()


def _credential(environ: Mapping[str, str]) -> bytes | None:
    if not credential_is_given(environ):
        return None
    path = Path(environ["CREDENTIALS_DIRECTORY"]) / CREDENTIAL
    return _checked(path.read_bytes(), path)


def _read_or_create(path: Path) -> bytes:
    found = _read(path)
    return _create(path) if found is None else found


def _read(path: Path) -> bytes | None:
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        return None
    if path.stat().st_mode & 0o077:
        raise StateError(f"The key file {path} is readable by others.", advice=f"Run: chmod 600 {path}")
    return _checked(found, path)


def _create(path: Path) -> bytes:
    """A new key, in a file that is either whole or not there."""
    key = secrets.token_bytes(KEY_BYTES)
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(path)
    _sync_directory(path.parent)
    return key


def _sync_directory(directory: Path) -> None:
    """Make the new name itself survive a loss of power: without its key a database is worthless."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _checked(key: bytes, path: Path) -> bytes:
    if len(key) != KEY_BYTES:
        raise StateError(
            f"The key file {path} holds {len(key)} bytes instead of {KEY_BYTES}.",
            advice="Put back the file from your backup.",
        )
    return key
