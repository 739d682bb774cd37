"""The cluster key: one line that tells a node which gateway to trust, and lets it in without a click (cluster.md).

It holds the gateway's id and a secret that both sides prove to each other that they know. Knows nothing of how.
"""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass, field

from appliance.cluster.identity import ID_BYTES, id_bytes
from appliance.errors import ConfigError

PREFIX = "synk_"
SECRET_BYTES = 20
"""160 bits."""

_VERSION = b"\x01"
_CHECK_BYTES = 2
"""Enough to tell a typing mistake from a key that was revoked."""


@dataclass(frozen=True, slots=True)
class ClusterKey:
    """`secret` are SECRET_BYTES unpredictable bytes. Raises ValueError: the id is none, or the secret too short."""

    gateway_id: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        id_bytes(self.gateway_id)
        if len(self.secret) != SECRET_BYTES:
            raise ValueError("a cluster key's secret has 20 bytes")

    def text(self) -> str:
        """`synk_` and 88 characters of lower-case base32: version, id, secret, check."""
        body = _VERSION + id_bytes(self.gateway_id) + self.secret
        return PREFIX + base64.b32encode(body + _check(body)).decode().lower()


def parse(text: str) -> ClusterKey:
    """The key in this line; spaces around it and upper case are forgiven.

    Raises:
        ConfigError: it is not a cluster key, or not whole. The message never quotes it.
    """
    line = text.strip().lower()
    if not line.startswith(PREFIX):
        raise ConfigError("This is not a cluster key.", advice="It begins with synk_: see `synapse cluster key show`.")
    try:
        raw = base64.b32decode(line.removeprefix(PREFIX).upper())
    except (binascii.Error, ValueError):
        raw = b""
    body, check = raw[:-_CHECK_BYTES], raw[-_CHECK_BYTES:]
    if len(body) != len(_VERSION) + ID_BYTES + SECRET_BYTES or not hmac.compare_digest(check, _check(body)):
        raise ConfigError(
            "The cluster key is damaged: a character is missing or wrong.",
            advice="Copy the whole line that `synapse cluster key show` prints on the gateway.",
        )
    if body[:1] != _VERSION:
        raise ConfigError(
            "The cluster key is of a newer kind than this version knows.", advice="Update Synapse on this machine."
        )
    node_id = base64.b32encode(body[1 : 1 + ID_BYTES]).decode().lower().rstrip("=")
    return ClusterKey(node_id, body[1 + ID_BYTES :])


def _check(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:_CHECK_BYTES]
