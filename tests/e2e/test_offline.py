"""Certificates are checked with the daemon stopped, and any change to any byte is refused."""

import json
from pathlib import Path

import httpx
import pytest

from tests.e2e.installation import Engine, Installation


@pytest.fixture(scope="module")
def stopped(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Installation, Path, Path]:
    """An installation that has answered one call and stopped; the certificate's file and the keys' file."""
    folder = tmp_path_factory.mktemp("offline")
    made = Installation(folder / "state", engine.url)
    made.start()
    answer = httpx.post(
        f"{made.base}/v1/chat/completions",
        json={"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4},
        headers=made.headers,
        timeout=60,
        trust_env=False,
    )
    certificate, keys = folder / "call.json", folder / "keys.json"
    proof_id = answer.headers["x-pulse-proof"]
    certificate.write_bytes(made.command("proof", "show", proof_id).stdout)
    keys.write_bytes(made.command("proof", "keys").stdout)
    assert certificate.read_bytes() == made.certificate(proof_id)
    assert made.stop() == 0
    return made, certificate, keys


def test_verified_with_the_daemon_stopped(stopped: tuple[Installation, Path, Path]):
    made, certificate, keys = stopped
    done = made.command("proof", "verify", str(certificate), "--keys", str(keys))
    assert b"signature" in done.stdout
    assert made.json("proof", "verify", str(certificate), "--keys", str(keys))
    made.command("proof", "verify", str(certificate))  # the keys that the daemon keeps in its state directory


def test_without_state_and_keys_the_evidence_is_missing(stopped: tuple[Installation, Path, Path], tmp_path: Path):
    made, certificate, keys = stopped
    elsewhere = Installation(tmp_path / "none")
    elsewhere.command("proof", "verify", str(certificate), code=3)
    elsewhere.command("proof", "verify", str(certificate), "--keys", str(keys))
    assert not (tmp_path / "none").exists()
    assert made.process is not None


def test_any_change_is_refused(stopped: tuple[Installation, Path, Path], tmp_path: Path):
    made, certificate, keys = stopped
    good = certificate.read_bytes()
    changed = tmp_path / "changed.json"
    for bad in (
        good + b"\n",
        b" " + good,
        good[:-1],
        good.replace(b'"ending":"', b'"ending": "'),
        json.dumps(json.loads(good)).encode(),
        good.replace(b'"local":true', b'"local":fals'),
        good.replace(b'"stream":false', b'"stream":true'),
        bytes([*good[:100], good[100] ^ 1, *good[101:]]),
    ):
        assert bad != good
        changed.write_bytes(bad)
        made.command("proof", "verify", str(changed), "--keys", str(keys), code=1)


def test_commands_that_need_the_daemon_say_so_in_one_line(stopped: tuple[Installation, Path, Path]):
    made, _, _ = stopped
    done = made.command("status", code=1)
    assert done.stderr.count(b"\n") == 1
    assert b"synapse serve" in done.stderr
