"""Models: which answer, what each machine has, and what machines are fetching."""

from collections.abc import Awaitable, Iterable
from typing import ClassVar

from textual.widget import Widget

from appliance.admin.client import looks, node_wire, pull_wire, wire
from tui import actions
from tui.feed import Picture
from tui.screens import model_lines
from tui.screens.node_lines import SHOWN_OF_ID, called
from tui.screens.page import Page, one_at_a_time
from tui.widgets.dialogs import Ask, Copy, Pick, Show
from tui.widgets.form import Field, Form, Given
from tui.widgets.lines import Block
from tui.widgets.table import Table

IN_USE = ("active", "admitted", "unhealthy", "draining")
"""Those that may answer now first."""


class ModelsPage(Page):
    NAME = "models"
    BINDINGS: ClassVar = actions.bindings("models")

    def body(self) -> Iterable[Widget]:
        self._found = wire.ModelList((), ())
        self._pulls: tuple[pull_wire.Pull, ...] = ()
        self._broken_off: tuple[pull_wire.Pull, ...] = ()
        self._fetchers: tuple[node_wire.Node, ...] | None = None
        yield Block()
        yield Table(model_lines.COLUMNS, empty="No machine is in use yet: press 2, then n, and take one in.")

    async def load(self) -> None:
        self._found = await self.desk.client.models()
        self._take((await self.desk.client.pulls()).pulls)
        self._fetchers = (await self.desk.client.nodes()).nodes

    def picture_changed(self, before: Picture, now: Picture) -> None:
        if now.pulls is not None and (now.pulls, now.broken_off) != (before.pulls, before.broken_off):
            self._take(now.pulls.pulls)
        machines = before.status.machines if before.status else None
        if now.fresh and now.status and now.status.machines != machines:
            self.reload()
        else:
            super().picture_changed(before, now)

    def _take(self, pulls: tuple[pull_wire.Pull, ...]) -> None:
        """Show these; of one that was seen running, its end is said."""
        ran = {pull.id for pull in self._pulls if pull.state == "running"}
        for pull in pulls:
            if pull.id in ran and pull.state == "done":
                self.say(f"{pull.node} has {pull.name} now.")
            elif pull.id in ran and pull.state == "failed":
                self._say_failed(pull)
        self._pulls = pulls
        self._take_broken_off()
        self.filter_changed()

    def _take_broken_off(self) -> None:
        told = {pull.id for pull in self._broken_off}
        self._broken_off = tuple(model_lines.broken_off(pull) for pull in self.desk.picture.broken_off)
        for pull in self._broken_off:
            if pull.id not in told:
                self._say_failed(pull)

    def _say_failed(self, pull: pull_wire.Pull) -> None:
        self.say(f"{pull.node} could not get {pull.name}. {pull.problem} {pull.advice}", "bad")

    def filter_changed(self) -> None:
        self.query_one(Block).show(model_lines.roles(self._found))
        self.show_filtered(model_lines.rows(self._found, self._told))

    @property
    def _told(self) -> tuple[pull_wire.Pull, ...]:
        """Every pull there is something to say of."""
        return (*self._pulls, *self._broken_off)

    @property
    def _chosen_pull(self) -> pull_wire.Pull | None:
        row = self.query_one(Table).chosen
        return next((pull for pull in self._told if row is not None and pull.id == row.id), None)

    @property
    def _chosen_model(self) -> tuple[wire.Machine, str] | None:
        row = self.query_one(Table).chosen
        for machine in self._found.machines:
            for model in machine.models or ("",):
                if row is not None and row.id == model_lines.row_id(machine, model):
                    return machine, model
        return None

    def action_open(self) -> None:
        if (pull := self._chosen_pull) is not None:
            self.open(Show(f"The pull of {pull.name}", model_lines.pull_details(pull), copy=pull.name))
        elif (chosen := self._chosen_model) is not None:
            machine, model = chosen
            lines = model_lines.model_details(self._found, machine, model)
            self.open(Show(f"{model or 'No model'} on {machine.name}", lines, copy=model))

    def action_copy(self) -> None:
        pull, chosen = self._chosen_pull, self._chosen_model
        name = pull.name if pull else chosen[1] if chosen else ""
        if name:
            self.post_message(Copy(name))
            self.say(f"Sent to the terminal: {name}", "plain")

    @one_at_a_time
    async def action_choose(self) -> None:
        found = self._found
        having = model_lines.names(found)
        if not having:
            self.say("No machine has a model yet: p gets one.", "plain")
            return
        named = await self.ask(Pick("Which role?", [_option(one) for one in found.roles]))
        role = next((one for one in found.roles if one.role == named), None)
        if role is None:
            return
        options = [(model, looks.printable(model), _where(machines)) for model, machines in having.items()]
        chosen = model_lines.plain(role.effective or "")
        model = await self.ask(Pick(f"Which model for {role.role}?", options, chosen=chosen))
        if model is None:
            return
        if await self._changed(self.desk.client.set_model(role.role, model, seen=found.revision)):
            self.say(f"{role.role.capitalize()} is {model} from the next call on.")

    @one_at_a_time
    async def action_unset(self) -> None:
        found = self._found
        were = [one for one in found.roles if one.configured]
        if not were:
            self.say("No role was set: nothing is to be unset.", "plain")
            return
        role = await self.ask(Pick("Which role shall fall back?", [_option(one) for one in were]))
        if role is None:
            return
        if await self._changed(self.desk.client.unset_model(role, seen=found.revision)):
            now = next(one for one in self._found.roles if one.role == role)
            said = f"as {now.follows}: {now.effective}" if now.follows else now.effective or "none"
            self.say(f"{role.capitalize()} is unset; its model is now {said}.")

    @one_at_a_time
    async def action_pull(self) -> None:
        if self._fetchers is None and self.desk.picture.nodes is not None:
            self._fetchers = self.desk.picture.nodes.nodes
        machines = _by_label(self._fetchers or ())
        if not machines:
            self.say("No machine that runs Ollama is in use: press 2, then n, and take one in.", "plain")
            return
        wanted = next((one.configured or "" for one in model_lines.missing(self._found)), "")
        fields = [Field("name", "Model", "as Ollama's library names it, such as qwen3:8b", value=wanted)]
        if len(machines) > 1:
            fields.append(Field("machine", "Machine", choices=tuple(machines)))
        lines = (f"It goes to {next(iter(machines))}.",) if len(machines) == 1 else ("← → change the machine.",)

        def start(given: Given) -> Awaitable[pull_wire.Pull]:
            node = machines[given.get("machine", next(iter(machines)))]
            return self.desk.client.start_pull(pull_wire.NewPull(given["name"], node.id))

        form = Form(
            "Get a model",
            fields,
            lines=(*lines, "It goes on by itself, also when the console is left."),
            done="get it",
            check=lambda given: "" if given["name"] else "Name a model, such as qwen3:8b.",
            submit=start,
        )
        made = await self.ask(form)
        if made is not None:
            self.say(f"{made.node} gets {made.name}.")
            self._take((made, *(pull for pull in self._pulls if pull.id != made.id)))
            self.query_one(Table).choose(made.id)

    @one_at_a_time
    async def action_cancel(self) -> None:
        pull = self._chosen_pull
        if pull is None or pull.state != "running":
            self.say("Choose a pull that runs, with ↑ and ↓.", "plain")
            return
        lines = (
            f"{pull.node} stops fetching {pull.name}: {model_lines.far(pull) or 'nothing came yet'}.",
            "Where it is pulled again soon, Ollama goes on from there.",
        )
        if await self.ask(Ask(f"Cancel the pull of {pull.name}?", lines, "cancel it")):
            ended = await self.tried(self.desk.client.cancel_pull(pull.id))
            if ended is not None:
                self.say(f"{ended.node} does not get {ended.name} any more.")
                self.reload()

    async def _changed(self, asked: Awaitable[wire.ModelList]) -> bool:
        """Whether the daemon did it; what it answers is shown."""
        found = await self.tried(asked)
        if found is None:
            self.reload()  # somebody was faster, and that is what is to be looked at
            return False
        self._found = found
        self.filter_changed()
        return True


def _option(one: wire.RoleModel) -> tuple[str, str, str]:
    said, _ = model_lines.because(one)
    return one.role, one.role, looks.printable(f"{one.effective or looks.ABSENT}  {said}")


def _where(machines: Iterable[wire.Machine]) -> str:
    told = [machine.name if machine.healthy else f"{machine.name} (not ready)" for machine in machines]
    return looks.printable(f"on {', '.join(told)}")


def _by_label(nodes: Iterable[node_wire.Node]) -> dict[str, node_wire.Node]:
    """The machines that can fetch a model, by what tells them apart; those that answer first."""
    found = [node for node in nodes if node.state in IN_USE and node.kind == "ollama"]
    found.sort(key=lambda node: (IN_USE.index(node.state), called(node).casefold()))
    names = [called(node) for node in found]
    return {
        name if names.count(name) == 1 else f"{name} {node.id[:SHOWN_OF_ID]}": node
        for name, node in zip(names, found, strict=True)
    }
