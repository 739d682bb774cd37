"""Providers: who outside may answer, in which order, and what that means for what leaves."""

from collections.abc import Awaitable, Iterable
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual.widget import Widget
from textual.widgets import Static

from appliance.admin.client import looks, policy_wire
from tui import actions
from tui.look import STYLES, state, tone
from tui.screens import provider_form
from tui.screens.page import Page, one_at_a_time
from tui.widgets.dialogs import Ask, Pick, Show, TypeToConfirm
from tui.widgets.form import Field, Form, Given
from tui.widgets.ranking import Ranking
from tui.widgets.table import Column, Row, Table

LOCAL = "ollama"
"""What lists call this installation's own machines."""

OURS = "our own machines: nothing leaves"

COLUMNS = (Column("NAME", 16), Column("KIND", 18), Column("STATE", 12), Column("FULL MODEL"), Column("FAST MODEL"))


class ProvidersPage(Page):
    NAME = "providers"
    BINDINGS: ClassVar = actions.bindings("providers")

    _providers: tuple[policy_wire.Provider, ...] = ()
    _revision = 0
    """Of the providers that are shown."""
    _policy: policy_wire.Policy | None = None
    _workspace: str | None = None
    _workspaces: tuple[str, ...] = ()

    def body(self) -> Iterable[Widget]:
        yield Table(COLUMNS, empty="No provider outside: every call stays here. Press n to add one.")
        yield Static("", id="policy", markup=False)

    async def load(self) -> None:
        found = await self.desk.client.providers()
        self._providers, self._revision = found.providers, found.revision
        self._policy = await self.desk.client.policy(self._workspace)
        self._workspaces = tuple(one.name for one in (await self.desk.client.workspaces()).workspaces)
        self.query_one(Table).show([_row(one) for one in self._providers])
        self.query_one("#policy", Static).update(_policy(self._policy))

    @property
    def _chosen(self) -> policy_wire.Provider | None:
        row = self.query_one(Table).chosen
        return next((one for one in self._providers if row is not None and one.name == row.id), None)

    def action_open(self) -> None:
        if (one := self._chosen) is not None:
            self.open(Show(f"Provider {one.name}", _details(one), copy=one.name))

    def action_explain(self) -> None:
        if self._policy is not None:
            self.open(Show(f"Calls of the workspace {self._policy.workspace}", self._policy.explained))

    @one_at_a_time
    async def action_add(self) -> None:
        seen = self._revision
        fields = (
            Field("kind", "Kind", choices=policy_wire.PROVIDER_KINDS),
            Field("name", "Name", "such as openai: a-z, 0-9, dot, dash"),
            Field("base_url", "URL", "empty: the kind's own; with /v1 but for anthropic"),
            Field("key", "Key", "as the provider gave it", secret=True),
            Field("full", "Full model", "for difficult calls; without one no call goes there"),
            Field("fast", "Fast model", "for short calls; empty: the full one"),
        )
        form = Form(
            "Add a provider",
            fields,
            done="add it",
            lines=("← → choose the kind.",),
            check=lambda given: provider_form.wrong_new(given, [one.name for one in self._providers]),
            submit=lambda given: self.desk.client.put_provider(replace(provider_form.added(given), seen=seen)),
        )
        if (put := await self.ask(form)) is not None:
            self.say(f"Provider {put.provider.name} is added. Press t to test it.")
            self.reload()

    @one_at_a_time
    async def action_change(self) -> None:
        if (one := self._chosen) is None:
            return
        seen = self._revision

        async def put(given: Given) -> policy_wire.PutProvider | None:
            difference = provider_form.elsewhere(one, given)
            if difference and not await self.ask(
                Ask(f"Send what goes to {one.name} somewhere else?", difference, "change it")
            ):
                return None
            return await self.desk.client.put_provider(replace(provider_form.changed(one, given), seen=seen))

        form = Form(
            f"Change the provider {one.name}",
            provider_form.fields(one),
            done="save",
            lines=("Another kind or URL needs a key that was given for it.",),
            check=lambda given: provider_form.wrong_change(one, given),
            submit=put,
        )
        if await self.ask(form) is not None:
            self.say(f"Provider {one.name} is changed. Press t to test it.")
            self.reload()

    def action_test(self) -> None:
        if not self.works("test"):
            self.run_worker(self._test, group="test")

    async def _test(self) -> None:
        if (one := self._chosen) is None:
            return
        self.say(f"Asking {one.name} …", "plain")
        check = await self.tried(self.desk.client.test_provider(one.name))
        if check is not None and check.ok:
            self.say(f"{one.name} answers.")
        elif check is not None:
            self.say(f"{one.name}: {check.problem} {check.advice}", "bad")

    @one_at_a_time
    async def action_allow(self) -> None:
        policy = self._policy
        if policy is None:
            return
        candidates = [(LOCAL, OURS), *((one.name, _about(one)) for one in self._providers)]
        title = f"Whom calls of {policy.workspace} may reach, best first"
        names = await self.ask(Ranking(title, candidates, policy.allow or ()))
        if names is None or names == (policy.allow or ()):
            return
        if not await self.ask(Ask("Write this allow-list?", _difference(policy, names), "write it")):
            return
        client = self.desk.client
        if names:
            changed = client.set_allow_list(names, policy.workspace, seen=policy.revision)
        else:
            changed = client.clear_allow_list(policy.workspace, seen=policy.revision)
        await self._change(changed, f"The allow-list of {policy.workspace} is written.")

    @one_at_a_time
    async def action_active(self) -> None:
        policy = self._policy
        if policy is None:
            return
        options = [(LOCAL, LOCAL, OURS), *((one.name, one.name, _about(one)) for one in self._providers)]
        title = "Where do calls without an allow-list go?"
        name = await self.ask(Pick(title, options, chosen=policy.active))
        if name is None or name == policy.active:
            return
        about = next(about for one, _, about in options if one == name)
        lines = (f"Now   {policy.active}", f"Then  {name}: {about}")
        if await self.ask(Ask(f"Send calls without an allow-list to {name}?", lines, "send them there")):
            changed = self.desk.client.set_active(name, seen=policy.revision)
            await self._change(changed, f"Calls without an allow-list go to {name}.")

    @one_at_a_time
    async def action_workspace(self) -> None:
        options = [(one, one, "") for one in self._workspaces]
        shown = self._policy.workspace if self._policy else ""
        name = await self.ask(Pick("Whose allow-list?", options, chosen=shown))
        if name is not None:
            self._workspace = name
            self.reload()

    @one_at_a_time
    async def action_unscannable(self) -> None:
        policy = self._policy
        if policy is None:
            return
        then: policy_wire.RefuseOrAllow = "refuse" if policy.unscannable == "allow" else "allow"
        lines = (
            "Pictures and files cannot be scanned: nobody knows what is in them."
            if then == "allow"
            else "Calls with pictures or files to a provider outside are then refused.",
            f"Now {policy.unscannable}, then {then}, for every workspace.",
        )
        title = "Let pictures and files leave?" if then == "allow" else "Keep pictures and files here?"
        if await self.ask(Ask(title, lines, then)):
            changed = self.desk.client.set_unscannable(then, seen=policy.revision)
            await self._change(changed, f"Pictures and files towards providers: {then}.")

    @one_at_a_time
    async def action_open_machines(self) -> None:
        policy = self._policy
        if policy is None:
            return
        then: policy_wire.RefuseOrAllow = "refuse" if policy.sensitive_on_open == "allow" else "allow"
        lines = (
            "Such machines are known by their address only: another could answer in their place.",
            f"Now {policy.sensitive_on_open}, then {then}, for every workspace.",
        )
        if await self.ask(Ask("Sensitive calls on machines without a key?", lines, then)):
            changed = self.desk.client.set_sensitive_on_open(then, seen=policy.revision)
            await self._change(changed, f"Sensitive calls on machines without a key: {then}.")

    @one_at_a_time
    async def action_remove(self) -> None:
        if (one := self._chosen) is None:
            return
        seen = self._revision
        lines = (
            f"{one.name} ({one.base_url}) and its key are forgotten, from the next call on.",
            "Lists that name it go on with the others; one that names nobody else refuses its calls.",
        )
        if await self.ask(TypeToConfirm(f"Remove the provider {one.name}?", lines, one.name)):
            gone = await self.tried(self.desk.client.remove_provider(one.name, seen=seen))
            if gone is not None:
                refused = f" Calls are refused now in: {', '.join(gone.refused)}." if gone.refused else ""
                self.say(f"Provider {one.name} is removed.{refused}", "warn" if gone.refused else "good")
            self.reload()

    async def _change(self, changed: Awaitable[policy_wire.Policy], done: str) -> None:
        """Shown as it is now in either case: where somebody was faster, that is what is to be looked at."""
        if await self.tried(changed) is not None:
            self.say(done)
        self.reload()


def _how(one: policy_wire.Provider) -> str:
    return "ready" if one.configured else "no model"


def _about(one: policy_wire.Provider) -> str:
    return f"{one.kind}, {one.full or 'no full model, so that no call goes there'}: leaves the building"


def _row(one: policy_wire.Provider) -> Row:
    how = _how(one)
    cells = (one.name, one.kind, state(how), one.full or looks.ABSENT, one.fast or looks.ABSENT)
    return Row(one.name, tuple(looks.printable(cell) for cell in cells), ("strong", "plain", tone(how)))


def _details(one: policy_wire.Provider) -> list[str]:
    return [
        f"State        {state(_how(one))}",
        f"Kind         {one.kind}",
        f"URL          {one.base_url}",
        f"Full model   {one.full or looks.ABSENT}{_price(one.full_price)}",
        f"Fast model   {one.fast or looks.ABSENT}{_price(one.fast_price)}",
        f"Added        {looks.moment(one.created)}",
        "",
        "Its key is kept sealed, and shown to nobody.",
    ]


def _price(price: policy_wire.Price | None) -> str:
    if price is None:
        return ""
    return f"   {looks.dollars(price.prompt)} read, {looks.dollars(price.completion)} written, a million tokens"


def _difference(policy: policy_wire.Policy, names: tuple[str, ...]) -> list[str]:
    outside = [name for name in names if name != LOCAL]
    before = " → ".join(policy.allow) if policy.allow else f"no list: calls go to {policy.active}"
    after = " → ".join(names) if names else f"no list: calls go to {policy.active}"
    may = f"Calls may leave the building to: {', '.join(outside)}." if outside else "No call leaves the building."
    what = "" if names or policy.active == LOCAL else f"Calls may leave the building to: {policy.active}."
    return [f"Workspace  {policy.workspace}", f"Now        {before}", f"Then       {after}", "", what or may]


def _policy(policy: policy_wire.Policy) -> Text:
    chain = " → ".join(policy.allow) if policy.allow else f"no list: the active provider, {policy.active}"
    text = Text.assemble((f"Calls of the workspace {looks.printable(policy.workspace)}\n", STYLES["strong"]))
    for name, value in (
        ("Allow-list", chain),
        ("Difficult calls", " → ".join(policy.full) or "✗ refused: nobody can answer"),
        ("Short calls", " → ".join(policy.fast) or "✗ refused: nobody can answer"),
        ("Pictures, files", f"{policy.unscannable} towards providers outside"),
        ("Sensitive calls", f"stay here; machines without a key: {policy.sensitive_on_open}"),
        *((("Skipped", f"! {', '.join(policy.skipped)}: cannot answer"),) if policy.skipped else ()),
    ):
        text.append(f"{name:<17}{looks.printable(value)}\n")
    text.rstrip()
    return text
