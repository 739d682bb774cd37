"""Checks certificate files against a key set: offline, without any state, for someone who trusts nobody here.

It must not read files, print or know the time. Keys come from their own file, never from a certificate.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from appliance.errors import ProofError
from appliance.proofs import canonical, envelope
from appliance.proofs.envelope import Signed
from appliance.proofs.keyset import CERTIFICATE_ROLE, KeySet, PublicKey
from appliance.proofs.profile import check_certificate

Status = Literal["ok", "bad", "missing"]

_LIMITS = "not that the model was right, nor that the host was honest before it signed"


@dataclass(frozen=True, slots=True)
class Check:
    """One asked check of one file; `missing` means that what it needs is not there."""

    file: str
    name: Literal["profile", "keys", "signature"]
    status: Status
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    checks: tuple[Check, ...]

    @property
    def exit_code(self) -> int:
        """0 every asked check passed, 1 one is bad, 3 evidence for one is missing."""
        found = {check.status for check in self.checks}
        return 1 if "bad" in found else 3 if "missing" in found else 0

    @property
    def statement(self) -> str:
        """What the checks prove together, and what they do not."""
        if self.exit_code == 1:
            return "At least one check is bad: do not rely on the files that it names."
        if self.exit_code == 3:
            return "Nothing is proved yet: evidence for at least one check is missing."
        return (
            "This proves that the holder of the listed key signed each file and that no byte of it has changed since; "
            f"{_LIMITS}."
        )


def verify(files: Mapping[str, bytes], keys: bytes | None) -> Report:
    """Check certificate files, by name, against the bytes of a key set that was obtained separately.

    Raises:
        ProofError: there is no file at all. What is wrong with a file or the keys is in the report instead.
    """
    if not files:
        raise ProofError("There is no certificate to verify.", advice="Name at least one file.")
    known = _key_set(keys)
    return Report(tuple(check for name, data in files.items() for check in _file_checks(name, data, known)))


def render(report: Report) -> list[str]:
    """One line a check, then what it proves. File names and texts are made harmless for a terminal."""
    lines = [_printable(f"{one.status:7} {one.name:9} {one.file}: {one.text}") for one in report.checks]
    return [*lines, report.statement]


def to_json(report: Report) -> dict[str, object]:
    """The report as a JSON object: `exit`, `checks` and `statement`."""
    checks = [{"file": one.file, "check": one.name, "status": one.status, "text": one.text} for one in report.checks]
    return {"exit": report.exit_code, "checks": checks, "statement": report.statement}


def matches(payload: Mapping[str, object], *, request: bytes | None = None, text: str | None = None) -> bool:
    """Whether a certificate is about exactly this request body and this answer text, of those that are given.

    Raises:
        ProofError: the payload is not a certificate's, or nothing is given to compare.
    """
    if request is None and text is None:
        raise ProofError("There is nothing to compare the certificate with.")
    check_certificate(payload)
    pairs = (
        ("request", "sha256", request),
        ("response", "textSha256", None if text is None else text.encode("utf-8", "surrogatepass")),
    )
    return all(
        cast("dict[str, object]", payload[part]).get(name) == hashlib.sha256(data).hexdigest()
        for part, name, data in pairs
        if data is not None
    )


def _key_set(keys: bytes | None) -> KeySet | ProofError | None:
    # An unusable key file fails the check of every certificate; it is no reason to stop without a report.
    try:
        return None if keys is None else KeySet.parse(keys)
    except ProofError as error:
        return error


def _file_checks(name: str, data: bytes, keys: KeySet | ProofError | None) -> list[Check]:
    try:
        signed = envelope.parse_file(data)
    except ProofError as error:
        return [
            Check(name, "profile", "bad", _ERROR_ANSWER if _is_error_answer(data) else str(error)),
            Check(name, "keys", "missing", "Not checked: the file cannot be read."),
            Check(name, "signature", "missing", "Not checked: the file cannot be read."),
        ]
    profile = _profile(name, signed)
    key, listed = _key(name, signed, keys, index=_index(signed) if profile.status == "ok" else None)
    return [profile, listed, _signature(name, signed, key)]


_ERROR_ANSWER = "This is an error that the gateway answered with, not a certificate: look into the file."


def _is_error_answer(data: bytes) -> bool:
    """Whether somebody saved what the gateway said instead of a certificate, which is no sign of a forgery."""
    try:
        found = canonical.parse(data)
    except ProofError:
        return False
    return "error" in found and "payload" not in found


def _profile(name: str, signed: Signed) -> Check:
    if signed.payload_type != envelope.CERTIFICATE:
        return Check(name, "profile", "bad", "The file is a signed statement, but not a certificate.")
    payload = signed.payload
    try:
        check_certificate(payload)
    except ProofError as error:
        return Check(name, "profile", "bad", str(error))
    ending = cast("dict[str, object]", payload["response"])["ending"]
    return Check(
        name, "profile", "ok", f"certificate {payload['id']}, canonical, every field in place; ending {ending}"
    )


def _index(signed: Signed) -> int:
    return cast("int", cast("dict[str, object]", signed.payload["log"])["index"])


def _key(
    name: str, signed: Signed, keys: KeySet | ProofError | None, *, index: int | None
) -> tuple[PublicKey | None, Check]:
    def check(status: Status, text: str) -> Check:
        return Check(name, "keys", status, text)

    if keys is None:
        return None, check("missing", "No key file was given. Get one from the operator by another way than this file.")
    if isinstance(keys, ProofError):
        return None, check("bad", f"The key file cannot be used: {keys}")
    key = keys.find(signed.keyid)
    if key is None:
        text = f"The key file does not list key {signed.keyid}. If the file is older than the certificate, get it anew."
        return None, check("bad", text)
    if key.role != CERTIFICATE_ROLE:
        return key, check("bad", f"Key {signed.keyid} is not a key for certificates.")
    if index is None:
        return key, check("missing", "Listed; its log entries were not checked, since the profile is bad.")
    if not key.covers(index):
        return key, check("bad", f"Key {signed.keyid} does not sign log entry {index}.")
    return key, check("ok", f"listed for certificates, {key.status}, and for log entry {index}")


def _signature(name: str, signed: Signed, key: PublicKey | None) -> Check:
    if key is None:
        return Check(name, "signature", "missing", "Not checked: the key is not known.")
    if not key.verifies(signed.signature, signed.message):
        return Check(name, "signature", "bad", f"Not a signature of this content by key {signed.keyid}.")
    return Check(name, "signature", "ok", f"Ed25519, by key {signed.keyid}")


def _printable(line: str) -> str:
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in line
    )
