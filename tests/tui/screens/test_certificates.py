"""The certificates' page, with real certificates, real keys, and forged ones."""

import stat
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from appliance.admin import wire
from appliance.admin.client import Client
from appliance.proofs import envelope
from appliance.proofs.certificate import Certificate, payload
from appliance.proofs.envelope import Signed, Signer
from appliance.proofs.keyset import KeySet, PublicKey
from tests.admin.played import Daemon
from tests.proofs.conftest import (
    ORIGIN,
    answer_text,
    certificate,
    certificate_payload,
    intent,
    keys,
    local_certificate,
    other_signer,
    request_body,
    signed,
    signer,
)
from tests.tui.seats import LARGE, Seat, seated
from tests.waiting import until
from tui.widgets.table import Table

__all__ = [
    "answer_text",
    "certificate",
    "certificate_payload",
    "intent",
    "keys",
    "local_certificate",
    "other_signer",
    "request_body",
    "signed",
    "signer",
]

OUTSIDE, LOCAL = "prf_abcdefghijklmnopqrstuvwxyz", "prf_localabcdefghijklmnopqrstu"


def row(proof_id: str, index: int, provider: str | None, ending: str = "complete") -> wire.Proof:
    at = f"2026-11-29T18:5{index % 10}:03.120Z"
    return wire.Proof(proof_id, index, at, "default", "pulse-auto", provider, "gpt-4o", ending)


@pytest.fixture
def served(listening: Daemon, signed: Signed, signer: Signer, local_certificate: Certificate, keys: bytes) -> Daemon:
    """A daemon with two certificates, and the key that signed them."""
    proofs = listening.proofs
    there = replace(local_certificate, intent=replace(local_certificate.intent, id=LOCAL))
    proofs.files[OUTSIDE] = signed.file()
    proofs.files[LOCAL] = signer.sign(envelope.CERTIFICATE, payload(there, origin=ORIGIN, index=415)).file()
    proofs.rows += [row(OUTSIDE, 413, "openai"), row(LOCAL, 415, "ollama")]
    proofs.key_set = keys
    return listening


@pytest.fixture
async def seat(client: Client, served: Daemon) -> AsyncIterator[Seat]:
    async with seated(client) as seat:
        await seat.press("7")
        await seat.sees("ASKED FOR")
        await until(lambda: len(seat.row_ids()) == 2)
        yield seat


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    monkeypatch.setenv("HOME", str(made))
    return made


def flipped(data: bytes, at: bytes) -> bytes:
    """One bit of one byte is another, just after `at`: still JSON."""
    place = data.index(at) + len(at)
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


async def test_the_newest_first_and_where_each_was_answered(seat: Seat):
    assert seat.row_ids() == [LOCAL, OUTSIDE]
    await seat.sees("▸ 11-29 18:55  pulse-auto", "⌂ here", "↗ outside", "✓ complete")


async def test_a_wide_terminal_has_the_whole_id(client: Client, served: Daemon):
    async with seated(client, size=LARGE) as seat:
        await seat.press("7")
        await seat.sees(OUTSIDE, LOCAL)


async def test_none_yet(client: Client):
    async with seated(client) as seat:
        await seat.press("7")
        await seat.sees("No certificate yet: each call leaves one.")
        await seat.press("v", "e", "enter")
        await seat.sees("No certificate yet: each call leaves one.")


async def test_a_certificate_in_words(seat: Seat, client: Client):
    await seat.press("down", "enter")
    await seat.sees(f"Certificate {OUTSIDE}", "↗ left the building: sent to openai", "3 values: EMAIL, IBAN")
    await seat.sees("v verify", "e export", "y copy", "esc close")
    await seat.press("y")
    await until(lambda: seat.console.clipboard == OUTSIDE)
    await seat.press(*["pagedown"] * 2)
    await seat.sees("office-1/synapse, entry 413")


async def test_a_good_certificate_is_verified_step_by_step(seat: Seat):
    await seat.press("v")
    await seat.sees(f"Verify {LOCAL}", "✓ Good. This proves that the holder of the listed key signed")
    await seat.sees(
        "not that the model was right", "synapse proof verify FILE --keys keys.json", "docs/verify.md", "e export"
    )
    await seat.press("pageup", "pageup")
    await seat.sees("1. ✓ ok      certificate: ", "2. ✓ ok      public keys: 1 key", "3. ✓ ok      profile: ")
    assert "✗" not in seat.text()


async def test_from_the_details_too(seat: Seat):
    await seat.press("enter", "v")
    await seat.sees(f"Verify {LOCAL}", "✓ Good.")


@pytest.mark.parametrize("place", [b'"model":"', b'"sig":"', b'"count":', b'"mode":"'])
async def test_a_certificate_with_one_byte_changed_is_shown_as_bad(seat: Seat, served: Daemon, place: bytes):
    served.proofs.files[LOCAL] = flipped(served.proofs.files[LOCAL], place)
    await seat.press("v")
    await seat.sees("✗ Not good. At least one check is bad: do not rely on")
    await seat.press("pageup", "pageup")
    await seat.sees("✗ bad")
    assert "✓ Good" not in seat.text()


async def test_one_that_another_key_has_signed_is_bad(
    seat: Seat, served: Daemon, other_signer: Signer, certificate: Certificate
):
    forged = replace(certificate, intent=replace(certificate.intent, id=LOCAL))
    served.proofs.files[LOCAL] = other_signer.sign(
        envelope.CERTIFICATE, payload(forged, origin=ORIGIN, index=415)
    ).file()
    await seat.press("v")
    await seat.sees("✗ Not good.", "The key file does not list key")


async def test_a_key_set_of_somebody_else_is_bad(seat: Seat, served: Daemon, other_signer: Signer):
    served.proofs.key_set = KeySet((PublicKey(other_signer.public, "certificate", 0),)).to_json()
    await seat.press("v")
    await seat.sees("✗ Not good.", "The key file does not list key")


async def test_the_good_certificate_of_another_call_is_bad(seat: Seat, served: Daemon):
    served.proofs.files[LOCAL] = served.proofs.files[OUTSIDE]
    await seat.press("v")
    await seat.sees("✗ Not good. At least one check is bad")
    await seat.press("pageup", "pageup")
    await seat.sees("1. ✗ bad     certificate: ", "it is not the")


async def test_what_cannot_be_fetched_proves_nothing(seat: Seat, served: Daemon):
    del served.proofs.files[LOCAL]
    await seat.press("v")
    await seat.sees("1. ? missing evidence: There is no certificate")
    assert "Good" not in seat.text()


async def test_a_certificate_and_the_keys_go_to_files_byte_for_byte(seat: Seat, served: Daemon, home: Path):
    await seat.press("e")
    await seat.sees("Export a certificate", f"{LOCAL}.json and keys.json, byte for byte.")
    await seat.press("enter")
    await seat.sees("✓ In", "bytes) and keys.json (")
    path = home / f"{LOCAL}.json"
    assert path.read_bytes() == served.proofs.files[LOCAL]
    assert (home / "keys.json").read_bytes() == served.proofs.key_set
    assert sorted(names(home)) == ["keys.json", path.name]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    sizes = [len(data) for data in (served.proofs.files[LOCAL], served.proofs.key_set)]
    assert seat.notice() == f"✓ In {home} now: {path.name} ({sizes[0]} bytes) and keys.json ({sizes[1]} bytes)."
    # The next one finds the same keys there, and asks nothing.
    await seat.press("down", "e", "enter")
    await seat.sees(f"{OUTSIDE}.json")
    assert (home / f"{OUTSIDE}.json").read_bytes() == served.proofs.files[OUTSIDE]


async def test_other_files_are_replaced_only_after_a_yes(seat: Seat, served: Daemon, home: Path):
    (home / "keys.json").write_bytes(b"mine")
    await seat.press("e", "enter")
    await seat.sees("Replace what is there?", "keys.json", "n or enter: no, change nothing")
    await seat.press("enter")
    await seat.sees("Export a certificate", "~")
    assert names(home) == ["keys.json"]
    assert (home / "keys.json").read_bytes() == b"mine"
    await seat.press("enter")
    await seat.sees("Replace what is there?")
    await seat.press("y")
    await seat.sees("✓ In", "bytes) and keys.json (")
    assert (home / "keys.json").read_bytes() == served.proofs.key_set


async def test_a_directory_that_is_not_there(seat: Seat):
    await seat.press("e", "backspace")
    await seat.type("/none")
    await seat.press("enter")
    await seat.sees("✗ There is no directory /none: make it, or name another.")


async def test_an_id_that_leads_elsewhere_is_no_file(seat: Seat, served: Daemon, home: Path):
    odd = "../prf_x"
    served.proofs.rows.append(row(odd, 416, None, "refused"))
    await seat.press("ctrl+r", "home")
    await until(lambda: seat.row_ids()[0] == odd)
    await seat.press("home", "e")
    await seat.sees("../prf_x is no name for a file.")
    assert names(home) == []


async def test_one_is_found_by_its_id_though_it_is_not_on_the_list(seat: Seat, served: Daemon):
    served.proofs.rows.clear()
    await seat.press("ctrl+r")
    await seat.sees("No certificate yet")
    await seat.press("f")
    await seat.sees("Find a certificate", "prf_…, the x-pulse-proof of the answer")
    await seat.type(OUTSIDE)
    await seat.press("enter")
    await seat.sees(f"Certificate {OUTSIDE}", "openai")


@pytest.mark.parametrize("typed", ["", "keys", "..", "a/b", "prf_", "prf_a/b", "prf_" + "x" * 65])
async def test_what_is_no_id_is_said_before_anybody_is_asked(seat: Seat, typed: str):
    await seat.press("7", "f")
    await seat.sees("Find a certificate")
    await seat.type(typed)
    await seat.press("ctrl+s")
    await seat.sees("Find a certificate", "✗ That is no id: prf_ and 26 letters and digits.")


async def test_an_unknown_id_is_said(seat: Seat):
    await seat.press("f")
    await seat.type("prf_none")
    await seat.press("enter")
    await seat.sees('✗ There is no certificate "prf_none".')


async def test_older_ones_come_when_the_end_is_near_and_500_at_most(client: Client, listening: Daemon):
    listening.proofs.add(620)
    async with seated(client) as seat:
        await seat.press("7")
        for loaded in (100, 200, 300, 400, 500):
            await until(lambda loaded=loaded: len(seat.row_ids()) == loaded)
            await seat.press("end")
        await seat.sees("500 certificates are loaded. f finds an older one by its id.")
        # Who comes back from a certificate is where they were.
        chosen = seat.console.screen.query_one(Table).chosen
        before = seat.lines()
        await seat.press("enter")
        await seat.sees("does not read as a certificate")
        await seat.press("escape")
        assert seat.lines() == before
        assert seat.console.screen.query_one(Table).chosen == chosen


async def test_a_new_one_appears_with_its_call(seat: Seat, served: Daemon):
    served.proofs.rows.append(row("prf_new", 417, None, "refused"))
    told = wire.Call("2026-11-29T18:57:04Z", "prf_new", "default", None, None, None, "refused", 900, 1, 1)
    served.activity.calls.insert(0, told)
    served.tell()
    await until(lambda: seat.row_ids() == ["prf_new", LOCAL, OUTSIDE])
    assert seat.console.screen.query_one(Table).line == 0


async def test_the_filter(seat: Seat):
    await seat.press("slash")
    await seat.type("outside")
    await until(lambda: seat.row_ids() == [OUTSIDE])
    await seat.press("enter", "escape")
    await until(lambda: len(seat.row_ids()) == 2)


def names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]
