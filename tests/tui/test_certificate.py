"""Certificates in words. The real ones are the example of the design, and the three of docs/certificates.md that look
different."""

import json
from dataclasses import replace

import pytest

from appliance.proofs import envelope
from appliance.proofs.certificate import Certificate, Egress, Intent, Pii, intent_payload, payload, recovered
from appliance.proofs.envelope import Signer
from tests.proofs.conftest import (
    ORIGIN,
    answer_text,
    certificate,
    certificate_payload,
    intent,
    keys,
    local_certificate,
    request_body,
    signed,
    signer,
)
from tui.certificate import checks, digest, id_in, key_count, outcome, words
from tui.tools import Step, Verdict

__all__ = [
    "answer_text",
    "certificate",
    "certificate_payload",
    "intent",
    "keys",
    "local_certificate",
    "request_body",
    "signed",
    "signer",
]


@pytest.fixture
def in_words(signer: Signer):
    def told(one: Certificate) -> str:
        file = signer.sign(envelope.CERTIFICATE, payload(one, origin=ORIGIN, index=413)).file()
        return "\n".join(words(file, {"key_bbbbbbbbbbbbbbbbbbbbbbbbbb": "n8n"}))

    return told


def test_everything_that_it_says(in_words, certificate: Certificate, signer: Signer):  # type: ignore[no-untyped-def]
    told = in_words(certificate)
    for value in (
        "Came       2026-11-29 18:57:03.120Z, ended 2026-11-29 18:57:05.007Z",
        "n8n (key_bbbbbbbbbbbbbbbbbbbbbbbbbb)",
        "Workspace  ws_aaaaaaaaaaaaaaaaaaaaaaaaaa",
        "pulse-auto+cortex (with knowledge asked for)",
        f"/v1/chat/completions, {certificate.intent.request.bytes} bytes",
        "↗ left the building: sent to openai",
        "model gpt-4o, attempts: 1",
        "task=complex -> configured model",
        "3 values: EMAIL, IBAN (shield: standard)",
        "✓ complete, status 200",
        "812 read, 233 written",
        "bail « Martin ».pdf, page 4",
        certificate.intent.request.sha256,
        certificate.intent.gateway.policy,
        certificate.response.sha256,
        str(certificate.response.text_sha256),
        "office-1/synapse, entry 413 (its intent: 412)",
        "0.3.1, shield rules 2026-11-01",
        signer.keyid,
    ):
        assert value in told


def test_what_stayed_and_on_which_machine(in_words, local_certificate: Certificate):  # type: ignore[no-untyped-def]
    told = in_words(local_certificate)
    assert "⌂ stayed in the building" in told
    assert "accueil (ollama; known as: loopback; node-1)" in told
    assert "Masked     0 values (shield: standard)" in told


def test_one_that_was_sent_before_does_not_claim_that_nothing_left(in_words, local_certificate: Certificate):  # type: ignore[no-untyped-def]
    sent = local_certificate.egress.sent
    assert sent is not None
    again = replace(local_certificate, egress=Egress(Pii("standard"), replace(sent, attempts=2)))
    assert "stayed" not in in_words(again)
    assert "⌂ here, at the last of 2 attempts; the ledger says whether one of them left" in in_words(again)


def test_refused_before_anything_was_sent(in_words, certificate: Certificate):  # type: ignore[no-untyped-def]
    refused = replace(
        certificate,
        egress=Egress(Pii("standard")),
        response=replace(certificate.response, ending="refused", status=503, text_sha256=None),
        routing=None,
        usage=None,
        grounding=(),
    )
    told = in_words(refused)
    assert "⌂ nothing was sent to any model" in told
    assert "⊘ refused, status 503" in told
    assert "Tokens" not in told


def test_cut_off_by_a_crash(signer: Signer, intent: Intent, certificate: Certificate):
    opening = intent_payload(intent, origin=ORIGIN, index=412)
    closed = signer.sign(envelope.CERTIFICATE, recovered(opening, index=413, completed=certificate.completed))
    told = "\n".join(words(closed.file(), {}))
    assert "? unknown: the gateway died during the call; text may have left the building" in told
    assert "✗ failed" in told


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"[1]", b'{"payload":3}', b'{"payload":{"id":"prf_1"}}', b"[" * 100_000, b'{"signatures":[1]}'],
)
def test_what_is_no_certificate_is_said(data: bytes):
    assert words(data, {}) == ["This does not read as a certificate. v checks it, and names what is wrong."]


@pytest.mark.parametrize("broken", [None, 1, "x", [], {}, True])
def test_no_form_of_any_member_is_too_odd(certificate_payload: dict[str, object], broken: object):
    for name in certificate_payload:
        if name != "request":
            words(json.dumps({"payload": {**certificate_payload, name: broken}, "signatures": broken}).encode(), {})


def test_ids_keys_and_hashes():
    assert id_in(b'{"payload":{"id":"prf_1"}}') == "prf_1"
    assert id_in(b'{"payload":{"id":3}}') == "3"
    assert id_in(b"no") == ""
    assert key_count(b'{"keys":[{},{}]}') == 2
    assert key_count(b"no") == 0
    # FIPS 180-4, the example "abc"
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


class TestVerification:
    DONE = (Step("certificate", "ok", "85 bytes"), Step("keys", "missing", "none\x1b[2J"))

    def test_each_check_is_a_glyph_and_a_word(self):
        assert checks(self.DONE).plain == "1. ✓ ok      certificate: 85 bytes\n2. ? missing keys: none\\x1b[2J\n"

    def test_good_only_where_every_step_is(self):
        good = Verdict((), True, "This proves that …, not that the model was right.")
        assert outcome(self.DONE[:1], good).plain.startswith("\n✓ Good. This proves that")
        assert outcome(self.DONE, good).plain.startswith("\n✗ Not good. At least one check is bad")

    def test_a_bad_verdict_is_bad_in_its_own_words(self):
        told = outcome(self.DONE[:1], Verdict((), False, "Nothing is proved yet.")).plain
        assert told.startswith("\n✗ Not good. Nothing is proved yet.")
        assert "synapse proof verify FILE --keys keys.json" in told
        assert "docs/verify.md" in told
