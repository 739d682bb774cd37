import io
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from appliance.admin.client import Client
from appliance.commands import proofs
from appliance.commands.outcome import EvidenceMissing
from tests.admin.played import Daemon
from tests.commands.conftest import Evidence


@pytest.mark.usefixtures("terminal")
async def test_list_is_newest_first_and_says_how_to_go_on(client: Client, listening: Daemon):
    listening.proofs.add(3)
    outcome = await proofs.show_all(client, 2, None)
    assert [line.split()[0] for line in outcome.lines] == ["ID", f"prf_{2:026d}", f"prf_{1:026d}"]
    assert all(len(line) <= 80 for line in outcome.lines)
    assert outcome.notes == ("Older ones: synapse proof list --before 1",)
    assert outcome.document["next_before"] == 1
    last = await proofs.show_all(client, 2, 1)
    assert (len(last.lines), last.notes) == (2, ())


async def test_an_empty_list_says_so(client: Client):
    assert (await proofs.show_all(client, None, None)).lines == ("There is no certificate yet.",)


async def test_show_and_keys_are_the_exact_bytes(client: Client, listening: Daemon):
    listening.proofs.files["prf_x"] = b'{"payload":{"id":"prf_x"}}'
    assert (await proofs.show(client, "prf_x")).raw == b'{"payload":{"id":"prf_x"}}'
    assert (await proofs.keys(client)).raw == b'{"keys":[]}'


def no_settings() -> NoReturn:
    pytest.fail("the settings were asked for")


class TestVerify:
    def test_with_keys_of_the_auditor_nothing_else_is_needed(self, evidence: Evidence):
        outcome = proofs.verify([str(evidence.certificate)], str(evidence.keys), no_settings)
        assert outcome.code == 0
        assert outcome.document["exit"] == 0
        assert outcome.document["keys"] == str(evidence.keys)
        assert outcome.notes == (f"Checked with the public keys of {evidence.keys}.",)
        assert "This proves" in outcome.lines[-1]

    def test_with_the_keys_that_a_daemon_keeps_here(self, evidence: Evidence):
        outcome = proofs.verify([str(evidence.certificate)], None, lambda: evidence.keys.parent)
        assert outcome.code == 0
        assert outcome.document["keys"] == str(evidence.keys)
        assert "this machine's own public keys" in outcome.notes[0]

    def test_without_keys_the_evidence_is_missing(self, evidence: Evidence, tmp_path: Path):
        outcome = proofs.verify([str(evidence.certificate)], None, lambda: tmp_path / "none")
        assert outcome.code == 3
        assert outcome.document["keys"] is None
        assert "synapse proof keys > keys.json" in outcome.notes[0]

    def test_a_bad_file_is_bad_even_without_keys(self, tmp_path: Path):
        (tmp_path / "cert.json").write_text("{}")
        outcome = proofs.verify([str(tmp_path / "cert.json")], None, lambda: tmp_path / "none")
        assert outcome.code == 1

    def test_one_changed_byte_is_bad(self, evidence: Evidence):
        data = evidence.certificate.read_bytes()
        evidence.certificate.write_bytes(data.replace(b'"complete"', b'"refused"'))
        outcome = proofs.verify([str(evidence.certificate)], str(evidence.keys), no_settings)
        assert outcome.code == 1

    def test_standard_input(self, evidence: Evidence, monkeypatch: pytest.MonkeyPatch):
        stdin = io.TextIOWrapper(io.BytesIO(evidence.certificate.read_bytes()))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert proofs.verify(["-"], str(evidence.keys), no_settings).code == 0

    @pytest.mark.parametrize("name", ["missing.json", ".", "a\0b"])
    def test_a_file_that_cannot_be_read(self, evidence: Evidence, tmp_path: Path, name: str):
        named = name if "\0" in name else str(tmp_path / name)
        with pytest.raises(EvidenceMissing, match="cannot be read"):
            proofs.verify([str(evidence.certificate), named], str(evidence.keys), no_settings)
        with pytest.raises(EvidenceMissing, match="cannot be read"):
            proofs.verify([str(evidence.certificate)], named, no_settings)
