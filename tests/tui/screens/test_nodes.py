"""The page Nodes at a real admin socket, with real nodes in the test's process."""

from dataclasses import replace
from pathlib import Path

import pytest

from appliance.admin import node_wire
from appliance.admin.client import Client
from appliance.cluster.addresses import id_at
from appliance.cluster.identity import Identity
from appliance.cluster.words import words
from tests.admin.nearby import OLLAMA, hear, nearby
from tests.admin.played import Daemon
from tests.tui.seats import LARGE, SMALL, Seat, seated
from tests.waiting import until

ATTIC_ID = id_at("http://192.168.1.30:11434")
RACK = "http://192.168.1.40:11434"


async def state(client: Client, node_id: str) -> str | None:
    return next((node.state for node in (await client.nodes()).nodes if node.id == node_id), None)


async def rack(client: Client, **given: str) -> node_wire.Node:
    return await client.add_node(node_wire.NewNode(RACK, name=given.get("name", "rack")))


class TestTheList:
    async def test_the_machine_of_the_settings_and_what_holds_for_all(self, seat: Seat, client: Client):
        found = await client.nodes()
        await seat.press("2")
        await seat.sees("127.0.0.1:11434", "● active", "loopback", "0/4", " ".join(found.gateway_words))
        await seat.sees("--gateway-words", "No call waits.")

    async def test_candidates_come_first_and_by_themselves(self, seat: Seat, daemon: Daemon):
        await seat.press("2")
        await seat.sees("● active")
        assert "? candidate" not in seat.text()
        hear(daemon.cluster, OLLAMA)
        await seat.sees(ATTIC_ID[:16], "? candidate", "open")
        assert seat.row_ids()[0] == ATTIC_ID

    async def test_why_nobody_is_discovered(self, seat: Seat, daemon: Daemon):
        daemon.cluster.problem = "port 5353 is taken by another program"
        await seat.press("2")
        await seat.reads("No machines are discovered: port 5353 is taken by another program.")

    async def test_everything_of_a_machine_in_its_detail(self, seat: Seat, client: Client, daemon: Daemon):
        daemon.cluster.health.ill[id_at(RACK)] = "it closes the connection without an answer, which takes long to say"
        made = await rack(client)
        await seat.press("2")
        await seat.sees("rack", "✗ unhealthy", "it closes the conn")
        await seat.press("down", "enter")
        await seat.reads("Machine rack", made.id, RACK, "known by its address only", "which takes long to say.")
        await seat.sees("Words       none: it has no key")

    async def test_a_name_is_text_and_nothing_else(self, seat: Seat, client: Client):
        await rack(client, name="[red]x[/red] [b")
        await seat.press("2")
        await seat.sees("[red]x[/red] [b")
        await seat.press("down", "X")
        await seat.sees("Put out the machine [red]x[/red] [b?")

    async def test_what_was_put_out_is_hidden_until_it_is_asked_for(self, seat: Seat, client: Client, daemon: Daemon):
        hear(daemon.cluster, OLLAMA)
        await seat.press("2")
        await seat.sees("? candidate")
        await client.reject_node(ATTIC_ID)
        await seat.sees("1 put out or rejected: h shows it.")
        assert ATTIC_ID not in seat.row_ids()
        await seat.press("h")
        await seat.sees("– rejected")
        await seat.press("h")
        assert ATTIC_ID not in seat.row_ids()

    async def test_the_filter(self, seat: Seat, client: Client):
        await rack(client)
        await seat.press("2")
        await seat.sees("rack")
        await seat.press("slash")
        await seat.type("rack")
        assert seat.row_ids() == [id_at(RACK)]
        await seat.press("escape")
        assert len(seat.row_ids()) == 2

    async def test_it_asks_again_when_it_is_told_to(self, seat: Seat, daemon: Daemon):
        await seat.press("2")
        await seat.sees("● active")
        daemon.events.close()  # nothing comes by itself any more
        await seat.sees("◌ stale")
        daemon.cluster.problem = "no interface is up"
        await seat.press("ctrl+r")
        await seat.sees("No machines are discovered: no interface is up.")

    @pytest.mark.parametrize("size", [SMALL, LARGE])
    async def test_every_key_is_on_the_screen_and_nothing_is_over_it(
        self, client: Client, daemon: Daemon, size: tuple[int, int]
    ):
        daemon.cluster.problem = "port 5353 is taken by another program, which is the one that the system brings along"
        for number in range(30):
            await client.add_node(node_wire.NewNode(f"http://192.168.2.{number + 1}:11434", name=f"rack {number:02}"))
        async with seated(client, size=size) as seat:
            await seat.press("2")
            await seat.sees("rack 00", "a admit", "n add", "d drain", "r resume", "k join key", "R reject", "X remove")
            await seat.sees("h hidden", "/ filter", "y copy", "q quit", "WHY UNUSED")
            await seat.press("end", "d")
            await seat.sees("rack 29", "✓ Machine rack 29 gets no more calls; none runs there.", "◐ draining", "q quit")


class TestAdmitting:
    async def test_a_person_compares_six_words_and_types_two(
        self, seat: Seat, client: Client, daemon: Daemon, tmp_path: Path
    ):
        async with nearby(tmp_path, gateway=daemon.cluster.identity, name="desk 3") as node:
            hear(daemon.cluster, node.sighting)
            await seat.press("2")
            await seat.sees("? candidate", "pinned")
            await seat.press("home", "a")
            own = words(node.id)
            await seat.reads(
                "Admit the machine", " ".join(own[:6]) + " …", "Compare the first six", "Its last two words"
            )
            assert " ".join(own[-2:]) not in seat.text()
            await seat.press("enter")
            await seat.sees("✗ Read them off the machine, and type them here.")
            await seat.type(node.last_words)
            await seat.press("enter")
            await seat.sees("✓ Machine desk 3 is admitted.", "● active")
            assert await state(client, node.id) == "active"

    async def test_wrong_words_let_nobody_in(self, seat: Seat, client: Client, daemon: Daemon, tmp_path: Path):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            hear(daemon.cluster, node.sighting)
            await seat.press("2")
            await seat.sees("? candidate")
            await seat.press("home", "a")
            await seat.sees("Its last two words")
            await seat.type(" ".join(words(Identity.create().id)[-2:]))
            await seat.press("enter")
            await seat.sees("✗ These are not the words of its key.", "Its last two words")
            assert await state(client, node.id) == "candidate"

    async def test_what_a_candidate_is_suspected_of_stands_before_its_words(
        self, seat: Seat, daemon: Daemon, tmp_path: Path
    ):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            posing = Identity.create()
            hear(daemon.cluster, replace(node.sighting, id=posing.id, instance=f"syn-{posing.id[:16]}"))
            await seat.press("2")
            await seat.sees("? candidate", "Another machine")
            await seat.press("home", "a")
            await seat.sees("! Another machine answers at this address", "Its last two words")

    async def test_one_without_a_key_is_asked_about_plainly_and_enter_is_no(
        self, seat: Seat, client: Client, daemon: Daemon
    ):
        hear(daemon.cluster, OLLAMA)
        await seat.press("2")
        await seat.sees("? candidate")
        await seat.press("home", "a")
        await seat.sees("It has no key, and is known by its address only", "http://192.168.1.30:11434")
        await seat.press("enter")
        assert await state(client, ATTIC_ID) == "candidate"
        await seat.press("home", "a", "y")
        await seat.sees("is admitted.")
        assert await state(client, ATTIC_ID) == "active"

    async def test_one_that_is_in_use_is_not_asked_for_words(self, seat: Seat):
        await seat.press("2")
        await seat.sees("● active")
        await seat.press("home", "a")
        await seat.sees("127.0.0.1:11434 is in use already.")


class TestAdding:
    async def test_a_machine_by_its_address(self, seat: Seat, client: Client):
        await seat.press("2", "n")
        await seat.sees("Take in a machine", "‹ ollama ›", "synapse://")
        await seat.press("ctrl+s")
        await seat.sees("✗ Give its address")
        await seat.type("http://192.168.1.50:8000/v1")
        await seat.press("enter", "right", "enter")
        await seat.type("vllm")
        await seat.press("enter")
        await seat.type("secret-1")
        await seat.press("enter")
        assert "secret-1" not in seat.text()
        await seat.type("many")
        await seat.press("enter")
        await seat.sees("✗ Calls: a whole number above zero.")
        await seat.press(*["backspace"] * 4, "8", "enter")
        await seat.sees("! Machine vllm is taken in. Its key goes over the network in the clear", "0/8")
        made = next(node for node in (await client.nodes()).nodes if node.name == "vllm")
        assert (made.kind, made.slots, made.url) == ("openai-compatible", 8, "http://192.168.1.50:8000/v1")

    async def test_a_nodes_own_address_makes_it_a_candidate(
        self, seat: Seat, client: Client, daemon: Daemon, tmp_path: Path
    ):
        async with nearby(tmp_path, gateway=daemon.cluster.identity) as node:
            await seat.press("2", "n")
            await seat.type(node.url)
            await seat.press("ctrl+s")
            await seat.sees("is a candidate now: a admits it.", "? candidate")
            await seat.press("home", "a")
            await seat.sees(" ".join(words(node.id)[:6]))

    async def test_an_address_outside_is_refused_with_what_to_do(self, seat: Seat, client: Client):
        await seat.press("2", "n")
        await seat.type("https://8.8.8.8")
        await seat.press("ctrl+s")
        await seat.sees("✗", "synapse provider add")
        assert len((await client.nodes()).nodes) == 1


class TestDecidingAboutOneInUse:
    async def test_it_is_drained_and_resumed(self, seat: Seat, client: Client):
        made = await rack(client)
        await seat.press("2")
        await seat.sees("rack")
        await seat.press("down", "d")
        await seat.sees("✓ Machine rack gets no more calls; none runs there.", "◐ draining")
        await seat.press("r")
        await seat.sees("✓ Machine rack gets calls again.")
        await until(lambda: "◐ draining" not in seat.text())
        assert await state(client, made.id) == "active"

    async def test_what_the_daemon_refuses_is_said(self, seat: Seat):
        await seat.press("2")
        await seat.sees("● active")
        await seat.press("d")
        await seat.sees("✗ 127.0.0.1:11434 is named in the settings, which alone decide about it.")

    async def test_putting_out_asks_for_the_name(self, seat: Seat, client: Client):
        made = await rack(client)
        await seat.press("2")
        await seat.sees("rack")
        await seat.press("down", "X")
        await seat.sees("Put out the machine rack?", 'Type "rack" to do it', "those that run there break off")
        await seat.type("desk")
        await seat.press("enter")
        await seat.sees("✗ That is another word.")
        assert await state(client, made.id) == "active"
        await seat.press(*["backspace"] * 4)
        await seat.type("rack")
        await seat.press("enter")
        await seat.sees("✓ Machine rack is put out")
        assert await state(client, made.id) is None

    async def test_one_of_the_settings_cannot_be_put_out_here(self, seat: Seat):
        await seat.press("2")
        await seat.sees("● active")
        await seat.press("X")
        await seat.reads("127.0.0.1:11434 is named in the settings", "Take it out of local.ollama")

    async def test_one_with_a_key_stays_out_until_it_is_admitted_again(
        self, seat: Seat, client: Client, daemon: Daemon, tmp_path: Path
    ):
        async with nearby(tmp_path, gateway=daemon.cluster.identity, name="desk") as node:
            hear(daemon.cluster, node.sighting)
            await seat.press("2")
            await seat.sees("? candidate")
            await client.admit_node(node_wire.Admission(node.id, node.last_words))
            await until(lambda: seat.text().count("● active") == 2)
            await seat.press("home", "down", "X")
            await seat.reads("Put out the machine desk?", "It comes back only if you admit it.")
            await seat.type("desk")
            await seat.press("enter")
            await seat.sees("✓ Machine desk is put out, and its connections are closed.")
            await seat.press("h", "end")
            await seat.sees("– revoked")
            await seat.press("X")
            await seat.sees("desk was put out before. No join key lets it in again; a does.")
            await seat.press("a")
            await seat.type(node.last_words)
            await seat.press("enter")
            await seat.sees("✓ Machine desk is admitted.")
            assert await state(client, node.id) in ("admitted", "active")


class TestRejecting:
    async def test_it_asks_and_enter_is_no_and_it_can_be_forgotten(self, seat: Seat, client: Client, daemon: Daemon):
        hear(daemon.cluster, OLLAMA)
        await seat.press("2")
        await seat.sees("? candidate")
        await seat.press("home", "X")
        await seat.sees("is only a candidate: R hides it for good.")
        await seat.press("R")
        await seat.sees("Reject the machine", "n or enter: no, change nothing")
        await seat.press("enter")
        assert await state(client, ATTIC_ID) == "candidate"
        await seat.press("R", "y")
        await seat.sees("is not shown any more.")
        assert await state(client, ATTIC_ID) == "rejected"
        await seat.press("h", "end", "X")
        await seat.reads("was rejected?", "it is a candidate again")
        await seat.press("y")
        await seat.sees("nothing is known any more.")
        await seat.sees("? candidate")

    async def test_a_machine_in_use_is_not_rejected(self, seat: Seat):
        await seat.press("2")
        await seat.sees("● active")
        await seat.press("R")
        await seat.sees("127.0.0.1:11434 is no candidate. X puts a machine out.")
