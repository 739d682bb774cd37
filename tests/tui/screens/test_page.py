"""What every page does, seen at one of them."""

import asyncio

import pytest

from appliance.admin import wire
from appliance.admin.client import Client
from tests.admin.played import Daemon
from tests.tui.seats import Seat, seated
from tests.waiting import until


async def test_a_refusal_is_shown_with_its_advice_and_what_was_typed_stays(seat: Seat, client: Client):
    made = await client.create_key(wire.NewKey("n8n"))
    await seat.press("5")
    await seat.sees("n8n")
    await seat.press("n")
    await seat.type("key_x")
    await seat.press("ctrl+s")
    await seat.sees("✗ A key's name cannot begin with key_, as ids do. Choose another name.", "key_x")
    assert [key.id for key in (await client.keys()).keys] == [made.key.id]
    await seat.press("escape")
    await seat.sees("n8n", "● active")
    assert "✗" not in seat.text()


async def test_while_the_daemon_is_asked_another_question_does_not_open(client: Client):
    go_on = asyncio.Event()

    class Hung(Client):
        async def revoke_key(self, id_or_name: str) -> wire.Key:
            await go_on.wait()
            return await super().revoke_key(id_or_name)

    made = await client.create_key(wire.NewKey("n8n"))
    async with Hung(client._socket) as hung, seated(hung) as seat:  # pyright: ignore[reportPrivateUsage]
        await seat.press("5")
        await seat.sees("n8n")
        await seat.press("X", "y", "X", "n")
        await seat.sees("The daemon has not answered yet: wait for it.", "n new key")
        go_on.set()
        await seat.sees("✓ Key n8n is revoked.")
        await seat.press("n")
        await seat.sees("Make a key")
    assert [key.state for key in (await client.keys()).keys if key.id == made.key.id] == ["revoked"]


async def test_what_cannot_be_read_is_said_and_what_was_shown_stays(seat: Seat, client: Client, daemon: Daemon):
    await client.set_model("full", "smollm2")
    await seat.press("8")
    daemon.broken = True
    await seat.sees("✗ daemon in trouble")
    await seat.press("ctrl+r")
    await seat.sees("✗ The database cannot be read. Free disk space.")
    daemon.broken = False
    await seat.sees("● live")


@pytest.mark.parametrize(
    ("page", "line", "empty"),
    [
        ("2", "127.0.0.1:11434", "No machine yet."),
        ("5", "n8n", "There is no key yet."),
        ("7", "✓ complete", "No certificate yet"),
        ("8", "smollm2:latest", "No machine is in use yet"),
        ("9", "key.create", "Nothing was changed yet."),
    ],
)
async def test_a_filter_that_matches_nothing_says_so(
    seat: Seat, client: Client, daemon: Daemon, page: str, line: str, empty: str
):
    await client.create_key(wire.NewKey("n8n"))
    daemon.proofs.add(1)
    await seat.press(page)
    await seat.sees(line)
    shown = seat.row_ids()
    await seat.press("slash")
    await seat.type("Lap" + "x" * 20)
    await seat.sees("No line contains “Lapxxxxxxxxxxxxxxxx…”. esc shows all.")
    assert (seat.row_ids(), empty in seat.text()) == ([], False)
    await seat.press("escape")
    await until(lambda: seat.row_ids() == shown)
    assert "No line contains" not in seat.text()


async def test_a_filter_does_not_speak_for_lines_that_are_not_loaded(seat: Seat, daemon: Daemon):
    daemon.proofs.add(120)
    await seat.press("7")
    await seat.sees("✓ complete")
    await seat.press("slash")
    await seat.type("lap")
    await seat.sees("None of the newest 100 lines contains “lap”. esc shows all.")


async def test_a_filter_where_there_is_nothing_changes_no_advice(seat: Seat):
    await seat.press("5")
    await seat.sees("There is no key yet.")
    await seat.press("slash")
    await seat.type("lap")
    await seat.sees("lap", "There is no key yet. Press n to make one for a tool.")
