import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from appliance.errors import ProofError
from appliance.proofs import canonical, envelope
from appliance.proofs.certificate import Certificate, Intent, intent_payload, payload, recovered
from appliance.proofs.envelope import Signed, Signer
from appliance.proofs.keyset import KeySet, PublicKey
from appliance.proofs.verify import Report, matches, render, to_json, verify

ORIGIN = "office-1/synapse"


def statuses(report: Report) -> list[tuple[str, str]]:
    return [(check.name, check.status) for check in report.checks]


def test_a_good_certificate(signed: Signed, keys: bytes) -> None:
    report = verify({"cert.json": signed.file()}, keys)
    assert statuses(report) == [("profile", "ok"), ("keys", "ok"), ("signature", "ok")]
    assert report.exit_code == 0
    *checks, statement = render(report)
    assert len(checks) == 3
    assert all("cert.json" in line for line in checks)
    assert signed.keyid in checks[2]
    assert "not that the model was right" in statement
    assert "nor that the host was honest before it signed" in statement


def test_a_recovered_certificate_is_good(signer: Signer, intent: Intent, keys: bytes, certificate: Certificate) -> None:
    opening = intent_payload(intent, origin=ORIGIN, index=412)
    closed = signer.sign(envelope.CERTIFICATE, recovered(opening, index=413, completed=certificate.completed))
    assert verify({"a": closed.file()}, keys).exit_code == 0


def test_without_keys_evidence_is_missing(signed: Signed) -> None:
    report = verify({"cert.json": signed.file()}, None)
    assert statuses(report) == [("profile", "ok"), ("keys", "missing"), ("signature", "missing")]
    assert report.exit_code == 3
    assert report.statement.startswith("Nothing is proved")


def test_a_bad_file_stays_bad_without_keys(signed: Signed) -> None:
    assert verify({"cert.json": signed.file() + b"\n"}, None).exit_code == 1


def test_bad_outweighs_missing_and_good(signed: Signed, keys: bytes) -> None:
    report = verify({"good": signed.file(), "bad": b"{}"}, keys)
    assert [check.status for check in report.checks] == ["ok"] * 3 + ["bad", "missing", "missing"]
    assert report.exit_code == 1
    assert report.statement.startswith("At least one check is bad")


@pytest.mark.parametrize(
    "data",
    [
        b'{"error":"There is no certificate here.","code":"not_found"}',
        b'{"error": {"message": "No valid API key.", "type": "authentication_error", "code": "x", "param": null}}',
    ],
)
def test_an_error_answer_that_was_saved_instead_is_named(data: bytes, keys: bytes) -> None:
    report = verify({"cert.json": data}, keys)
    assert statuses(report) == [("profile", "bad"), ("keys", "missing"), ("signature", "missing")]
    assert report.checks[0].text == (
        "This is an error that the gateway answered with, not a certificate: look into the file."
    )
    assert report.exit_code == 1


@pytest.mark.parametrize("data", [b"{}", b'["error"]', b'"error"', b"error"])
def test_any_other_file_is_not_taken_for_one(data: bytes, keys: bytes) -> None:
    assert "gateway" not in verify({"cert.json": data}, keys).checks[0].text


def test_no_file_is_no_success(keys: bytes) -> None:
    with pytest.raises(ProofError, match="no certificate"):
        verify({}, keys)


def key_set(*keys: PublicKey) -> bytes:
    return KeySet(keys).to_json()


def test_the_key_must_be_listed_for_it(signed: Signed, signer: Signer, other_signer: Signer) -> None:
    def found(*keys: PublicKey) -> list[tuple[str, str]]:
        report = verify({"cert.json": signed.file()}, key_set(*keys))
        assert report.exit_code == (0 if all(check.status == "ok" for check in report.checks) else 1)
        return statuses(report)[1:]

    public, other = signer.public, other_signer.public
    assert found() == [("keys", "bad"), ("signature", "missing")]
    assert found(PublicKey(other, "certificate", 0)) == [("keys", "bad"), ("signature", "missing")]
    assert found(PublicKey(public, "checkpoint", 0)) == [("keys", "bad"), ("signature", "ok")]
    assert found(PublicKey(public, "certificate", 414)) == [("keys", "bad"), ("signature", "ok")]
    assert found(PublicKey(public, "certificate", 0, 412)) == [("keys", "bad"), ("signature", "ok")]
    assert found(PublicKey(public, "certificate", 413, 413)) == [("keys", "ok"), ("signature", "ok")]
    retired = PublicKey(other, "certificate", 0, 100)
    assert found(retired, PublicKey(public, "certificate", 100)) == [("keys", "ok"), ("signature", "ok")]


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b'{"keys":[{}]}'])
def test_an_unusable_key_file_is_bad(signed: Signed, data: bytes) -> None:
    report = verify({"cert.json": signed.file()}, data)
    assert statuses(report)[1:] == [("keys", "bad"), ("signature", "missing")]
    assert report.exit_code == 1


def test_a_signature_of_another_key(signed: Signed, other_signer: Signer, keys: bytes) -> None:
    forged = replace(signed, signature=other_signer.sign(envelope.CERTIFICATE, signed.payload).signature)
    report = verify({"cert.json": forged.file()}, keys)
    assert statuses(report) == [("profile", "ok"), ("keys", "ok"), ("signature", "bad")]
    assert report.exit_code == 1


def test_the_type_is_signed_too(signer: Signer, certificate_payload: dict[str, object], keys: bytes) -> None:
    as_intent = signer.sign(envelope.INTENT, certificate_payload)
    assert statuses(verify({"a": as_intent.file()}, keys))[0] == ("profile", "bad")
    renamed = replace(as_intent, payload_type=envelope.CERTIFICATE)
    assert statuses(verify({"a": renamed.file()}, keys)) == [("profile", "ok"), ("keys", "ok"), ("signature", "bad")]


def test_a_signed_payload_with_a_field_missing(signer: Signer, certificate: Certificate, keys: bytes) -> None:
    said: Any = payload(certificate, origin=ORIGIN, index=413)
    del said["egress"]["pii"]
    report = verify({"a": signer.sign(envelope.CERTIFICATE, said).file()}, keys)
    assert statuses(report) == [("profile", "bad"), ("keys", "missing"), ("signature", "ok")]
    assert report.checks[0].text == "egress.pii is missing."
    assert report.exit_code == 1


def test_fields_of_a_later_version_of_the_program_pass(
    signer: Signer, certificate_payload: dict[str, object], keys: bytes
) -> None:
    later = signer.sign(envelope.CERTIFICATE, {**certificate_payload, "region": {"name": "north"}})
    assert verify({"a": later.file()}, keys).exit_code == 0


def test_lines_are_harmless_for_a_terminal(keys: bytes) -> None:
    report = verify({"a\x1b[2J\u202e\n.json": b'{"\x1b[2J":1}', "b": b'{"\\u001b[2J":1.5}'}, keys)
    lines = render(report)
    assert len(lines) == 7
    assert all(line.isprintable() for line in lines)
    assert "a\\x1b[2J\\u202e\\n.json" in lines[0]


def test_the_json_form(signed: Signed, keys: bytes) -> None:
    report = verify({"cert.json": signed.file()}, keys)
    said: Any = json.loads(json.dumps(to_json(report)))
    assert said["exit"] == 0
    assert said["statement"] == render(report)[-1]
    assert [(one["file"], one["check"], one["status"]) for one in said["checks"]] == [
        ("cert.json", "profile", "ok"),
        ("cert.json", "keys", "ok"),
        ("cert.json", "signature", "ok"),
    ]
    assert all(one["text"] for one in said["checks"])


def test_matches(certificate_payload: dict[str, object], request_body: bytes, answer_text: str) -> None:
    assert matches(certificate_payload, request=request_body, text=answer_text)
    assert matches(certificate_payload, request=request_body)
    assert matches(certificate_payload, text=answer_text)
    assert not matches(certificate_payload, request=request_body + b" ", text=answer_text)
    assert not matches(certificate_payload, request=request_body, text=answer_text + "\n")
    assert not matches(certificate_payload, request=b"")
    assert not matches(certificate_payload, text="\ud800")


def test_a_certificate_without_an_answer_matches_no_text(intent: Intent, certificate: Certificate) -> None:
    opening = intent_payload(intent, origin=ORIGIN, index=412)
    assert not matches(recovered(opening, index=413, completed=certificate.completed), text="")


def test_matches_needs_something_to_compare(certificate_payload: dict[str, object]) -> None:
    with pytest.raises(ProofError, match="nothing to compare"):
        matches(certificate_payload)
    with pytest.raises(ProofError, match="v is missing"):
        matches({}, text="")


def test_a_hash_is_of_the_bytes_as_given(certificate_payload: Any, request_body: bytes) -> None:
    """The design: hashes are of exact bytes."""
    assert certificate_payload["request"]["sha256"] == hashlib.sha256(request_body).hexdigest()
    respelled = json.dumps(json.loads(request_body)).encode()
    assert not matches(certificate_payload, request=respelled)


def test_canonical_form_is_asked_of_the_whole_file(signed: Signed, keys: bytes) -> None:
    content = json.loads(signed.file())
    assert verify({"a": canonical.encode(content)}, keys).exit_code == 0
    for spelled in (json.dumps(content), json.dumps(content, indent=2), json.dumps(content, sort_keys=True)):
        assert verify({"a": spelled.encode()}, keys).exit_code == 1
