import asyncio

from appliance.admin import wire
from appliance.admin.client import AdminError, Client
from tests.tui.seats import Seat, seated


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


async def test_keys_that_come_at_once_make_the_key_and_do_not_hide_it(seat: Seat, client: Client):
    await seat.press("5")
    await seat.sees("There is no key yet")
    await seat.burst("n", "n", "8", "n", *["enter"] * 8, "q", "q")
    await seat.sees("Key n8n: shown this once", "sk_live_")
    await seat.burst("enter", "q", "enter")
    await seat.sees("sk_live_", "esc: I have it, close")
    await seat.press("escape")
    await seat.sees("✓ Key n8n is made.")
    assert [key.name for key in (await client.keys()).keys] == ["n8n"]


async def test_what_is_typed_behind_the_end_of_a_form_is_in_no_field_and_leaves_nothing(seat: Seat, client: Client):
    await seat.press("5", "n")
    await seat.burst("d", "b", "l", "4", "ctrl+s", "q", "q")
    await seat.sees("Key dbl4: shown this once")
    assert [key.name for key in (await client.keys()).keys] == ["dbl4"]


async def test_a_form_opens_before_it_is_known_who_there_is(seat: Seat, client: Client):
    await client.create_user("rita")
    await seat.burst("5", "n", "n", "8", "n")
    await seat.sees("Make a key", "n8n", "‹ the default one ›")
    await seat.press("enter", "right")
    await seat.sees("‹ admin ›")
    await seat.press("ctrl+s")
    await seat.sees("sk_live_")
    assert [(key.name, key.user) for key in (await client.keys()).keys] == [("n8n", "admin")]


class Hung(Client):
    """Answers a new key only when it is told to."""

    def __init__(self, client: Client) -> None:
        super().__init__(client._socket)  # pyright: ignore[reportPrivateUsage]  the same daemon
        self.go_on = asyncio.Event()

    async def create_key(self, new: wire.NewKey) -> wire.CreatedKey:
        await self.go_on.wait()
        return await super().create_key(new)


async def test_while_a_key_is_made_this_is_said_and_no_key_does_anything(client: Client):
    async with Hung(client) as hung, seated(hung) as seat:
        await seat.press("5", "n", "n", "ctrl+s")
        await seat.sees("Asking the daemon …")
        await seat.press("x", "escape", "ctrl+s", "enter", "tab", "y", "q")
        await seat.sees("Make a key", "Asking the daemon …")
        hung.go_on.set()
        await seat.sees("Key n: shown this once")
    assert [key.name for key in (await client.keys()).keys] == ["n"]


async def test_a_dead_daemon_loses_nothing_that_was_typed(client: Client):
    class Dead(Client):
        async def create_key(self, new: wire.NewKey) -> wire.CreatedKey:
            raise AdminError("The daemon is not running.", advice="Start it.")

    async with Dead(client._socket) as dead, seated(dead) as seat:  # pyright: ignore[reportPrivateUsage]
        await seat.press("5", "n")
        await seat.type("n8n")
        await seat.press("ctrl+s")
        await seat.sees("✗ The daemon is not running. Start it.", "n8n")
        await seat.press("x")
        await seat.sees("n8nx")


async def test_a_long_name_is_seen_and_one_of_many_is_found_by_typing(seat: Seat, client: Client):
    wide = "経理部" * 9 + "二"
    for name in (wide, *(f"clerk-{number:03}" for number in range(60))):
        await client.create_user(name)
    await seat.press("5")
    await seat.sees("There is no key yet")
    await seat.press("ctrl+r", "n", "k", "enter")
    await seat.sees("enter: all 62")
    await seat.press("enter")
    await seat.sees("User", "type to find")
    await seat.type("clerk-05")
    await seat.sees("With “clerk-05”", "clerk-059")
    await seat.press("backspace", "backspace", "backspace", *["backspace"] * 5)
    await seat.type("経")
    await seat.sees(wide)
    await seat.press("enter")
    await seat.sees(f"‹ {wide[:15]}")
    await seat.press("ctrl+s")
    await seat.sees("sk_live_")
    assert [key.user for key in (await client.keys()).keys] == [wide]


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


async def test_a_name_has_room_at_80_columns(seat: Seat, client: Client):
    await client.create_key(wire.NewKey("invoices of Lyon"))
    await seat.press("5")
    await seat.sees("invoices of Lyon ")


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
