"""What every page does, seen at one of them."""

from appliance.admin import wire
from appliance.admin.client import Client
from tests.admin.played import Daemon
from tests.tui.seats import Seat


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


async def test_what_cannot_be_read_is_said_and_what_was_shown_stays(seat: Seat, client: Client, daemon: Daemon):
    await client.set_model("full", "smollm2")
    await seat.press("8")
    daemon.broken = True
    await seat.sees("✗ daemon in trouble")
    await seat.press("ctrl+r")
    await seat.sees("✗ The database cannot be read. Free disk space.")
    daemon.broken = False
    await seat.sees("● live")
