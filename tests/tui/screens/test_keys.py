from appliance.admin import wire
from appliance.admin.client import Client
from tests.tui.seats import Seat


async def test_a_key_is_made_shown_once_and_works(seat: Seat, client: Client):
    await seat.press("5")
    await seat.sees("There is no key yet. Press n to make one for a tool.")
    await seat.press("n")
    await seat.sees("Make a key", "‹ admin ›", "‹ default ›")
    await seat.type("n8n")
    await seat.press("enter", "enter", "enter")
    await seat.type("12.5")
    await seat.press("enter")
    await seat.type("30")
    await seat.press("enter")
    await seat.type("90d")
    await seat.press("enter")
    await seat.sees("sk_live_", "shown this once", "http://192.168.1.5:8787/v1", "http://192.168.1.5:8787 ")
    (key,) = (await client.keys()).keys
    assert (key.name, key.ceiling_milli, key.requests_per_minute) == ("n8n", 12_500, 30)
    assert key.expires == "2027-02-27T18:57:03.000Z"
    await seat.press("escape")
    await seat.sees("✓ Key n8n is made.", "n8n", "● active", "02-27 18:57")
    assert "sk_live_" not in seat.text()


async def test_what_makes_no_sense_is_said_before_anything_is_made(seat: Seat, client: Client):
    await seat.press("5", "n", "ctrl+s")
    await seat.sees("✗ Give it a name, such as that of the tool.")
    await seat.type("n8n")
    await seat.press("enter", "enter", "enter")
    await seat.type("many")
    await seat.press("ctrl+s")
    await seat.sees("✗ Ceiling: a number of questions")
    await seat.press("escape")
    assert (await client.keys()).keys == ()


async def test_revoking_asks_first_and_enter_is_no(seat: Seat, client: Client):
    made = await client.create_key(wire.NewKey("n8n"))
    await seat.press("5")
    await seat.sees("n8n", "● active")
    await seat.press("X")
    await seat.sees("Revoke the key n8n?", "n or enter: no, change nothing")
    await seat.press("enter")
    assert (await client.keys()).keys[0].state == "active"
    await seat.press("X", "y")
    await seat.sees("✓ Key n8n is revoked.", "– revoked")
    (key,) = (await client.keys()).keys
    assert (key.id, key.state) == (made.key.id, "revoked")


async def test_a_key_that_somebody_else_makes_appears_by_itself(seat: Seat, client: Client):
    await seat.press("5")
    await seat.sees("There is no key yet")
    await client.create_key(wire.NewKey("laptop"))
    await seat.sees("laptop")


async def test_the_filter_and_its_end(seat: Seat, client: Client):
    for name in ("n8n", "laptop", "cursor"):
        await client.create_key(wire.NewKey(name))
    await seat.press("5")
    await seat.sees("laptop", "cursor")
    await seat.press("slash")
    await seat.type("lap")
    await seat.sees("laptop")
    assert len(seat.row_ids()) == 1
    await seat.press("enter", "enter")
    await seat.sees("Key laptop", "May         engine")
    await seat.press("escape", "escape")
    assert len(seat.row_ids()) == 3


async def test_a_name_is_text_and_nothing_else(seat: Seat, client: Client):
    await client.create_key(wire.NewKey("[red]x[/red] [@click=app.quit]"))
    await seat.press("5")
    await seat.sees("[red]x[/")
    await seat.press("enter")
    await seat.sees("Key [red]x[/red] [@click=app.quit]")


async def test_the_id_is_copied_and_shown(seat: Seat, client: Client):
    made = await client.create_key(wire.NewKey("n8n"))
    await seat.press("5")
    await seat.sees("n8n")
    await seat.press("y")
    await seat.sees(f"Sent to the terminal: {made.key.id}")
    assert seat.console.clipboard == made.key.id
