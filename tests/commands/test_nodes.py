"""`synapse node …` against a daemon with the cluster's real parts."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, get_args

import pytest

from appliance.admin import node_wire as wire
from appliance.admin.client import Client
from appliance.admin.node_wire import NewNode, Node, NodeList
from appliance.admin.wire import InvalidInput, UnknownSubject
from appliance.cluster.addresses import id_at
from appliance.cluster.choice import Wanted
from appliance.cluster.identity import Identity
from appliance.cluster.words import words
from appliance.commands import nodes
from appliance.commands.outcome import Outcome
from appliance.errors import AdminError
from tests.admin.cluster import LISTED, MODEL
from tests.admin.nearby import OLLAMA, hear, nearby
from tests.admin.played import Daemon
from tests.waiting import until

ATTIC = "http://192.168.1.30:11434"
ATTIC_ID = id_at(ATTIC)
ID = Identity.create().id
NODE = Node(ID, "desk", "active", "pinned", "ollama", "https://10.0.0.1", "ollama/0.32", ("qwen3",), 4, 1, words(ID))


class Told:
    """So much of a client as is asked: a daemon that says this of its machines, whatever was meant."""

    def __init__(self, shown: tuple[Node, ...], waiting: int, discovery: str | None) -> None:
        self._list = NodeList(shown, ID, words(ID), waiting, discovery)

    async def nodes(self) -> NodeList:
        return self._list

    async def add_node(self, _: object) -> Node:
        return self._list.nodes[0]

    remove_node = drain_node = resume_node = add_node


def told(*shown: Node, waiting: int = 0, discovery: str | None = None) -> Client:
    return cast(Client, Told(shown, waiting, discovery))


def document(outcome: Outcome) -> Any:
    """As `--json` prints it."""
    return json.loads(json.dumps(outcome.document))


@pytest.fixture
async def heard(listening: Daemon) -> Daemon:
    """A plain Ollama is a candidate, and has answered."""
    hear(listening.cluster, OLLAMA)
    await until(lambda: any(node.proven for node in listening.cluster.newcomers.all()))
    return listening


async def healthy(daemon: Daemon) -> None:
    await until(lambda: (one := daemon.cluster.registry.get(ATTIC_ID)) is not None and one.healthy)


class TestList:
    async def test_without_any(self):
        outcome = await nodes.show_all(told(), everything=False)
        assert outcome.lines == (
            "There is no machine. Start `synapse node serve` on one, or name its address: synapse node add URL.",
        )
        assert document(outcome)["nodes"] == []

    async def test_the_machine_of_the_settings(self, client: Client):
        outcome = await nodes.show_all(client, everything=False)
        assert [line.split() for line in outcome.lines] == [
            ["MACHINE", "ID", "STATE", "TRUST", "ENGINE", "CALLS", "USED", "FOR", "MODELS"],
            ["127.0.0.1:11434", LISTED.id[:16], "active", "loopback", "ollama/0.32.15", "0/4", "full", "smollm2"],
        ]
        assert outcome.notes == ()

    @pytest.mark.usefixtures("terminal")
    async def test_every_state_with_its_reason_in_80_columns(self):
        states: tuple[wire.NodeState, ...] = get_args(wire.NodeState)
        shown = [
            replace(
                NODE,
                id=str(n) * 52,
                state=state,
                why=f"reason {n} " + "and so on " * 20,
                engine="synapse-engine/0.1.0+xllamacpp" * 3,
                models=tuple(f"a-model-of-many-words:{size}b" for size in range(9)),
            )
            for n, state in enumerate(states)
        ]
        outcome = await nodes.show_all(told(*shown), everything=True)
        assert max(len(line) for line in outcome.lines) <= 80
        for n, state in enumerate(states):
            assert f"{str(n) * 16}  {state}" in outcome.lines[n + 1]
            assert f"desk: reason {n} " in " ".join(outcome.lines)
        some = await nodes.show_all(told(*shown), everything=False)
        hidden = [f"reason {n} " for n, state in enumerate(states) if state in ("rejected", "revoked")]
        assert len(hidden) == 2
        assert not any(word in " ".join(some.lines) for word in ("rejected", "revoked", *hidden))
        assert len(document(some)["nodes"]) == 8  # programs see all

    @pytest.mark.usefixtures("terminal")
    async def test_hostile_names_reach_no_terminal(self):
        shown = replace(
            NODE,
            name="\x1b[2J\r\ndesk\u202e\x00" + "x" * 99,
            why="\x1b]0;title\x07 bad",
            engine="\x1b[31m",
            models=("\x1bmodel",),
        )
        new = NewNode("http://10.0.0.1")
        outcomes = [
            await nodes.show_all(told(shown), everything=True),
            *[await act(told(shown), "x") for act in (nodes.remove, nodes.drain, nodes.resume)],
            await nodes.add(told(replace(shown, state="candidate")), new),
            await nodes.add(told(replace(shown, state="revoked")), new),
            await nodes.add(told(replace(shown, trust="open")), new),
        ]
        for outcome in outcomes:
            assert all(line.isprintable() for line in (*outcome.lines, *outcome.notes))
            assert any("desk" in line for line in outcome.lines)
        assert max(len(line) for line in outcomes[0].lines[:2]) <= 80

    @pytest.mark.parametrize(
        ("why", "line"),
        [("it sleeps", "desk: it sleeps."), ("It refuses. Wait a minute.", "desk: It refuses. Wait a minute.")],
    )
    async def test_a_reason_is_a_sentence(self, why: str, line: str):
        outcome = await nodes.show_all(told(replace(NODE, why=why)), everything=False)
        assert outcome.lines[-1] == line

    async def test_who_waits_and_why_nothing_is_heard(self):
        assert (await nodes.show_all(told(waiting=1), everything=False)).lines[-1] == "One call waits for a machine."
        outcome = await nodes.show_all(told(waiting=2, discovery="no interface is up"), everything=False)
        assert outcome.lines[-1] == "2 calls wait for a machine."
        assert outcome.notes == ("No machines are discovered: no interface is up.",)

    @pytest.mark.usefixtures("heard")
    async def test_how_a_candidate_is_let_in(self, client: Client):
        outcome = await nodes.show_all(client, everything=False)
        assert outcome.notes == (
            f"To take in {ATTIC}, which is known by its address only: synapse node admit {ATTIC_ID[:16]}",
        )
        keyed = await nodes.show_all(told(replace(NODE, state="changed")), everything=False)
        assert f'synapse node admit {ID[:16]} --words "WORD WORD …"' in keyed.notes[0]


class TestAdd:
    async def test_an_open_machine(self, client: Client):
        outcome = await nodes.add(client, NewNode(ATTIC, name="attic", key="sk-secret"))
        assert outcome.lines == ("Machine attic is taken in. It is known by its address only.",)
        assert outcome.notes == (
            "Its key goes over the network in the clear: with https:// it would not.",
            "synapse node list shows how it is.",
        )
        assert "sk-secret" not in str(outcome)
        assert document(outcome)["url"] == ATTIC

    async def test_what_is_said_of_a_node(self, client: Client, listening: Daemon, tmp_path: Path):
        async with nearby(tmp_path / "n", gateway=listening.cluster.identity) as node:
            outcome = await nodes.add(client, NewNode(node.url))
            assert outcome.lines == (
                f"{node.id[:16]} is a candidate now.",
                f"Its words: {' '.join(words(node.id))}",
            )
            assert f'synapse node admit {node.id[:16]} --words "WORD WORD …"' in outcome.notes[0]
            await nodes.reject(client, node.id)
            outcome = await nodes.add(client, NewNode(node.url))
            assert outcome.lines[0] == f"{node.id[:16]} was rejected before, and stays so."
            assert f"synapse node admit {node.id[:16]}" in outcome.notes[0]
            await nodes.admit(client, node.id, " ".join(words(node.id)))
            outcome = await nodes.add(client, NewNode(node.url))
            assert outcome.lines == ("Machine desk is in use already.",)
            await nodes.remove(client, "desk")
            outcome = await nodes.add(client, NewNode(node.url))
            assert outcome.lines[0] == "desk was revoked before, and stays so."

    async def test_what_is_outside(self, client: Client):
        with pytest.raises(InvalidInput, match="a service outside is added with `synapse provider add`"):
            await nodes.add(client, NewNode("https://8.8.8.8"))


class TestDecisions:
    async def test_a_candidate_is_admitted_drained_resumed_and_removed(self, client: Client, heard: Daemon):
        outcome = await nodes.admit(client, ATTIC_ID[:8], None)
        assert outcome.lines == ("Machine 192.168.1.30:11434 is admitted.",)
        assert document(outcome)["way"] == "administrator"
        await healthy(heard)
        outcome = await nodes.drain(client, "192.168.1.30:11434")
        assert outcome.lines == ("Machine 192.168.1.30:11434 gets no more calls; none runs there.",)
        assert outcome.notes == (f"To give it calls again: synapse node resume {ATTIC_ID[:16]}",)
        outcome = await nodes.resume(client, ATTIC_ID[:16])
        assert (outcome.lines, outcome.notes) == (("Machine 192.168.1.30:11434 gets calls again.",), ())
        outcome = await nodes.remove(client, ATTIC_ID)
        assert outcome.lines == ("Machine 192.168.1.30:11434 is put out, and gets no more calls.",)
        assert document(outcome)["id"] == ATTIC_ID

    async def test_how_many_calls_a_draining_one_still_has(self, client: Client, listening: Daemon):
        await nodes.add(client, NewNode(ATTIC))
        await healthy(listening)
        lease = listening.cluster.scheduler.lease
        async with lease(Wanted(MODEL.name)), lease(Wanted(MODEL.name)):  # one on each machine
            outcome = await nodes.drain(client, ATTIC_ID)
        assert outcome.lines == ("Machine 192.168.1.30:11434 gets no more calls; 1 still run there.",)

    @pytest.mark.usefixtures("heard")
    async def test_a_candidate_is_rejected_and_forgotten(self, client: Client):
        outcome = await nodes.reject(client, ATTIC_ID)
        assert outcome.lines == (f"{ATTIC_ID[:16]} is not shown any more.",)
        assert outcome.notes == (f"To see it again: synapse node remove {ATTIC_ID[:16]}",)
        assert ATTIC_ID[:16] not in " ".join((await nodes.show_all(client, everything=False)).lines)
        assert "rejected" in " ".join((await nodes.show_all(client, everything=True)).lines)
        outcome = await nodes.remove(client, ATTIC_ID)
        assert outcome.lines == (f"Of {ATTIC_ID[:16]} nothing is known any more.",)

    async def test_a_pinned_one_is_revoked(self):
        outcome = await nodes.remove(told(NODE), "desk")
        assert outcome.lines == (
            "Machine desk is put out, and its connections are closed.",
            "Its certificate is not trusted any more. It joins again only if you admit it.",
        )

    async def test_what_is_said_to_be_typed_next_can_be_typed(self):
        """A name may have a space, which a shell would take apart; an id has none."""
        outcome = await nodes.drain(told(replace(NODE, name="desk 3")), "desk 3")
        assert outcome.notes == (f"To give it calls again: synapse node resume {ID[:16]}",)

    async def test_nobody_is_meant(self, client: Client):
        for act in (nodes.reject, nodes.drain, nodes.resume, nodes.remove):
            with pytest.raises(UnknownSubject, match=r'^There is no machine "x"\. synapse node list shows them all\.$'):
                await act(client, "x")
        with pytest.raises(AdminError, match=r"named in the settings.* Take it out of local\.ollama and restart"):
            await nodes.remove(client, LISTED.id)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestWords:
    async def test_they_are_asked_for_at_a_terminal(
        self,
        client: Client,
        listening: Daemon,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ):
        async with nearby(tmp_path / "n", gateway=listening.cluster.identity) as node:
            hear(listening.cluster, node.sighting)
            await until(lambda: len(listening.cluster.newcomers.all()) == 1)
            monkeypatch.setattr(sys, "stdin", Terminal(node.last_words + "\n"))
            outcome = await nodes.admit(client, f"syn-{node.id[:16]}", None)
            assert outcome.lines == ("Machine desk is admitted.",)
        printed = capsys.readouterr()
        first = " ".join(words(node.id)[:6])
        assert printed.err == f"Compare with what the machine shows: {first} …\nIts last two words: "
        assert printed.out == ""

    @pytest.mark.parametrize("stdin", [Terminal("\n"), Terminal(""), io.StringIO("zoo zoo"), None])
    async def test_without_any_it_is_refused(
        self,
        client: Client,
        listening: Daemon,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        stdin: io.StringIO | None,
    ):
        async with nearby(tmp_path / "n", gateway=listening.cluster.identity) as node:
            hear(listening.cluster, node.sighting)
            await until(lambda: len(listening.cluster.newcomers.all()) == 1)
            monkeypatch.setattr(sys, "stdin", stdin)
            with pytest.raises(InvalidInput, match=r"Its words are needed\. Read them off that machine"):
                await nodes.admit(client, node.id, None)

    @pytest.mark.usefixtures("heard")
    async def test_one_without_a_key_is_not_asked_about(self, client: Client, monkeypatch: pytest.MonkeyPatch):
        stdin = Terminal("never read")
        monkeypatch.setattr(sys, "stdin", stdin)
        assert (await nodes.admit(client, ATTIC_ID, None)).lines == ("Machine 192.168.1.30:11434 is admitted.",)
        assert stdin.read() == "never read"


class TestCa:
    def test_a_file_of_certificates(self, tmp_path: Path):
        (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----")
        assert nodes.read_ca(tmp_path / "ca.pem") == "-----BEGIN CERTIFICATE-----"

    @pytest.mark.parametrize(
        ("name", "reason"), [("none", "No such file or directory"), (".", "Is a directory"), ("der", "it is no text")]
    )
    def test_what_cannot_be_read(self, tmp_path: Path, name: str, reason: str):
        (tmp_path / "der").write_bytes(b"\x30\x82\xff")
        with pytest.raises(InvalidInput, match=rf"cannot be read \({reason}\)\. Give a file of certificates in PEM"):
            nodes.read_ca(tmp_path / name)

    def test_an_endless_one_ends(self):
        assert len(nodes.read_ca(Path("/dev/zero"))) == nodes.MAX_CA_BYTES + 1


def test_hidden_and_candidates_are_states():
    assert {*nodes.HIDDEN, *nodes.CANDIDATES} <= set(get_args(wire.NodeState))
