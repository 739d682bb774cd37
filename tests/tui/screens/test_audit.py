import sqlite3

import pytest

from appliance.admin import event_wire
from appliance.admin.client import Client
from appliance.store import audit
from appliance.times import to_ms
from tests.admin.played import NOW, Daemon
from tests.tui.seats import Seat
from tests.waiting import until
from tui.screens.audit import in_short
from tui.widgets.table import Table


async def filled(daemon: Daemon, count: int) -> None:
    """So many changes."""

    def job(conn: sqlite3.Connection) -> None:
        for n in range(count):
            audit.insert(conn, at_ms=to_ms(NOW), who="rita", action="x", subject=f"s{n}", before=None, after=None)

    await daemon.parts.database.write(job)


def chosen(seat: Seat) -> str:
    row = seat.console.screen.query_one(Table).chosen
    assert row is not None
    return row.id


async def test_who_has_changed_what_newest_first(seat: Seat, client: Client):
    await client.create_workspace("legal")
    await seat.press("9")
    await seat.sees("workspace.create      legal")
    first = seat.row_ids()
    await client.create_user("Rita")
    await seat.sees("Rita")
    assert seat.row_ids()[1:] == first
    await seat.press("home", "enter")
    await seat.sees("user.create by", "Before   –", '"name":"Rita"')


async def test_it_can_be_filtered(seat: Seat, client: Client):
    await client.create_workspace("legal")
    await client.create_user("Rita")
    await seat.press("9")
    await seat.sees("user.create")
    await seat.press("slash")
    await seat.type("legal")
    await seat.sees("workspace.create")
    assert len(seat.row_ids()) == 1


async def test_older_ones_come_when_the_end_is_near(seat: Seat, client: Client):
    for number in range(120):
        await client.create_workspace(f"w{number}")
    await seat.press("9")
    await seat.sees("w119")
    assert len(seat.row_ids()) == 100
    await seat.press("end")
    await until(lambda: len(seat.row_ids()) > 120)
    await seat.press("end")
    await seat.sees("default")


async def test_who_reads_further_down_keeps_their_place(seat: Seat, client: Client, daemon: Daemon):
    await filled(daemon, 250)
    whole = len((await client.changes(limit=500)).changes)
    await seat.press("9")
    for loaded in (100, 200, whole):
        await until(lambda loaded=loaded: len(seat.row_ids()) == loaded)
        await seat.press("end")
    before, rows, place = seat.lines()[4:], seat.row_ids(), chosen(seat)
    assert place == rows[-1]
    await client.create_workspace("legal")
    await seat.sees("Newest first · newer changes: home")
    assert (seat.lines()[4:], seat.row_ids()) == (before, rows)
    # Asked for again, also by coming back: the chosen one is among them, and stays.
    await seat.press("ctrl+r")
    await until(lambda: len(seat.row_ids()) == whole + 1 and "newer" not in seat.text())
    assert chosen(seat) == place
    await client.create_workspace("tax")
    await seat.press("1", "9")
    await seat.sees("newer changes: home")
    assert chosen(seat) == place
    await seat.press("home")
    await seat.sees("tax", "legal")
    assert "newer changes" not in seat.text()


async def test_at_the_top_what_is_new_comes_by_itself(seat: Seat, client: Client, daemon: Daemon):
    await filled(daemon, 250)
    await seat.press("9")
    await seat.sees("Newest first")
    await client.create_workspace("legal")
    await seat.sees("legal")
    assert "newer changes" not in seat.text()


async def test_it_says_where_it_stops(seat: Seat, daemon: Daemon):
    await filled(daemon, 620)
    await seat.press("9")
    for loaded in (100, 200, 300, 400, 500):
        await until(lambda loaded=loaded: len(seat.row_ids()) == loaded)
        await seat.press("end")
    await seat.sees("500 changes are loaded. Older ones are kept, in the database and its backups.")
    assert len(seat.row_ids()) == 500


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (None, '{"name":"legal"}', "legal"),
        (None, '{"uses":3}', "subject"),
        ('{"name":"n8n","state":"active"}', '{"name":"n8n","state":"revoked"}', "n8n: state active → revoked"),
        ('"standard"', '"medical"', "standard → medical"),
        (None, '["openai","ollama"]', "– → openai, ollama"),
        ('["openai"]', None, "openai → –"),
        (None, None, "– → –"),
    ],
)
def test_what_is_different_in_a_few_words(before: str | None, after: str | None, shown: str):
    assert in_short(event_wire.Change(1, "", "rita", "x", "subject", before, after)) == shown
