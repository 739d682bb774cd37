import io
import sys
from pathlib import Path

import pytest

from appliance.commands import console
from appliance.errors import AdminError
from appliance.proofs.envelope import Signed
from tests.proofs.conftest import (
    answer_text,
    certificate,
    certificate_payload,
    intent,
    keys,
    request_body,
    signed,
    signer,
)

__all__ = ["answer_text", "certificate", "certificate_payload", "intent", "keys", "request_body", "signed", "signer"]


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
async def test_without_a_whole_terminal_it_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    for one in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, one, terminal)
    for missing in (None, io.StringIO()):
        monkeypatch.setattr(sys, name, missing)
        with pytest.raises(AdminError, match=r"needs a terminal\. Over SSH: ssh -t HOST synapse admin"):
            await console.run(tmp_path / "admin.sock", mouse=False)


def test_a_good_certificate_is_good_in_every_step(signed: Signed, keys: bytes):
    found = console.verdict("prf_1", signed.file(), keys)
    assert [(step.name, step.state) for step in found.steps] == [
        ("profile", "ok"),
        ("keys", "ok"),
        ("signature", "ok"),
    ]
    assert found.good
    assert "not that the model was right" in found.statement


def test_one_byte_more_is_bad(signed: Signed, keys: bytes):
    found = console.verdict("prf_1", signed.file() + b"\n", keys)
    assert not found.good
    assert found.steps[0].state == "bad"
    assert "do not rely" in found.statement
