from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from appliance.proofs import envelope
from appliance.proofs.certificate import (
    Certificate,
    Egress,
    Gateway,
    Intent,
    Node,
    Passage,
    Pii,
    Request,
    Response,
    Routing,
    Sent,
    Usage,
    payload,
)
from appliance.proofs.envelope import Signed, Signer
from appliance.proofs.keyset import KeySet, PublicKey

ORIGIN = "office-1/synapse"


@pytest.fixture
def signer() -> Signer:
    """The key of RFC 8032, section 7.1, test 1."""
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    return Signer(Ed25519PrivateKey.from_private_bytes(seed))


@pytest.fixture
def other_signer() -> Signer:
    """The key of RFC 8032, section 7.1, test 2."""
    seed = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
    return Signer(Ed25519PrivateKey.from_private_bytes(seed))


@pytest.fixture
def request_body() -> bytes:
    return '{"model":"pulse-auto+cortex","messages":[{"role":"user","content":"Quel préavis ?"}]}'.encode()


@pytest.fixture
def answer_text() -> str:
    return "Trois mois, à compter de la réception. 🗓"


@pytest.fixture
def intent(request_body: bytes) -> Intent:
    return Intent(
        id="prf_abcdefghijklmnopqrstuvwxyz",
        workspace="ws_aaaaaaaaaaaaaaaaaaaaaaaaaa",
        key="key_bbbbbbbbbbbbbbbbbbbbbbbbbb",
        gateway=Gateway("0.3.1", "2026-11-01", sha256(b"policy").hexdigest()),
        received=datetime(2026, 11, 29, 18, 57, 3, 120_000, tzinfo=UTC),
        request=Request(
            "/v1/chat/completions", "pulse-auto+cortex", sha256(request_body).hexdigest(), len(request_body), False
        ),
        address={"kind": "auto", "cortex": True},
        pii=Pii("standard"),
    )


@pytest.fixture
def certificate(intent: Intent, answer_text: str) -> Certificate:
    """The example of the certificate's design: an external call with masking and grounding."""
    return Certificate(
        intent=intent,
        intent_index=412,
        completed=datetime(2026, 11, 29, 18, 57, 5, 7_999, tzinfo=UTC),
        egress=Egress(
            Pii("standard", 3, ("IBAN", "EMAIL")), Sent("openai", "gpt-4o", sha256(b"masked body").hexdigest(), 1)
        ),
        response=Response("complete", sha256(b"delivered").hexdigest(), 200, sha256(answer_text.encode()).hexdigest()),
        routing=Routing("complex", "full", "task=complex -> configured model (openai/gpt-4o)"),
        grounding=(Passage("bail « Martin ».pdf", "chunk-1", sha256(b"passage").hexdigest(), 4),),
        usage=Usage(812, 233),
    )


@pytest.fixture
def local_certificate(certificate: Certificate) -> Certificate:
    node = Node("node-1", "accueil", "ollama", "loopback")
    sent = Sent("ollama", "smollm2", sha256(b"body").hexdigest(), 1, node)
    return replace(
        certificate,
        egress=Egress(Pii("standard"), sent),
        routing=Routing("sensitive", "local", "sensitive=true -> local Ollama (data never leaves machine)"),
        grounding=(),
    )


@pytest.fixture
def certificate_payload(certificate: Certificate) -> dict[str, object]:
    return payload(certificate, origin=ORIGIN, index=413)


@pytest.fixture
def signed(signer: Signer, certificate_payload: dict[str, object]) -> Signed:
    return signer.sign(envelope.CERTIFICATE, certificate_payload)


@pytest.fixture
def keys(signer: Signer) -> bytes:
    """The key set of an installation whose only key is in use."""
    return KeySet((PublicKey(signer.public, "certificate", 0),)).to_json()
