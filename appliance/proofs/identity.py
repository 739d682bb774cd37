"""The installation as a signer: its name in the log and the key that signs, made at the first start.

The private key is stored sealed; the log's first entry announces the public one, signed by itself.
"""

import base64
import sqlite3
from dataclasses import dataclass
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from appliance.errors import StateError
from appliance.ids import RandomBytes
from appliance.proofs import log
from appliance.proofs.certificate import VERSION, timestamp
from appliance.proofs.envelope import KEY, Signer
from appliance.proofs.keyset import CERTIFICATE_ROLE, KeySet, PublicKey
from appliance.store import installation, signing_keys
from appliance.store.sealing import Sealer
from appliance.store.signing_keys import SigningKeyRow
from appliance.times import to_ms

INSTALLATION_BYTES = 10
"""80 random bits: installations never share an origin, and the name says nothing of the office."""


@dataclass(frozen=True, slots=True)
class Identity:
    """`origin` names this installation's log in every certificate."""

    origin: str
    signer: Signer


def load(conn: sqlite3.Connection, sealer: Sealer, *, random: RandomBytes, now: datetime) -> Identity:
    """The installation's identity, made in this transaction where there is none.

    Raises:
        StateError: the stored key does not open with this key file, or is missing.
    """
    name = installation.get(conn)
    if name is None:
        return _create(conn, sealer, random, now)
    active = [key for key in signing_keys.all_keys(conn) if key.last is None and key.role == CERTIFICATE_ROLE]
    if len(active) != 1:
        raise StateError("The database has no signing key in use.", advice="Restore the newest backup.")
    private = sealer.open(_secret_name(active[0].keyid), active[0].sealed)
    return Identity(_origin(name), Signer(Ed25519PrivateKey.from_private_bytes(private)))


def public_keys(conn: sqlite3.Connection) -> KeySet:
    """Every key that ever signed here, for auditors."""
    return KeySet(tuple(PublicKey(key.public, key.role, key.first, key.last) for key in signing_keys.all_keys(conn)))


def _create(conn: sqlite3.Connection, sealer: Sealer, random: RandomBytes, now: datetime) -> Identity:
    name = base64.b32encode(random(INSTALLATION_BYTES)).decode().lower()
    private = Ed25519PrivateKey.generate()
    signer = Signer(private)
    identity = Identity(_origin(name), signer)
    installation.create(conn, name, to_ms(now))
    index, _ = log.append(conn, signer, KEY, lambda index: _announcement(identity, index, now))
    sealed = sealer.seal(_secret_name(signer.keyid), private.private_bytes_raw())
    signing_keys.insert(conn, SigningKeyRow(signer.keyid, CERTIFICATE_ROLE, signer.public, sealed, index, None))
    return identity


def _announcement(identity: Identity, index: int, now: datetime) -> dict[str, object]:
    public = PublicKey(identity.signer.public, CERTIFICATE_ROLE, index)
    jwk = {name: value for name, value in public.jwk().items() if name not in ("last", "status")}
    return {
        "v": VERSION,
        "log": {"origin": identity.origin, "index": index},
        "time": {"announced": timestamp(now)},
        "key": jwk,
    }


def _origin(name: str) -> str:
    return f"{name}/synapse"


def _secret_name(keyid: str) -> str:
    return f"signing-key/{keyid}"
