"""Claude Code does its work through the gateway: at a provider outside behind the shield, and on the office's machine.

All of it runs where there is nothing but loopback, so that none of it can need anything else, or tell anybody else.
"""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.calls.outside import TOKEN, received, spellings
from tests.e2e.claude_code import ClaudeCode
from tests.e2e.installation import SYNAPSE, Installation
from tests.e2e.loopback import loopback_only
from tests.e2e.models_with_tools import Player, ids_of
from tests.e2e.tap import Tap, tapped
from tests.upstreams.anthropic import KEY, AnthropicDouble, anthropic_double
from tests.upstreams.ollama import OllamaDouble, ollama_double

MAIL = "jane.roe@example.org"
IBAN = "FR14 2004 1010 0505 0001 3M02 606"
MARKER = "Write a note"
PROMPT = f"{MARKER} with the address {MAIL} and the account {IBAN} into the file note.txt."
NOTE = "To {}\nfrom {}\n"
CONTEXT = 32_768
CLOSING = "The note to {} is written, with the account {}."

MESSAGES = "POST /v1/messages?beta=true 200"
COUNT = "POST /v1/messages/count_tokens?beta=true 200"

pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture(scope="module")
def alone(node_clients: None) -> Iterator[None]:
    with loopback_only():
        yield


@dataclass
class Office:
    """A gateway, Claude Code before it with a tap between them."""

    gateway: Installation
    tap: Tap
    claude: ClaudeCode

    @property
    def note(self) -> Path:
        return self.claude.work / "note.txt"

    def writer(self) -> Player:
        """A model that does what the prompt asks for."""
        return Player(
            MARKER,
            (MAIL, IBAN),
            "Write",
            lambda seen: {"file_path": str(self.note), "content": NOTE.format(*seen)},
            lambda seen: CLOSING.format(*seen),
        )

    async def does_the_task(self) -> None:
        ran = await self.claude.run(PROMPT, "--allowedTools", "Write")
        done = (0, CLOSING.format(MAIL, IBAN) + "\n")
        assert (ran.code, ran.said) == done, (ran, self.tap.asked)
        assert self.note.read_text() == NOTE.format(MAIL, IBAN)


@asynccontextmanager
async def office(folder: Path, *machines: str, ready: int = 200, **environ: str) -> AsyncIterator[Office]:
    gateway = Installation(folder / "state", *machines)
    gateway.environ |= environ
    await asyncio.to_thread(gateway.start, ready=ready)
    try:
        async with tapped(gateway.port) as tap:
            yield Office(gateway, tap, ClaudeCode(folder, tap.url, gateway.key))
    finally:
        assert await asyncio.to_thread(gateway.stop) == 0


async def goes_out(gateway: Installation, double: AnthropicDouble) -> None:
    """The administrator sends the calls to this provider."""
    add = ("provider", "add", "anthropic", "--kind", "anthropic", "--base-url", double.url, "--key-stdin")
    models = ("--full", double.models[0], "--fast", double.models[1])
    done = await asyncio.to_thread(
        subprocess.run, [SYNAPSE, *add, *models], env=gateway.environ, input=f"{KEY}\n", text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    await asyncio.to_thread(gateway.command, "policy", "active", "anthropic")


@pytest.fixture
async def provider() -> AsyncIterator[AnthropicDouble]:
    async with anthropic_double() as double:
        yield double


@pytest.fixture
async def machine() -> AsyncIterator[OllamaDouble]:
    """Its model can do more than it is loaded with by default, which would not hold what Claude Code sends."""
    async with ollama_double(capabilities=["completion", "tools"], context_length=131_072) as double:
        yield double


async def test_a_task_behind_the_shield(tmp_path: Path, provider: AnthropicDouble):
    provider.system_turns = True
    made, player = await masked_task(tmp_path, provider)
    assert made.tap.asked == [MESSAGES] * 2
    assert provider.problems == []
    assert len(player.seen) == 2


async def test_a_model_that_refuses_a_system_turn_is_asked_again_without(tmp_path: Path, provider: AnthropicDouble):
    made, player = await masked_task(tmp_path, provider)
    assert made.tap.asked == [MESSAGES.replace("200", "400"), MESSAGES, MESSAGES]
    assert len(provider.problems) == 1  # Claude Code has read it, and says the same in the user's turn
    assert len(player.seen) == 2


async def masked_task(folder: Path, provider: AnthropicDouble) -> tuple[Office, Player]:
    """The task at a provider that is to see no value, neither as it is nor in any spelling."""
    async with office(folder, "http://127.0.0.1:1", ready=503, APP_MODE="cloud") as made:
        await goes_out(made.gateway, provider)
        player = made.writer()
        player.take(provider, "anthropic")
        await made.does_the_task()
        assert {row["provider"] for row in made.gateway.ledger()} == {"anthropic"}
    assert all(TOKEN.fullmatch(token) for token in player.seen[0])
    assert player.seen[0] == player.seen[-1]
    for value in (MAIL, IBAN):
        assert [form for form in spellings(value) if form in received(provider)] == []
    assert tool_input(orjson.loads(provider.received[-1]))["content"] == NOTE.format(*player.seen[0])
    return made, player


async def test_a_task_on_the_offices_own_machine(tmp_path: Path, machine: OllamaDouble):
    async with office(tmp_path, machine.url, SYNAPSE_LOCAL__CONTEXT=str(CONTEXT)) as made:
        player = made.writer()
        player.take(machine, "ollama")
        await made.does_the_task()
        assert made.tap.asked == [MESSAGES] * 2
        assert player.seen == [[MAIL, IBAN]] * 2
        for body in machine.received:
            assert orjson.loads(body)["options"]["num_ctx"] == CONTEXT > len(body) // 4
        assert {row["provider"] for row in made.gateway.ledger()} == {"ollama"}


async def test_what_fills_its_context_is_counted_without_a_call(tmp_path: Path, machine: OllamaDouble):
    async with office(tmp_path, machine.url) as made:
        ran = await made.claude.run("/context")
        assert ran.code == 0, ran.errors
        assert "| System tools |" in ran.said
        assert len(made.tap.asked) > 1
        assert set(made.tap.asked) == {COUNT}
        assert made.gateway.ledger() == []
        assert machine.received == []


def tool_input(body: dict[str, Any]) -> Any:
    """The input of the only call in a conversation."""
    calls, results = ids_of(body)
    assert calls == results
    (used,) = [
        block
        for message in body["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    return used["input"]
