"""What every page does, seen at one of them."""

import asyncio

from appliance.admin import wire
from appliance.admin.client import Client
from tests.admin.played import Daemon
from tests.tui.seats import Seat, seated


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
