"""Audit: who has changed what, before and after. Read only, newest first."""

import json
from collections.abc import Iterable
from typing import ClassVar, cast

from textual.widget import Widget

from appliance.admin.client import event_wire, looks
from tui import actions
from tui.look import short_moment
from tui.screens.page import Page
from tui.widgets.dialogs import Show
from tui.widgets.table import Column, Row, Table

PAGE_SIZE = 100
MOST = 500
"""Lines at a time: older ones are what `synapse` on the command line is for."""

COLUMNS = (Column("WHEN", 11), Column("WHO", 10), Column("WHAT", 20), Column("BEFORE → AFTER"))


class AuditPage(Page):
    NAME = "audit"
    BINDINGS: ClassVar = actions.bindings("audit")

    _changes: tuple[event_wire.Change, ...] = ()
    _next: int | None = None

    def body(self) -> Iterable[Widget]:
        yield Table(COLUMNS, empty="Nothing was changed yet.")

    async def load(self) -> None:
        page = await self.desk.client.changes(limit=PAGE_SIZE)
        self._changes, self._next = page.changes, page.next_before
        self.filter_changed()

    def filter_changed(self) -> None:
        self.query_one(Table).show(self.filtered(_row(change) for change in self._changes))

    def on_table_near_end(self) -> None:
        if self._next is not None and len(self._changes) < MOST:
            self.run_worker(self._more, group="load", exclusive=True)

    async def _more(self) -> None:
        page = await self.tried(self.desk.client.changes(limit=PAGE_SIZE, before=self._next))
        if page is not None:
            self._changes, self._next = (*self._changes, *page.changes), page.next_before
            self.filter_changed()

    def action_open(self) -> None:
        row = self.query_one(Table).chosen
        for change in self._changes:
            if row is not None and str(change.n) == row.id:
                self.open(Show(f"{change.action} by {change.who}", _details(change), copy=change.subject))


def _row(change: event_wire.Change) -> Row:
    cells = (short_moment(change.at), change.who, change.action, in_short(change))
    return Row(str(change.n), tuple(looks.printable(cell) for cell in cells))


def in_short(change: event_wire.Change) -> str:
    """What is different, in a few words; the name of what was made or is gone."""
    before, after = (None if text is None else json.loads(text) for text in (change.before, change.after))
    old, new = _members(before), _members(after)
    if old and new:
        names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        named = str(new.get("name", change.subject))
        return f"{named}: " + ", ".join(f"{name} {_said(old.get(name))} → {_said(new.get(name))}" for name in names)
    if (one := new or old) is not None:
        return str(one.get("name", change.subject))
    return f"{_said(before)} → {_said(after)}"


def _members(value: object) -> dict[str, object] | None:
    return cast(dict[str, object], value) if isinstance(value, dict) else None


def _said(value: object) -> str:
    if value is None:
        return looks.ABSENT
    return ", ".join(map(str, cast(list[object], value))) if isinstance(value, list) else str(value)


def _details(change: event_wire.Change) -> list[str]:
    return [
        f"When     {change.at}",
        f"Who      {change.who}",
        f"What     {change.action}",
        f"To       {change.subject}",
        f"Before   {change.before or looks.ABSENT}",
        f"After    {change.after or looks.ABSENT}",
    ]
