import csv
import io
from dataclasses import replace

import pytest

from appliance.admin import looks
from appliance.admin.client import Client
from appliance.admin.ledger_wire import CallsQuestion, Which
from appliance.commands import ledger
from appliance.store.retention import delete_old
from tests.admin.ledgers import fill
from tests.admin.played import MACHINE, Daemon


@pytest.fixture
async def filled(listening: Daemon) -> Daemon:
    await fill(listening)
    return listening


@pytest.mark.usefixtures("terminal", "filled")
async def test_the_newest_calls_and_what_all_come_to(client: Client):
    outcome = await ledger.show(client, Which(), 2, None)
    text = "\n".join(outcome.lines)
    assert all(len(line) <= 80 for line in outcome.lines)
    assert "calls      5, 2200 tokens read and 440 written" in text
    assert "questions  4.5" in text
    assert "cost       $0.0045 + 2 unknown, saved against the full model $0.001" in text
    assert [line.split()[2] for line in outcome.lines[-2:]] == ["n8n", "n8n"]
    assert [call["proof_id"] for call in outcome.document["calls"]] == ["prf_4", "prf_3"]
    cursor = outcome.document["next"]
    assert outcome.notes == (f"Older ones: the same with --before {cursor}", ledger.TIMES)
    older = await ledger.show(client, Which(), 20, cursor)
    assert [call["proof_id"] for call in older.document["calls"]] == ["prf_2", "prf_1", "prf_0"]
    assert (older.notes, older.document["next"]) == ((ledger.TIMES,), None)


async def test_nothing_says_so(client: Client):
    assert (await ledger.show(client, Which(), 20, None)).lines == (ledger.NOTHING,)
    assert (await ledger.show_sums(client, Which(), "day")).lines == (ledger.NOTHING,)


@pytest.mark.usefixtures("filled")
async def test_sums(client: Client):
    outcome = await ledger.show_sums(client, Which(), "day")
    day = outcome.lines[1].split()
    assert day[:6] == ["2026-11-28", "2", "1100+220", "4.25", "$0.0045", "$0.0005"]
    assert outcome.document["sums"][1]["calls"] == 3


@pytest.mark.usefixtures("filled")
async def test_sums_of_what_left_and_what_stayed(client: Client):
    outcome = await ledger.show_sums(client, Which(), "left")
    assert [line.split()[:2] for line in outcome.lines] == [["LEFT", "CALLS"], ["stayed", "2"], ["left", "3"]]
    assert [one["group"] for one in outcome.document["sums"]] == ["stayed", "left"]


@pytest.mark.usefixtures("filled")
async def test_a_call_that_left_says_so_though_a_machine_has_answered_it(client: Client):
    outcome = await ledger.show(client, Which(left=True), 20, None)
    assert "calls      3," in outcome.lines[0]
    outside = ("(openai)", f"(left) {MACHINE.name}", "(openai)")
    assert [name in line for line, name in zip(outcome.lines[-3:], outside, strict=True)] == [True, True, True]
    assert [(call["proof_id"], call["provider"], call["left"]) for call in outcome.document["calls"]] == [
        ("prf_3", "openai", True),
        ("prf_2", "ollama", True),
        ("prf_1", "openai", True),
    ]
    stayed = await ledger.show(client, Which(left=False), 20, None)
    assert [f" {MACHINE.name} " in line for line in stayed.lines[-2:]] == [False, True]
    assert not any("(" in line for line in stayed.lines[-2:])


@pytest.mark.usefixtures("filled")
async def test_a_call_that_a_crash_has_cut_off_says_that_it_may_have_left(client: Client):
    (refused, *_) = (await client.calls(CallsQuestion(Which()))).calls
    assert (refused.provider, ledger._where(refused), ledger._where(replace(refused, left=True))) == (
        None,
        looks.ABSENT,
        "(left)",
    )


@pytest.mark.usefixtures("filled")
async def test_an_export_has_every_call_oldest_first(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger, "EXPORT_ROWS", 2)
    written = b"".join([piece async for piece in ledger.export(client, Which())])
    rows = list(csv.DictReader(io.StringIO(written.decode(), newline="")))
    assert [row["proof_id"] for row in rows] == [f"prf_{n}" for n in range(5)]
    assert (rows[0]["cost_micro"], rows[3]["cost_micro"]) == ("0", "")
    assert [row["left"] for row in rows] == ["false", "true", "true", "true", "false"]
    # A caller chooses the address, and a spreadsheet would compute it.
    assert rows[0]["address"] == "'=pulse-auto"


async def test_an_export_of_nothing_is_its_header(client: Client):
    written = b"".join([piece async for piece in ledger.export(client, Which())])
    assert written.count(b"\r\n") == 1
    assert written.startswith(b"at,proof_id,workspace,")


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("which", "told"),
    [
        (Which(), False),
        (Which(since="2026-11-28T00:00:00.000Z", until="2026-11-30T00:00:00.000Z"), False),
        (Which(since="2026-11-28T12:00:00.000Z"), True),
        (Which(until="2026-11-29T08:00:00.000Z"), True),
    ],
)
async def test_a_span_that_is_no_whole_days_is_told_of_its_sums(client: Client, which: Which, told: bool):
    assert (ledger.WHOLE_DAYS in (await ledger.show(client, which, 20, None)).notes) == told
    assert (ledger.WHOLE_DAYS in (await ledger.show_sums(client, which, "day")).notes) == told


async def test_sums_stay_when_rows_are_gone(client: Client, filled: Daemon):
    await filled.parts.database.write(lambda conn: delete_old(conn, 2**60, 99))
    outcome = await ledger.show(client, Which(), 20, None)
    assert "calls      5" in "\n".join(outcome.lines)
    assert "Their rows are older" in outcome.notes[0]


@pytest.mark.usefixtures("filled")
async def test_as_many_calls_as_anybody_wants(client: Client):
    assert len((await ledger.show(client, Which(), 5_000, None)).document["calls"]) == 5


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("gpt-4o", "gpt-4o"),
        ("=1+1", "'=1+1"),
        (" @SUM(A1)", "' @SUM(A1)"),
        ("＝1+1", "'＝1+1"),
        ("\ufeff=1", "\\ufeff=1"),
        ("\n=1", "\\n=1"),
        ("a\x00\x1b[2Jb", "a\\x00\\x1b[2Jb"),
        ("Zoé", "Zoé"),
        (None, ""),
        (-5, "-5"),
        (True, "true"),
    ],
)
def test_a_cell_computes_nothing_and_obeys_nobody(value: str | int | None, cell: str):
    assert ledger._cell(value) == cell
