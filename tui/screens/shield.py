"""Shield: what is masked before anything leaves, and a box in which to see it. What is typed there is kept nowhere: it
is gone with its history once the box is empty, or another page is shown.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import ClassVar, cast

from rich.style import Style
from rich.text import Text
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static, TextArea

from appliance.admin.client import looks, wire
from tui import actions
from tui.look import STYLES
from tui.screens.page import Page, one_at_a_time
from tui.widgets.dialogs import Pick, TypeToConfirm
from tui.widgets.table import Column, Row, Table

_MEANING: dict[wire.ShieldMode, str] = {
    "standard": "e-mail, phone, cards, IBAN, SSN, network addresses",
    "medical": "those, names, dates, ages, ZIPs, patient numbers",
    "off": "nothing is masked: text leaves as it is",
}

REST_SECONDS = 0.3
"""A text is looked at once nothing was typed for so long, not letter by letter."""

MOST_CHARACTERS = 20_000
"""Some seven pages, which are found and marked at once. Above it a terminal is no place to read them."""

_FOUND = Style(bold=True, underline=True)

COLUMNS = (Column("VALUE", 24), Column("CATEGORY", 14), Column("WHY"))


class ShieldPage(Page):
    NAME = "shield"
    BINDINGS: ClassVar = actions.bindings("shield")

    _shield: wire.Shield | None = None

    def body(self) -> Iterable[Widget]:
        yield Static("", id="mode", classes="block", markup=False)
        box = TextArea("", id="box", soft_wrap=True, show_line_numbers=False, compact=True)
        box.cursor_blink = False
        box.border_title = "Try it: press t, then type or paste; esc leaves the box"
        yield box
        with VerticalScroll(id="seen", can_focus=False):
            yield Static("", id="marked", markup=False)
        yield Table(COLUMNS, empty="")

    async def load(self) -> None:
        self._shield = await self.desk.client.shield()
        self.query_one("#mode", Static).update(_mode(self._shield))
        await self._try()

    def left(self) -> None:
        self.action_clear()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        if event.text_area.text:
            self.run_worker(self._rested, group="try", exclusive=True)
        else:
            event.text_area.history.clear()  # or ctrl+z would bring it back
            self._show_nothing()

    def action_try_text(self) -> None:
        self.query_one(TextArea).focus()

    def action_clear(self) -> None:
        self.query_one(TextArea).load_text("")
        self._show_nothing()

    @one_at_a_time
    async def action_mode(self) -> None:
        if (shield := self._shield) is None:
            return
        options = [(mode, mode, meaning) for mode, meaning in _MEANING.items()]
        mode = cast(
            "wire.ShieldMode | None", await self.ask(Pick("What is to be masked?", options, chosen=shield.mode))
        )
        if mode is None or mode == shield.mode:
            return
        lines = (
            f"Now      {shield.mode}: {_MEANING[shield.mode]}",
            f"Then     {mode}: {_MEANING[mode]}",
            "",
            "It holds for every workspace, from the next call on.",
        )
        if not await self.ask(TypeToConfirm(f"Set the shield to {mode}?", lines, mode)):
            return
        if await self.tried(self.desk.client.set_shield_mode(mode, seen=shield.revision)) is not None:
            self.say(f"The shield is set to {mode}.")
        self.reload()  # in either case: where somebody was faster, that is what is to be looked at

    async def _rested(self) -> None:
        await asyncio.sleep(REST_SECONDS)
        await self.tried(self._try())

    async def _try(self) -> None:
        box = self.query_one(TextArea)
        text = box.text
        if not text or len(text) > MOST_CHARACTERS:
            self._show_nothing(_too_long(len(text)) if text else "")
            return
        answer = await self.desk.client.test_shield(text)
        if text != box.text:
            return  # it is another by now, or gone
        self.query_one("#marked", Static).update(marked_text(text, answer.findings))
        nothing = "The shield is off: this text would leave as it is." if answer.mode == "off" else "Nothing is found."
        rows = [_row(text, one) for one in answer.findings]
        self.query_one(Table).show(rows, columns=COLUMNS, empty=nothing)

    def _show_nothing(self, why: str = "") -> None:
        self.query_one("#marked", Static).update(why)
        # Not hidden: the focus would go on into the box, and the keys with it.
        self.query_one(Table).show([], columns=(), empty="")


def marked_text(text: str, findings: Sequence[wire.ShieldFinding]) -> Text:
    """The text with every value marked in its place, and its category behind it."""
    shown, at = Text(), 0
    for one in findings:
        shown.append(_shown(text[at : one.start]))
        shown.append(_shown(text[one.start : one.end]), _FOUND)
        shown.append(f"[{one.category}]", STYLES["warn"])
        at = one.end
    shown.append(_shown(text[at:]))
    return shown


def _shown(text: str) -> str:
    """As it is, but for what a terminal would obey; lines stay lines."""
    return "\n".join(looks.printable(line) for line in text.expandtabs(4).splitlines()) + (
        "\n" if text.endswith("\n") else ""
    )


def _row(text: str, one: wire.ShieldFinding) -> Row:
    because = f"{one.rule}; near “{one.context}”" if one.context else one.rule
    cells = (text[one.start : one.end], one.category, because)
    return Row(f"{one.start}-{one.end}", tuple(looks.printable(cell) for cell in cells), ("strong", "warn"))


def _too_long(characters: int) -> str:
    return (
        f"! This text has {characters:,} characters, and the box looks at {MOST_CHARACTERS:,} at most.\n"
        "  In a shell, all of it:  synapse shield test FILE"
    )


def _mode(shield: wire.Shield) -> Text:
    whose = "set by an administrator" if shield.set else "as the settings file says"
    text = Text.assemble(("Mode ", STYLES["plain"]), (shield.mode, STYLES["bad" if shield.mode == "off" else "strong"]))
    masks = f"Masks {', '.join(shield.categories)}" if shield.categories else "Nothing is masked: text leaves as it is."
    text.append(f" ({whose}). {masks}")
    return text
