"""The console's work from end to end: a person presses the keys that the screen shows, at 80×24, on the real daemon.

Machines are doubles of Ollama; the node agent, the daemon and the terminal are real. What was done is looked up
through the admin API.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from appliance.admin.client import Client
from appliance.proofs import verify as offline
from tests.e2e.installation import SYNAPSE, Installation, free_port
from tests.e2e.needs import need
from tests.e2e.tmux import Tmux
from tests.upstreams.ollama import DOWNLOADED, OllamaDouble, ollama_double
from tests.upstreams.openai import openai_double
from tests.waiting import until

SMALL = (80, 24)


@dataclass
class Office:
    """An installation with one machine, where nothing was set up, and a person at its console."""

    installation: Installation
    machine: OllamaDouble
    admin: Client
    person: Tmux
    home: Path

    async def ask(self, text: str = "Hi") -> httpx.Response:
        """One call of a tool."""
        async with httpx.AsyncClient() as http:
            return await http.post(
                f"{self.installation.base}/v1/chat/completions",
                json={"model": "pulse-auto", "messages": [{"role": "user", "content": text}]},
                headers=self.installation.headers,
            )

    async def log_says(self, log: Path, text: str) -> None:
        await until(lambda: text in log.read_text(), 20)


@asynccontextmanager
async def office(directory: Path) -> AsyncIterator[Office]:
    need("tmux")
    async with ollama_double(models=["llama3.2:3b"]) as machine:
        made = Installation(directory / "state", machine.url)
        made.environ |= {"SYNAPSE_ADMIN_SOCKET": str(directory / "admin.sock"), "HOME": str(directory)}
        await asyncio.to_thread(made.start)
        person = Tmux(directory, [SYNAPSE, "admin"], made.environ, size=SMALL)
        try:
            async with Client(directory / "admin.sock") as admin:
                await person.sees("● live")
                yield Office(made, machine, admin, person, directory)
        finally:
            person.close()
            assert await asyncio.to_thread(made.stop) == 0


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Office]:
    async with office(tmp_path) as made:
        yield made


async def test_a_key_is_made(here: Office):
    person = here.person
    await person.press("5", "n")
    await person.sees("Make a key")
    await person.type("n8n")
    await person.press("^s")
    screen = await person.sees("shown this once", "sk_live_")
    secret = next(word for word in screen.split() if word.startswith("sk_live_"))
    here.installation.key = secret
    assert (await here.ask()).status_code == 200
    await person.press("esc")
    await person.sees("✓ Key n8n is made.")
    assert "n8n" in [key.name for key in (await here.admin.keys()).keys]


async def test_a_node_is_admitted_by_its_last_two_words(here: Office):
    join_port, words = free_port(), " ".join((await here.admin.nodes()).gateway_words)
    log = here.home / "node.log"
    told = {
        "--ollama": here.machine.url,
        "--host": "127.0.0.1",
        "--port": str(free_port()),
        "--join-port": str(join_port),
        "--gateway-words": words,
        "--state": str(here.home / "node"),
    }
    arguments = [one for pair in told.items() for one in pair]
    with log.open("wb") as out:
        agent = await asyncio.create_subprocess_exec(
            *(SYNAPSE, "node", "serve", "--name", "reception", "--no-announce", *arguments),
            env=here.installation.environ,
            stderr=out,
        )
    try:
        person = here.person
        await here.log_says(log, "its words are")
        await person.press("2", "n")
        await person.sees("Take in a machine")
        await person.type(f"synapse://127.0.0.1:{join_port}")
        await person.press("^s")
        await person.sees("? candidate", "a admits it")
        (node,) = [one for one in (await here.admin.nodes()).nodes if one.state == "candidate"]
        assert " ".join(node.words) in log.read_text()  # what the person reads off the machine
        await person.press("a")
        await person.sees("Admit the machine", node.words[0], node.words[5])
        await person.type(" ".join(node.words[-2:]))
        await person.press("enter")
        await person.sees("✓ Machine reception is admitted.", "reception         ● active")
        assert {one.state for one in (await here.admin.nodes()).nodes if one.id == node.id} == {"active"}
    finally:
        agent.terminate()
        await agent.wait()


async def test_medical_mode_is_set_by_typing_it(here: Office):
    person = here.person
    await person.press("3", "m", "down", "enter")
    await person.sees('Type "medical"')
    await person.type("medical")
    await person.press("enter")
    await person.sees("✓ The shield is set to medical.", "shield medical")
    assert (await here.admin.shield()).mode == "medical"


async def test_a_provider_is_added_and_an_allow_list_written(here: Office):
    person = here.person
    async with openai_double() as outside:
        await person.press("4", "n")
        await person.sees("Add a provider")
        await person.press("enter")
        await person.type("openai")
        await person.press("enter")
        await person.type(outside.url)
        await person.press("enter")
        await person.type("sk-of-the-office")
        await person.press("enter")
        await person.type("gpt-4o")
        await person.press("^s")
        await person.sees("✓ Provider openai is added.")
        await person.press("l")
        await person.sees("best first")
        await person.press("space", "down", "space", "enter")
        await person.sees("Calls may leave the building to: openai.")
        await person.press("y")
        await person.sees("✓ The allow-list of default is written.", "Allow-list       ollama → openai")
        assert (await here.admin.policy()).allow == ("ollama", "openai")


async def test_a_call_is_found_and_its_certificate_verified_and_exported(here: Office):
    person = here.person
    asked = await here.ask("Hello")
    proof_id = asked.headers["x-pulse-proof"]
    await person.press("6")
    await person.sees("llama3.2:3b", "✓ complete")
    await person.press("c")
    await person.sees(proof_id)
    await person.press("v")
    await person.sees("✓ Good.", "signature")
    await person.press("e")
    await person.sees("Export")
    await person.press("^s")
    file = here.home / f"{proof_id}.json"
    await person.sees(f"{proof_id}.json", "bytes)", "v verify")
    certificate, keys = file.read_bytes(), (here.home / "keys.json").read_bytes()
    assert certificate == await here.admin.proof(proof_id)
    assert offline.verify({file.name: certificate}, keys).exit_code == 0
    assert json.loads(certificate)["payload"]["egress"]["local"] is True


async def test_a_model_is_pulled_and_its_progress_is_seen(here: Office):
    half = asyncio.Event()
    manifest, begun, quarter, *others = DOWNLOADED
    here.machine.pulls.append(here.machine.fetches(manifest, begun, quarter, half, *others))
    person = here.person
    await person.press("8", "p")
    await person.sees("Get a model")
    await person.type("qwen3:8b")
    await person.press("^s")
    await person.sees("qwen3:8b", "◐ running", "25 %")
    (pull,) = (await here.admin.pulls()).pulls
    assert (pull.state, pull.completed, pull.total) == ("running", 1_000_000_000, 4_000_000_000)
    half.set()
    await person.sees("✓ done")
    (pull,) = (await here.admin.pulls()).pulls
    assert pull.state == "done"
    assert "qwen3:8b" in (await here.admin.models()).machines[0].models
