"""The join key, from the page Nodes."""

from appliance.admin import node_wire
from appliance.admin.client import Client
from tests.tui.seats import Seat
from tui.screens import join_key


async def in_force(client: Client) -> node_wire.ClusterKey:
    key = (await client.cluster_key()).key
    assert key is not None
    return key


async def test_none_is_made_before_somebody_says_so(seat: Seat, client: Client):
    await seat.press("2", "k")
    await seat.reads("There is no join key. Make one?", "It holds for a week.")
    await seat.press("enter")
    assert (await client.cluster_key()).key is None
    await seat.press("k", "y")
    await seat.sees("synk_", "It holds until 2026-12-06 18:57Z.", "synapse node serve --cluster-key-stdin")
    key = await in_force(client)
    assert key.key in "".join(line.strip(" │") for line in seat.lines())
    await seat.press("y")
    assert seat.console.clipboard == key.key
    await seat.press("escape")
    assert "synk_" not in seat.text()


async def test_the_one_in_force_is_shown_as_it_is(seat: Seat, client: Client):
    key = await client.new_cluster_key(node_wire.NewClusterKey(uses=1))
    await seat.press("2", "k")
    await seat.sees("It holds for one more machine.", "N new", "X revoke")
    assert (await in_force(client)).key == key.key


async def test_another_takes_its_place_after_a_question(seat: Seat, client: Client):
    before = await client.new_cluster_key(node_wire.NewClusterKey())
    await seat.press("2", "k")
    await seat.sees("synk_")
    await seat.press("N")
    await seat.sees("Make a new join key", "Machines", "Holds until")
    await seat.type("none")
    await seat.press("ctrl+s")
    await seat.sees("✗ Machines: a whole number above zero.")
    await seat.press(*["backspace"] * 4, "3", "enter")
    await seat.type("2w")
    await seat.press("enter")
    await seat.sees("in its place?", "n or enter: no, change nothing")
    await seat.press("enter")
    await seat.sees("Make a new join key", "2w")
    assert (await in_force(client)).key == before.key
    await seat.press("enter")
    await seat.sees("in its place?")
    await seat.press("y")
    await seat.sees("It holds until 2026-12-13 18:57Z and for 3 more machines.")
    assert (await in_force(client)).key != before.key


async def test_revoking_asks_first(seat: Seat, client: Client):
    await client.new_cluster_key(node_wire.NewClusterKey())
    await seat.press("2", "k")
    await seat.sees("synk_")
    await seat.press("X")
    await seat.sees("Revoke the join key?", "Machines that have joined stay.")
    await seat.press("enter")
    await seat.sees("synk_")
    await seat.press("X", "y")
    await seat.sees("✓ Nobody joins with the join key any more.")
    assert (await client.cluster_key()).key is None


def test_how_long_a_key_holds():
    key = node_wire.ClusterKey("synk_x", "2026-11-29T18:57:03.120Z", None, None, True, ())
    assert join_key.bounds(key) == "until it is revoked"
