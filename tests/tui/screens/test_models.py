"""The page Models at a real admin socket; what a machine says of a pull is played."""

from dataclasses import replace

import pytest

from appliance.admin import node_wire, pull_wire
from appliance.admin.api import create_app
from appliance.admin.client import Client
from appliance.admin.events import Events, Pace
from appliance.admin.peers import AdminListener
from appliance.admin.pulls import Pulls
from appliance.lanes.pulling import Progress, PullFailed
from tests.admin.played import MACHINE, NOW, Daemon
from tests.tui.seats import LARGE, SMALL, Seat, keys_of, seated
from tests.waiting import until

QWEN = replace(MACHINE, models=("smollm2:latest", "qwen3:8b"))


async def configured(client: Client, role: str) -> str | None:
    return next(one.configured for one in (await client.models()).roles if one.role == role)


async def pulls(client: Client) -> tuple[pull_wire.Pull, ...]:
    return (await client.pulls()).pulls


class TestTheRoles:
    async def test_what_each_has_and_why(self, seat: Seat, client: Client):
        await client.set_model("embedding", "nomic")
        await seat.press("8")
        await seat.sees("full       smollm2:latest", "✓ not set: the largest there is", "fast       smollm2:latest")
        await seat.sees("✓ as full", "embedding  nomic", "✗ set: no healthy machine has it")
        await seat.reads("Calls for embedding are refused until a machine has nomic: p gets it, u unsets it.")

    async def test_a_role_is_given_one_of_the_models_that_machines_have(
        self, seat: Seat, client: Client, daemon: Daemon
    ):
        daemon.machines.machines = [QWEN]
        await seat.press("8")
        await seat.sees("qwen3:8b")
        await seat.press("s")
        await seat.sees("Which role?", "fast", "✓ as full")
        await seat.press("down", "enter")
        await seat.sees("Which model for fast?", "on 127.0.0.1:11434")
        await seat.press("up", "enter")
        await seat.sees("✓ Fast is qwen3:8b from the next call on.", "fast       qwen3:8b")
        assert await configured(client, "fast") == "qwen3:8b"

    async def test_nothing_is_set_where_there_is_nothing(self, seat: Seat, daemon: Daemon):
        daemon.machines.machines = []
        daemon.default_model = None
        await seat.press("8")
        await seat.sees("No machine is in use yet: press 2, then n", "– not set: no machine has a model")
        await seat.press("s")
        await seat.sees("No machine has a model yet: p gets one.")

    async def test_a_role_falls_back_again(self, seat: Seat, client: Client):
        await seat.press("8", "u")
        await seat.sees("No role was set")
        await client.set_model("fast", "smollm2")
        await seat.sees("✓ set")
        await seat.press("u")
        await seat.sees("Which role shall fall back?", "smollm2")
        await seat.press("escape")
        assert await configured(client, "fast") == "smollm2"
        await seat.press("u", "enter")
        await seat.sees("✓ Fast is unset; its model is now as full: smollm2:latest.")
        assert await configured(client, "fast") is None

    async def test_the_second_of_two_consoles_is_told_and_overwrites_nothing(self, seat: Seat, client: Client):
        await client.set_model("fast", "smollm2")
        await seat.press("8")
        await seat.sees("✓ set")
        await seat.press("s")
        await seat.sees("Which role?")
        await seat.press("enter")
        await seat.sees("Which model for full?")
        await client.set_model("full", "mistral")
        await seat.press("enter")
        await seat.sees("✗", "has changed the model of full meanwhile (model.set", "full       mistral")
        await seat.press("u")
        await seat.sees("Which role shall fall back?")
        await client.set_model("full", "qwen3")
        await seat.press("enter")
        await seat.sees("full       qwen3")
        assert await configured(client, "full") == "qwen3"

    async def test_what_somebody_else_sets_appears_by_itself(self, seat: Seat, client: Client):
        await seat.press("8")
        await seat.sees("✓ as full")
        await client.set_model("local", "mistral")
        await seat.sees("local      mistral")


class TestTheMachines:
    async def test_what_each_has_and_what_it_is_used_for(self, seat: Seat, daemon: Daemon):
        daemon.machines.machines = [QWEN]
        await seat.press("8")
        await seat.sees("smollm2:latest", "● ready", "full, fast, local", "qwen3:8b")
        await seat.press("end", "enter")
        await seat.sees("qwen3:8b on 127.0.0.1:11434", "no role: a call gets it only by its name")

    async def test_a_machine_that_gets_ill_shows_it_by_itself(self, seat: Seat, daemon: Daemon):
        await seat.press("8")
        await seat.sees("● ready")
        daemon.machines.machines = [replace(MACHINE, healthy=False, why="no connection (refused)")]
        await seat.sees("✗ not ready", "no connection")

    async def test_the_name_is_copied_and_the_filter(self, seat: Seat, daemon: Daemon):
        daemon.machines.machines = [QWEN]
        await seat.press("8")
        await seat.sees("qwen3:8b")
        await seat.press("slash")
        await seat.type("qwen")
        await seat.press("enter", "y")
        await seat.sees("Sent to the terminal: qwen3:8b")
        assert seat.console.clipboard == "qwen3:8b"
        assert len(seat.row_ids()) == 1

    @pytest.mark.parametrize("size", [SMALL, LARGE])
    async def test_every_key_is_on_the_screen_and_nothing_is_over_it(
        self, client: Client, daemon: Daemon, size: tuple[int, int]
    ):
        daemon.machines.machines = [replace(MACHINE, models=tuple(f"model{number:02}:8b" for number in range(50)))]
        await client.set_model("embedding", "nomic")
        async with seated(client, size=size) as seat:
            await seat.press("8")
            await seat.sees("model00:8b", "p pull", "s set", "u unset", "X cancel", "/ filter", "y copy", "q quit")
            await seat.press("end", "X")
            await seat.sees(
                "model49:8b", "Choose a pull that runs, with ↑ and ↓.", "ROLE", "embedding  nomic", "q quit"
            )


class TestPulling:
    async def test_a_model_comes_and_its_progress_by_itself(self, seat: Seat, client: Client, daemon: Daemon):
        await seat.press("8", "p")
        await seat.sees("Get a model", "It goes to 127.0.0.1:11434.")
        await seat.press("enter")
        await seat.sees("✗ Name a model, such as qwen3:8b.")
        await seat.type("qwen3:8b")
        await seat.press("enter")
        await seat.sees("✓ 127.0.0.1:11434 gets qwen3:8b.", "◐ running", "it begins")
        daemon.puller.say("qwen3:8b", Progress("pulling 2bada8a74506", 2_100_000_000, 5_000_000_000))
        await seat.sees("42 %  2.1 GB of 5.0 GB")
        daemon.puller.say("qwen3:8b", Progress("pulling 2bada8a74506", 4_000_000_000, 5_000_000_000))
        await seat.sees("80 %  4.0 GB of 5.0 GB")
        daemon.machines.machines = [QWEN]
        daemon.puller.say("qwen3:8b", None)
        await seat.sees("✓ done", "✓ 127.0.0.1:11434 has qwen3:8b now.")
        (pull,) = await pulls(client)
        there = [f"{MACHINE.id}/smollm2:latest", f"{MACHINE.id}/qwen3:8b"]
        await until(lambda: seat.row_ids() == [*there, pull.id])

    async def test_the_machine_is_chosen_where_there_are_several(self, seat: Seat, client: Client, daemon: Daemon):
        made = await client.add_node(node_wire.NewNode("http://192.168.1.40:11434", name="rack"))
        await client.add_node(node_wire.NewNode("http://192.168.1.50:8000/v1", kind="openai-compatible", name="vllm"))
        await seat.press("8", "p")
        await seat.type("qwen3:8b")
        await seat.press("enter")
        await seat.sees("‹ 127.0.0.1:11434 ›", "← → change the machine.")
        await seat.press("right")
        await seat.sees("‹ rack ›")
        await seat.press("enter")
        await seat.sees("✓ rack gets qwen3:8b.")
        assert [pull.node_id for pull in await pulls(client)] == [made.id]

    async def test_one_that_fails_says_why_and_what_to_do(self, seat: Seat, client: Client, daemon: Daemon):
        await client.start_pull(pull_wire.NewPull("qwen3:9z"))
        await seat.press("8")
        await seat.sees("qwen3:9z", "◐ running")
        daemon.puller.say("qwen3:9z", PullFailed("There is no such model.", advice="See ollama.com/library."))
        await seat.sees("✗ failed")
        await seat.reads("✗ 127.0.0.1:11434 could not get qwen3:9z. There is no such model. See ollama.com/library.")
        await seat.press("end", "enter")
        await seat.sees("The pull of qwen3:9z", "There is no such model.", "See ollama.com/library.")

    async def test_keys_that_come_at_once_are_all_of_the_name(self, seat: Seat, client: Client):
        await seat.press("8")
        await seat.sees("smollm2:latest")
        await seat.burst("p", *keys_of("qwen"), "enter", "q")
        await seat.sees("✓ 127.0.0.1:11434 gets qwen.")
        assert seat.console.is_running
        assert [pull.name for pull in await pulls(client)] == ["qwen"]

    async def test_what_the_daemon_refuses_is_said(self, seat: Seat, client: Client):
        await client.start_pull(pull_wire.NewPull("qwen3:8b"))
        await seat.press("8", "p")
        await seat.type("mistral")
        await seat.press("enter")
        await seat.reads("✗ 127.0.0.1:11434 is pulling qwen3:8b now, and pulls one model at a time.", "mistral")

    @pytest.mark.parametrize("page", ["8", "5"])
    async def test_one_that_ends_with_the_daemon_is_said_to_have_broken_off(
        self, daemon: Daemon, client: Client, page: str
    ):
        socket = daemon.socket.with_suffix(".2")
        listener = await AdminListener.open(socket, create_app(daemon.service, daemon.events))
        async with Client(socket) as other, seated(other) as seat:
            await client.start_pull(pull_wire.NewPull("qwen3:8b"))
            await seat.press("8")
            await seat.sees("qwen3:8b", "◐ running")
            await seat.press(page)
            daemon.events.close()
            await listener.close()
            await seat.sees("◌ stale")
            pulls, facts = Pulls(daemon.service.pulls._parts), daemon.facts()  # pyright: ignore[reportPrivateUsage]
            daemon.parts = replace(daemon.parts, pulls=pulls, facts=lambda: replace(facts, started=NOW))
            events = Events(daemon.service.look, Pace(look=0.05, rest=0.01, alive=0.2))
            listener = await AdminListener.open(socket, create_app(daemon.service, events))
            await seat.sees("● live")
            await seat.press("8")
            await seat.sees("✗ failed", "qwen3:8b")
            await seat.reads("It broke off when the daemon ended. Press p again: what has come is not fetched twice.")
            await seat.press("p")
            await seat.sees("Get a model")
            await seat.type("qwen3:8b")
            await seat.press("enter")
            await seat.sees("◐ running")
            await until(lambda: "✗ failed" not in seat.text())
            events.close()
            await pulls.stop()
        await listener.close()

    async def test_cancelling_asks_first_and_enter_is_no(self, seat: Seat, client: Client, daemon: Daemon):
        await client.start_pull(pull_wire.NewPull("qwen3:8b"))
        daemon.puller.say("qwen3:8b", Progress("pulling 2bada8a74506", 2_100_000_000, 5_000_000_000))
        await seat.press("8")
        await seat.sees("42 %")
        await seat.press("home", "X")
        await seat.sees("Cancel the pull of qwen3:8b?", "42 %  2.1 GB of 5.0 GB", "n or enter: no, change nothing")
        await seat.press("enter")
        assert [pull.state for pull in await pulls(client)] == ["running"]
        await seat.press("X", "y")
        await seat.sees("✓ 127.0.0.1:11434 does not get qwen3:8b any more.", "– cancelled")
        await until(lambda: daemon.puller.left == 1)

    async def test_what_a_role_waits_for_is_offered(self, seat: Seat, client: Client):
        await client.set_model("full", "qwen3:30b")
        await seat.press("8")
        await seat.sees("Calls for full are refused")
        await seat.press("p", "enter")
        await seat.sees("✓ 127.0.0.1:11434 gets qwen3:30b.")
