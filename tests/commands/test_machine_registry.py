"""Each command is called with what was typed: on a daemon, through the same function as `main` calls."""

import asyncio
import io
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.arguments import parser
from appliance.cluster.addresses import id_at
from appliance.commands import node_agent
from appliance.commands.invocation import Invocation
from appliance.commands.machine_registry import MACHINE_COMMANDS
from appliance.commands.outcome import Outcome
from appliance.store import nodes
from tests.admin.nearby import OLLAMA, hear
from tests.admin.played import Daemon
from tests.admin.test_node_places import PEM
from tests.waiting import until

ATTIC_ID = id_at("http://192.168.1.30:11434")


def test_the_commands_of_the_design_are_there():
    # operations.md, "Commands".
    verbs = ("serve", "list", "add", "admit", "reject", "drain", "resume", "remove")
    assert {f"node {verb}" for verb in verbs} <= set(MACHINE_COMMANDS)
    assert {"cluster key", *(f"cluster key {verb}" for verb in ("show", "new", "revoke"))} <= set(MACHINE_COMMANDS)


class Shell:
    """Runs a line in a thread, since the daemon that it asks runs on the test's loop."""

    def __init__(self, daemon: Daemon) -> None:
        self._environ = {"SYNAPSE_ADMIN_SOCKET": str(daemon.socket), "SYNAPSE_STATE_DIR": str(daemon.socket.parent)}

    async def __call__(self, *argv: str) -> Outcome:
        typed = parser().parse_args(argv)
        call = Invocation(typed, self._environ, lambda: datetime.now(UTC))
        return await asyncio.to_thread(MACHINE_COMMANDS[typed.command], call)


@pytest.fixture
def synapse(listening: Daemon) -> Shell:
    return Shell(listening)


async def test_a_machine_is_added_with_all_that_is_typed(
    synapse: Shell, listening: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "ca.pem").write_text(PEM)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"sk-secret\n")))
    more = f"--kind openai-compatible --name rack --key-stdin --ca {tmp_path / 'ca.pem'} --slots 9"
    outcome = await synapse("node", "add", "https://10.0.0.9/v1", *more.split())
    assert "sk-secret" not in str(outcome)
    [row] = await listening.parts.database.read(nodes.list_all)
    assert (row.url, row.kind, row.name) == ("https://10.0.0.9/v1", "openai-compatible", "rack")
    assert (row.ca, row.slots, nodes.key_of(row, listening.books.sealer)) == (PEM, 9, "sk-secret")


async def test_a_life_of_a_machine(synapse: Shell, listening: Daemon):
    hear(listening.cluster, OLLAMA)
    states: list[str] = []
    for verb in ("reject", "remove", "admit", "drain", "resume", "remove"):
        await until(lambda: any(one.id == ATTIC_ID for one in listening.parts.nodes.list_all().nodes))
        await synapse("node", verb, ATTIC_ID)
        hear(listening.cluster, OLLAMA)
        rows = await listening.parts.database.read(nodes.list_all)
        states += [row.state for row in rows] or ["–"]
    assert states == ["rejected", "–", "admitted", "draining", "admitted", "–"]


async def test_those_that_are_hidden_are_listed_too_if_all_are_asked_for(synapse: Shell, listening: Daemon):
    hear(listening.cluster, OLLAMA)
    await until(lambda: bool(listening.cluster.newcomers.all()))
    await synapse("node", "reject", ATTIC_ID)
    assert not any("rejected" in line for line in (await synapse("node", "list")).lines)
    assert any("rejected" in line for line in (await synapse("node", "list", "--all")).lines)


async def test_a_life_of_a_cluster_key(synapse: Shell):
    assert (await synapse("cluster", "key", "show")).document == {"key": None}
    made = await synapse("cluster", "key")
    assert (await synapse("cluster", "key", "show")).lines == made.lines
    another = await synapse("cluster", "key", "new", "--uses", "3", "--expires", "2027-01-31")
    assert (another.document["uses"], another.document["expires"]) == (3, "2027-02-01T00:00:00.000Z")
    assert another.lines != made.lines
    assert (await synapse("cluster", "key", "revoke")).document == {"was": True}
    assert len((await synapse("cluster", "words")).lines[0].split()) == 8


@pytest.mark.parametrize("verb", ["serve", "reset"])
def test_the_agent_needs_no_daemon(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    given: list[object] = []

    def played(*args: object) -> Outcome:
        given.extend(args)
        return Outcome(code=7)

    monkeypatch.setattr(node_agent, verb, played)
    typed = parser().parse_args(["node", verb, "--state", "d"])
    environ = {"SYNAPSE_STATE_DIR": str(tmp_path), "A": "b"}
    assert MACHINE_COMMANDS[f"node {verb}"](Invocation(typed, environ, lambda: datetime.now(UTC))).code == 7
    assert given[0] is typed
    assert given[2:] == ([environ] if verb == "serve" else [])
