from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from appliance.commands import text
from appliance.proofs import envelope
from appliance.proofs.certificate import (
    Certificate,
    Egress,
    Gateway,
    Intent,
    Node,
    Pii,
    Request,
    Response,
    Routing,
    Sent,
    Usage,
    payload,
)
from appliance.proofs.keyset import KeySet, PublicKey
from tests.admin.played import client, daemon, database, listening

__all__ = ["client", "daemon", "database", "listening"]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output is a terminal of 80 columns."""
    monkeypatch.setattr(text, "available", lambda: 80)


@dataclass(frozen=True)
class Evidence:
    """A certificate's file and the keys' file, as `synapse proof show` and `synapse proof keys` write them."""

    certificate: Path
    keys: Path


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    # The key of RFC 8032, section 7.1, test 1.
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    signer = envelope.Signer(Ed25519PrivateKey.from_private_bytes(seed))
    at = datetime(2026, 11, 29, 18, 57, 3, tzinfo=UTC)
    hashed = sha256(b"body").hexdigest()
    pii = Pii("standard")
    sent = Sent("ollama", "smollm2", hashed, 1, Node("node-1", "box", "ollama", "loopback"))
    certificate = Certificate(
        intent=Intent(
            id="prf_abcdefghijklmnopqrstuvwxyz",
            workspace="ws_aaaaaaaaaaaaaaaaaaaaaaaaaa",
            key="key_bbbbbbbbbbbbbbbbbbbbbbbbbb",
            gateway=Gateway("0.1.0", "2026-11-01", hashed),
            received=at,
            request=Request("/v1/chat/completions", "pulse-auto", hashed, 4, False),
            address={"kind": "auto"},
            pii=pii,
        ),
        intent_index=1,
        completed=at,
        egress=Egress(pii, sent),
        response=Response("complete", hashed, 200, hashed),
        routing=Routing("simple", "fast", "task=simple -> fast model (ollama/smollm2)"),
        usage=Usage(23, 40),
    )
    signed = signer.sign(envelope.CERTIFICATE, payload(certificate, origin="office-1/synapse", index=2))
    found = Evidence(tmp_path / "cert.json", tmp_path / "keys" / "keys.json")
    found.keys.parent.mkdir()
    found.certificate.write_bytes(signed.file())
    found.keys.write_bytes(KeySet((PublicKey(signer.public, "certificate", 0),)).to_json())
    return found
