"""Audit: who has changed what, before and after. Read only, newest first."""

import json
from collections.abc import Iterable
from typing import ClassVar, cast

from rich.text import Text
from textual.widget import Widget

from appliance.admin.client import event_wire, looks
from tui import actions
from tui.feed import Picture
from tui.look import STYLES, short_moment
from tui.screens.page import Page
from tui.widgets.dialogs import Show
from tui.widgets.lines import Block
from tui.widgets.table import Column, Row, Table

PAGE_SIZE = 100
MOST = 500
"""Changes in the list."""

COLUMNS = (Column("WHEN", 11), Column("WHO", 10), Column("WHAT", 20), Column("BEFORE → AFTER"))


class AuditPage(Page):
    NAME = "audit"
    BINDINGS: ClassVar = actions.bindings("audit")

    def body(self) -> Iterable[Widget]:
        self._changes: tuple[event_wire.Change, ...] = ()
        self._next: int | None = None
        self._newer = False
        yield Block()
        yield Table(COLUMNS, empty="Nothing was changed yet.")

    async def load(self) -> None:
        table = self.query_one(Table)
        at_first = not table.line
        page = await self.desk.client.changes(limit=PAGE_SIZE if at_first else self._enough)
        self._changes, self._next, self._newer = page.changes, page.next_before, False
        self.filter_changed()
        if at_first:
            table.go_to_top()

    def resumed(self) -> None:
        self._news(self.desk.picture)

    def picture_changed(self, before: Picture, now: Picture) -> None:
        if now.fresh and (now.last_change != before.last_change or not before.fresh):
            self._news(now)

    def filter_changed(self) -> None:
        self.query_one(Block).show(_head(newer=self._newer))
        self.show_filtered(map(_row, self._changes), more=self._next is not None)

    def on_table_near_end(self) -> None:
        if self._next is None or self.works("load"):
            return
        if len(self._changes) >= MOST:
            self.say(f"{MOST} changes are loaded. Older ones are kept, in the database and its backups.", "plain")
        elif not self.works("more"):
            self.run_worker(self._more, group="more")

    def on_table_moved(self) -> None:
        if self._newer and not self.query_one(Table).line:
            self.reload()

    @property
    def _enough(self) -> int:
        """So many changes, loaded again, have the chosen one among them."""
        newer = self.desk.picture.last_change - self._changes[0].n if self._changes else 0
        return min(max(len(self._changes) + newer, PAGE_SIZE), MOST)

    def _news(self, picture: Picture) -> None:
        """Load what is new, or only say that there is something where it would move what is being read."""
        if not self._changes or self.query_one(Table).near_top:
            self.reload()
        elif picture.last_change > self._changes[0].n:
            self._newer = True
            self.filter_changed()

    async def _more(self) -> None:
        before = self._next
        size = min(PAGE_SIZE, MOST - len(self._changes))
        page = await self.tried(self.desk.client.changes(limit=size, before=before))
        # Not where others were loaded meanwhile.
        if page is not None and before == self._next:
            self._changes, self._next = (*self._changes, *page.changes), page.next_before
            self.filter_changed()

    def action_open(self) -> None:
        row = self.query_one(Table).chosen
        for change in self._changes:
            if row is not None and str(change.n) == row.id:
                self.open(Show(f"{change.action} by {change.who}", _details(change), copy=change.subject))


def _head(*, newer: bool) -> Text:
    return Text("Newest first" + (" · newer changes: home" if newer else ""), STYLES["strong"])


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
