"""The two ways of docs/verify.md to check a certificate without us, run as they are printed."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance.proofs import canonical
from appliance.proofs.certificate import Certificate, payload
from appliance.proofs.envelope import CERTIFICATE, Signed, Signer
from appliance.proofs.keyset import KeySet, PublicKey

PAGE = Path(__file__).parents[2] / "docs" / "verify.md"
Check = Callable[[bytes, bytes], int]


def block(language: str) -> str:
    (code,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return code


def need(*programs: str) -> None:
    absent = [program for program in programs if shutil.which(program) is None]
    if absent:
        assert "CI" not in os.environ, f"{', '.join(absent)} must be installed in CI"
        pytest.skip(f"{', '.join(absent)} is not installed")


@pytest.fixture(params=["sh", "python"])
def check(request: pytest.FixtureRequest, tmp_path: Path) -> Check:
    """Runs one of the page's programs on a certificate and a key file; gives its exit status."""
    if request.param == "sh":
        need("sh", "jq", "openssl", "cmp")
    program = tmp_path / f"verify.{request.param}"
    program.write_text(block(request.param), "utf-8")
    interpreter = "sh" if request.param == "sh" else sys.executable

    def run(certificate: bytes, keys: bytes) -> int:
        (tmp_path / "cert.json").write_bytes(certificate)
        (tmp_path / "keys.json").write_bytes(keys)
        command = [interpreter, str(program), "cert.json", "keys.json"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False).returncode

    return run


def test_good_certificates_pass(check: Check, signed: Signed, keys: bytes) -> None:
    assert check(signed.file(), keys) == 0
    assert check(signed.file(), json.dumps(json.loads(keys), indent=2).encode()) == 0


def test_a_local_certificate_passes(check: Check, signer: Signer, local_certificate: Certificate, keys: bytes) -> None:
    said = payload(local_certificate, origin="office-1/synapse", index=413)
    assert check(signer.sign(CERTIFICATE, said).file(), keys) == 0


def test_tampered_certificates_are_refused(check: Check, signed: Signed, keys: bytes) -> None:
    good = signed.file()
    content = json.loads(good)
    sig = content["signatures"][0]["sig"].encode()
    bits = {b"A": b"B", b"Q": b"R", b"g": b"h", b"w": b"x"}[sig[-3:-2]]
    tampered = [
        good + b"\n",
        b" " + good,
        good[:-1],
        good.replace(b"gpt-4o", b"gpt-4p", 1),
        good.replace(b'"count":3', b'"count":2'),
        good.replace(b'"v":1', b'"v":1,"v":1'),
        good.replace(b'"index":413', b'"index":412'),
        good.replace(sig, sig[:-3] + bits + b"=="),
        good.replace(sig, sig[:10] + (b"A" if sig[10:11] != b"A" else b"B") + sig[11:]),
        good.replace(b"certificate.v1", b"intent.v1"),
        good.replace(signed.keyid.encode(), b"0" * 64),
        json.dumps(content, separators=(",", ":"), ensure_ascii=False).replace('"payload"', '"payload" ').encode(),
        canonical.encode({**content, "more": 1}),
        canonical.encode({**content, "signatures": content["signatures"] * 2}),
        b"",
        b"{}",
    ]
    for data in tampered:
        assert data != good
        assert check(data, keys) != 0, data


def test_keys_that_do_not_fit_are_refused(check: Check, signed: Signed, signer: Signer, other_signer: Signer) -> None:
    public = signer.public
    fitting = json.loads(KeySet((PublicKey(public, "certificate", 0),)).to_json())
    other = KeySet((PublicKey(other_signer.public, "certificate", 0),)).to_json()
    renamed = {"keys": [{**json.loads(other)["keys"][0], "kid": signer.keyid}]}
    assert check(signed.file(), canonical.encode(fitting)) == 0
    for keys in (
        other,
        canonical.encode(renamed),
        KeySet((PublicKey(public, "checkpoint", 0),)).to_json(),
        KeySet((PublicKey(public, "certificate", 0, 412),)).to_json(),
        KeySet((PublicKey(public, "certificate", 414),)).to_json(),
        b'{"keys":[]}',
    ):
        assert check(signed.file(), keys) != 0, keys


def test_the_python_is_as_short_as_the_page_says() -> None:
    assert len([line for line in block("python").splitlines() if line.strip()]) <= 34
