"""Nodes: the machines that answer calls and those that could, and every decision about them."""

from collections.abc import Awaitable, Iterable, Mapping
from typing import ClassVar

from textual.widget import Widget

from appliance.admin.client import node_wire, values
from tui import actions
from tui.feed import Picture
from tui.look import Tone
from tui.screens import join_key, node_lines
from tui.screens.node_lines import CANDIDATES, HIDDEN, called
from tui.screens.page import Page, one_at_a_time
from tui.widgets.dialogs import Ask, Show, TypeToConfirm
from tui.widgets.form import Field, Form, Given
from tui.widgets.lines import Block
from tui.widgets.reading import optional, problem
from tui.widgets.table import Table

_WORDS = Field("words", "Its last two words", "as they stand on the machine's own screen")

_ADDRESS = (
    Field("url", "Address", "http://192.168.1.20:11434, or synapse://192.168.1.20"),
    Field("kind", "Speaks", choices=node_wire.NODE_KINDS),
    Field("name", "Name", "what to call it; empty: its address"),
    Field("key", "Key", "that its server wants; empty: none", secret=True),
    Field("slots", "Calls", "how many at a time; empty: what it says itself"),
)


class NodesPage(Page):
    NAME = "nodes"
    BINDINGS: ClassVar = actions.bindings("nodes")

    def body(self) -> Iterable[Widget]:
        self._found: node_wire.NodeList | None = None
        self._all = False
        yield Block()
        yield Table(
            node_lines.COLUMNS, empty="No machine yet. Start `synapse node serve` on one, or press n for its address."
        )

    def resumed(self) -> None:
        """The picture has them already."""
        if self.desk.picture.nodes is None:
            self.reload()
        else:
            self._show(self.desk.picture.nodes)

    async def load(self) -> None:
        self._show(await self.desk.client.nodes())

    def picture_changed(self, before: Picture, now: Picture) -> None:
        if now.nodes is not None and now.nodes != before.nodes:
            self._show(now.nodes)

    def filter_changed(self) -> None:
        if self._found is not None:
            self._show(self._found)

    def _show(self, found: node_wire.NodeList) -> None:
        self._found = found
        shown = [node for node in node_lines.in_order(found.nodes) if self._all or node.state not in HIDDEN]
        self.query_one(Block).show(node_lines.above(found, hidden=len(found.nodes) - len(shown)))
        self.show_filtered(node_lines.row(node) for node in shown)

    @property
    def _chosen(self) -> node_wire.Node | None:
        row, nodes = self.query_one(Table).chosen, self._found.nodes if self._found else ()
        return next((node for node in nodes if row is not None and node.id == row.id), None)

    def action_open(self) -> None:
        if (node := self._chosen) is not None:
            self.open(Show(f"Machine {called(node)}", node_lines.details(node), copy=node.id))

    def action_hidden(self) -> None:
        self._all = not self._all
        self.filter_changed()

    @one_at_a_time
    async def action_admit(self) -> None:
        node = self._chosen
        if node is None:
            return
        if node.state not in (*CANDIDATES, *HIDDEN):
            self.say(f"{called(node)} is in use already.", "plain")
            return
        client = self.desk.client
        if node.words:
            form = Form(
                f"Admit the machine {called(node)}?",
                (_WORDS,),
                lines=node_lines.to_compare(node),
                done="admit it",
                check=lambda given: "" if given["words"] else "Read them off the machine, and type them here.",
                submit=lambda given: client.admit_node(node_wire.Admission(node.id, given["words"])),
                asking=f"Asking {called(node)} …",
            )
            made = await self.ask(form)
        elif await self.ask(Ask(f"Admit the machine {called(node)}?", node_lines.keyless(node), "admit it")):
            self.say(f"Asking {called(node)} …", "plain")
            made = await self.tried(client.admit_node(node_wire.Admission(node.id)))
        else:
            return
        if made is not None:
            await self._look()
            self.say(f"Machine {called(made)} is admitted.")

    @one_at_a_time
    async def action_add(self) -> None:
        lines = (
            "A machine where synapse node serve runs: synapse:// and its address, nothing else.",
            "With a certificate authority of its own: synapse node add … --ca FILE, in a shell.",
        )

        async def add(given: Given) -> tuple[node_wire.NewNode, node_wire.Node]:
            new = _new(given)
            return new, await self.desk.client.add_node(new)

        form = Form(
            "Take in a machine",
            _ADDRESS,
            lines=lines,
            done="take it in",
            check=_wrong,
            submit=add,
            asking="Asking the machine …",
        )
        done = await self.ask(form)
        if done is not None:
            new, made = done
            await self._look()
            self.say(*_taken_in(made, clear=new.key is not None and new.url.startswith("http://")))
            self.query_one(Table).choose(made.id)

    @one_at_a_time
    async def action_drain(self) -> None:
        if (node := self._chosen) is None:
            return
        made = await self._told(self.desk.client.drain_node(node.id))
        if made is not None:
            left = f"{made.in_flight} still run there" if made.in_flight else "none runs there"
            self.say(f"Machine {called(made)} gets no more calls; {left}.")

    @one_at_a_time
    async def action_resume(self) -> None:
        if (node := self._chosen) is None:
            return
        made = await self._told(self.desk.client.resume_node(node.id))
        if made is not None:
            self.say(f"Machine {called(made)} gets calls again.")

    @one_at_a_time
    async def action_reject(self) -> None:
        node = self._chosen
        if node is None:
            return
        if node.state not in CANDIDATES:
            self.say(f"{called(node)} is no candidate. X puts a machine out.", "plain")
            return
        lines = (
            "It is not shown any more, and no join key lets it in.",
            "h shows it again, and a admits it after all.",
        )
        if await self.ask(Ask(f"Reject the machine {called(node)}?", lines, "reject it")):
            gone = await self._told(self.desk.client.reject_node(node.id))
            if gone is not None:
                self.say(f"{called(gone)} is not shown any more.")

    @one_at_a_time
    async def action_remove(self) -> None:
        node = self._chosen
        if node is None:
            return
        if (sentence := _stays(node)) is not None:
            self.say(sentence, "plain")
        elif await self.ask(_putting_out(node)):
            gone = await self._told(self.desk.client.remove_node(node.id))
            if gone is not None:
                self.say(_put_out(gone))

    @one_at_a_time
    async def action_join_key(self) -> None:
        await join_key.run(self)

    async def _told(self, asked: Awaitable[node_wire.Node]) -> node_wire.Node | None:
        """As `tried`, with the list as it is after it."""
        node = await self.tried(asked)
        if node is not None:
            await self._look()
        return node

    async def _look(self) -> None:
        found = await self.tried(self.desk.client.nodes())
        if found is not None:
            self._show(found)


def _wrong(given: Mapping[str, str]) -> str:
    if not given["url"]:
        return "Give its address, such as http://192.168.1.20:11434."
    return problem(given, {"slots": ("Calls", values.count)})


def _new(given: Mapping[str, str]) -> node_wire.NewNode:
    return node_wire.NewNode(
        url=given["url"],
        kind="ollama" if given["kind"] == "ollama" else "openai-compatible",
        name=given["name"] or None,
        key=given["key"] or None,
        slots=optional(given["slots"], values.count),
    )


def _taken_in(made: node_wire.Node, *, clear: bool) -> tuple[str, Tone]:
    """What became of an address. `clear`: a key goes there over plain HTTP."""
    if made.state in CANDIDATES:
        return f"{called(made)} is a candidate now: a admits it.", "good"
    if made.state in HIDDEN:
        return f"{called(made)} was {made.state} before, and stays so. h shows it, and a admits it.", "warn"
    if made.trust == "pinned":
        return f"Machine {called(made)} is in use already.", "plain"
    if clear and made.trust == "open":
        said = "Its key goes over the network in the clear: with https:// it would not."
        return f"Machine {called(made)} is taken in. {said}", "warn"
    return f"Machine {called(made)} is taken in. It is known by its address only.", "good"


def _stays(node: node_wire.Node) -> str | None:
    """Why there is nothing to be put out."""
    if node.listed:
        return (
            f"{called(node)} is named in the settings, which alone decide about it."
            " Take it out of local.ollama and restart the daemon."
        )
    if node.state in CANDIDATES:
        return f"{called(node)} is only a candidate: R hides it for good."
    if node.state == "revoked":
        return f"{called(node)} was put out before. No join key lets it in again; a does."
    return None


def _putting_out(node: node_wire.Node) -> Ask | TypeToConfirm:
    if node.state == "rejected":
        lines = ("Nothing is known of it any more: where it is heard, it is a candidate again.",)
        return Ask(f"Forget that {called(node)} was rejected?", lines, "forget it")
    lines = [f"It gets no more calls, and those that run there break off ({node.in_flight} now)."]
    if node.trust == "pinned":
        lines.append("Its certificate is not trusted any more. It comes back only if you admit it.")
    else:
        lines.append(f"It comes back only if its address is typed again: {node.url}")
    return TypeToConfirm(f"Put out the machine {called(node)}?", lines, called(node))


def _put_out(gone: node_wire.Node) -> str:
    if gone.state == "rejected":
        return f"Of {called(gone)} nothing is known any more."
    closed = ", and its connections are closed" if gone.trust == "pinned" else ", and gets no more calls"
    return f"Machine {called(gone)} is put out{closed}."
