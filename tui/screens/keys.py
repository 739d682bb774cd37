"""Keys: one for each tool. Made and shown once; revoked from the next request on."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import ClassVar

from textual.widget import Widget

from appliance.admin.client import looks, values, wire
from tui import actions
from tui.look import short_moment, state, tone
from tui.screens.page import Page, one_at_a_time
from tui.widgets.dialogs import Ask, Show
from tui.widgets.form import Field, Form
from tui.widgets.reading import Read, optional, problem
from tui.widgets.table import Column, Row, Table

WIDE = 100
"""Columns of a terminal with room for what is seldom looked at."""

_COLUMNS = (
    Column("NAME"),
    Column("STATE", 10),
    Column("USER", 10),
    Column("WORKSPACE", 10),
    Column("USED", 8, right=True),
    Column("EXPIRES", 11),
    Column("CEILING", 8, right=True),
)
_NARROW = _COLUMNS[:-1]

DEFAULT = "the default one"
"""Of users and of workspaces, as long as it is not known who there is."""


class KeysPage(Page):
    NAME = "keys"
    BINDINGS: ClassVar = actions.bindings("keys")

    _keys: tuple[wire.Key, ...] | None = None
    """None until the daemon has told them."""
    _users: tuple[str, ...] = (DEFAULT,)
    _workspaces: tuple[str, ...] = (DEFAULT,)
    _form: Form[wire.CreatedKey] | None = None

    def body(self) -> Iterable[Widget]:
        yield Table(_NARROW, empty="There is no key yet. Press n to make one for a tool.")

    async def load(self) -> None:
        self._keys = (await self.desk.client.keys()).keys
        self.filter_changed()
        # Here, and not when a form is to open: what is typed would be ahead of it.
        self._users = tuple(one.name for one in (await self.desk.client.users()).users)
        self._workspaces = tuple(one.name for one in (await self.desk.client.workspaces()).workspaces)
        if self._form is not None:
            self._form.offer("user", self._users)
            self._form.offer("workspace", self._workspaces)

    def filter_changed(self) -> None:
        newest_first = sorted(self._keys or (), key=lambda key: (key.state != "active", key.name, key.created))
        columns = _COLUMNS if self.size.width >= WIDE else _NARROW
        self.show_filtered((_row(key) for key in newest_first), columns=columns)

    def on_resize(self) -> None:
        if self._keys is not None:
            self.filter_changed()

    @property
    def _chosen(self) -> wire.Key | None:
        row = self.query_one(Table).chosen
        return next((key for key in self._keys or () if row is not None and key.id == row.id), None)

    def action_open(self) -> None:
        if (key := self._chosen) is not None:
            self.open(Show(f"Key {key.name}", _details(key), copy=key.id))

    @one_at_a_time
    async def action_create(self) -> None:
        now = self.desk.tools.now()
        self._form = Form(
            "Make a key",
            (
                Field("name", "Name", "which tool it is for, such as n8n"),
                Field("user", "User", choices=self._users),
                Field("workspace", "Workspace", choices=self._workspaces),
                Field("ceiling", "Ceiling", "questions a month, such as 500; empty: none"),
                Field("rpm", "Rate", "requests a minute, such as 30; empty: no limit"),
                Field("expires", "Expires", "its last day (2027-01-31) or a time from now (90d); empty: never"),
            ),
            done="make it",
            check=lambda given: _wrong(given, now),
            submit=lambda given: self.desk.client.create_key(_new(given, now)),
        )
        made = await self.ask(self._form)
        self._form = None
        if made is not None:
            self.reload()
            self.say(f"Key {made.key.name} is made.")
            title = f"Key {made.key.name}: shown this once"
            await self.ask(Show(title, self._how_to_use(made), copy=made.secret, once=True))

    @one_at_a_time
    async def action_revoke(self) -> None:
        key = self._chosen
        if key is None or key.state == "revoked":
            return
        lines = (f"Whatever uses {key.name} ({key.id}) is refused from the next request on.", "This cannot be undone.")
        if await self.ask(Ask(f"Revoke the key {key.name}?", lines, "revoke it")):
            gone = await self.tried(self.desk.client.revoke_key(key.id))
            if gone is not None:
                self.say(f"Key {gone.name} is revoked.")
                self.reload()

    def _how_to_use(self, made: wire.CreatedKey) -> list[str]:
        status = self.desk.picture.status
        where = status.base_url if status else looks.ABSENT
        return [
            made.secret,
            "",
            "Give it to the tool now: nobody can show it again.",
            "",
            f"Base URL   {where}",
            f"           for Anthropic tools without the /v1: {where.removesuffix('/v1')}",
            "Model      pulse-auto  (pulse-sensitive: never leaves the building)",
        ]


def _wrong(given: Mapping[str, str], now: datetime) -> str:
    if not given["name"]:
        return "Give it a name, such as that of the tool."
    return problem(given, _reads(now))


def _reads(now: datetime) -> Mapping[str, tuple[str, Read]]:
    return {
        "ceiling": ("Ceiling", values.milli_questions),
        "rpm": ("Rate", values.count),
        "expires": ("Expires", lambda text: values.expiry(text, now)),
    }


def _new(given: Mapping[str, str], now: datetime) -> wire.NewKey:
    expires = optional(given["expires"], lambda text: values.expiry(text, now))
    return wire.NewKey(
        name=given["name"],
        user=None if given["user"] == DEFAULT else given["user"],
        workspace=None if given["workspace"] == DEFAULT else given["workspace"],
        ceiling_milli=optional(given["ceiling"], values.milli_questions),
        requests_per_minute=optional(given["rpm"], values.count),
        expires=expires.isoformat() if expires else None,
    )


def _row(key: wire.Key) -> Row:
    ceiling = looks.ABSENT if key.ceiling_milli is None else looks.questions(key.ceiling_milli)
    used = looks.ABSENT if key.used_milli is None else looks.questions(key.used_milli)
    cells = (key.name, state(key.state), key.user, key.workspace, used, short_moment(key.expires), ceiling)
    return Row(key.id, tuple(looks.printable(cell) for cell in cells), ("strong", tone(key.state)))


def _details(key: wire.Key) -> list[str]:
    limit = "none" if key.requests_per_minute is None else f"{key.requests_per_minute} requests a minute"
    ceiling = "none" if key.ceiling_milli is None else f"{looks.questions(key.ceiling_milli)} questions a month"
    return [
        f"Id          {key.id}",
        f"State       {state(key.state)}",
        f"User        {key.user}",
        f"Workspace   {key.workspace}",
        f"May         {', '.join(key.scopes)}{' (reading only)' if key.read_only else ''}",
        f"Used        {looks.questions(key.used_milli or 0)} questions this month",
        f"Ceiling     {ceiling}",
        f"Limit       {limit}",
        f"Made        {looks.moment(key.created)}",
        f"Expires     {looks.moment(key.expires) if key.expires else 'never'}",
        *((f"Revoked     {looks.moment(key.revoked)}",) if key.revoked else ()),
        "",
        "The key itself was shown once, when it was made. A lost key is revoked, and another made.",
    ]
