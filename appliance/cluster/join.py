"""How a node and a gateway come to trust each other: what each signs and proves, and who is let in.

The gateway calls the node over TLS 1.3 and takes the node's certificate from the connection itself. Then:

    gateway → Hello(certificate, nonce)        node: is this the gateway that I was told?  else a refusal
    node → Challenge(nonce, ways)
    gateway → Claim(way, signature, proof)     node: verifies, pins the gateway for good
    node → Welcome(signature, proof, …)        gateway: verifies, pins the node

Both sign a transcript of both ids, both nonces, both certificates and the way: nothing of one join is of use in
another, and whoever stands in between with a certificate of his own makes the two transcripts differ. Knowing the
cluster key never lets anyone pose as the gateway, whose signature is always asked for. Pure: no I/O, no clock.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Literal

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from appliance.cluster.cluster_key import ClusterKey
from appliance.cluster.identity import Identity, id_bytes, id_of, verifies
from appliance.cluster.join_errors import Failure, JoinError
from appliance.cluster.join_messages import VERSION, WAYS, Claim, Way, Welcome
from appliance.cluster.words import words

DEADLINE_SECONDS = 10.0
"""For a whole join, on both sides."""

Side = Literal["gateway", "node"]


@dataclass(frozen=True, slots=True)
class Told:
    """What a node knows of its gateway: a cluster key, eight words, or the id that it is claimed by."""

    key: ClusterKey | None = None
    words: tuple[str, ...] | None = None
    claimed_by: str | None = None


def ways_for(gateway_id: str, told: Told) -> tuple[Way, ...]:
    """The ways in which this gateway may take the node in. An administrator's decision is one whenever the node
    knows the gateway, since its signature proves who it is.

    Raises:
        JoinError: the node belongs to another, was told of another, or of none.
    """
    if told.claimed_by is not None and told.claimed_by != gateway_id:
        raise JoinError(Failure.CLAIMED)
    if told.key is not None and told.key.gateway_id == gateway_id:
        return WAYS
    if told.claimed_by == gateway_id or told.words == words(gateway_id):
        return ("words",)
    raise JoinError(Failure.NOT_TOLD if told.key is None and told.words is None else Failure.NOT_MY_GATEWAY)


@dataclass(frozen=True, slots=True)
class Transcript:
    """What both sides saw. `gateway` and `node` are their certificates in DER."""

    gateway: bytes
    node: bytes
    gateway_nonce: bytes
    node_nonce: bytes
    way: Way

    def digest(self) -> bytes:
        """SHA-256 over every part with its length in front, so that no part can reach into the next."""
        parts = (
            b"synapse join",
            str(VERSION).encode(),
            id_bytes(id_of(self.gateway)),
            id_bytes(id_of(self.node)),
            self.gateway_nonce,
            self.node_nonce,
            hashlib.sha256(self.gateway).digest(),
            hashlib.sha256(self.node).digest(),
            self.way.encode(),
        )
        return hashlib.sha256(b"".join(len(part).to_bytes(4, "big") + part for part in parts)).digest()


def claim(gateway: Identity, transcript: Transcript, secret: bytes | None) -> Claim:
    """What the gateway sends; `secret` is the cluster key's, None for the way `words`."""
    signature = gateway.sign(_signed("gateway", transcript))
    return Claim(transcript.way, signature, _proof(secret, "gateway", transcript))


def check_claim(received: Claim, transcript: Transcript, secret: bytes | None) -> None:
    """The node's check. Raises JoinError: the gateway's key did not sign, or it does not know the secret."""
    signed = verifies(transcript.gateway, received.signature, _signed("gateway", transcript))
    if not signed or not _equal(received.proof, _proof(secret, "gateway", transcript)):
        raise JoinError(Failure.NOT_PROVEN)


def welcome(
    node: Identity, transcript: Transcript, secret: bytes | None, *, name: str, port: int, slots: int | None
) -> Welcome:
    """What the node answers, once it has pinned the gateway."""
    signature = node.sign(_signed("node", transcript))
    return Welcome(_proof(secret, "node", transcript), signature, name, port, slots)


def check_welcome(received: Welcome, transcript: Transcript, secret: bytes | None) -> None:
    """The gateway's check. Raises JoinError: the node's key did not sign, or it does not know the secret."""
    signed = verifies(transcript.node, received.signature, _signed("node", transcript))
    if not signed or not _equal(received.proof, _proof(secret, "node", transcript)):
        raise JoinError(Failure.NODE_NOT_PROVEN)


def _signed(side: Side, transcript: Transcript) -> bytes:
    return f"synapse join: signed by the {side}\n".encode() + transcript.digest()


def _proof(secret: bytes | None, side: Side, transcript: Transcript) -> bytes | None:
    """An HMAC that only who knows the secret can make, under a key for one direction (RFC 5869, RFC 2104)."""
    if secret is None:
        return None
    label = f"synapse join: proof of the {side}".encode()
    key = HKDF(hashes.SHA256(), 32, salt=None, info=label).derive(secret)
    return hmac.digest(key, transcript.digest(), "sha256")


def _equal(received: bytes | None, expected: bytes | None) -> bool:
    if received is None or expected is None:
        return received is expected
    return hmac.compare_digest(received, expected)
