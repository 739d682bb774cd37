"""The console without a terminal, at a real admin socket: pressed by a test, read as lines of text."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Static

from appliance.admin import ledger_wire
from appliance.admin.client import Client
from appliance.commands.console import verdict
from tests.waiting import until
from tui.app import Console
from tui.tools import Tools
from tui.widgets.lines import Notice
from tui.widgets.table import Table

NOW = datetime(2026, 11, 29, 18, 57, 3, tzinfo=UTC)
PATIENCE_SECONDS = 15
"""On a machine that is busy with other tests too."""

NAMED = {"slash": "/", "full_stop": ".", "minus": "-", "underscore": "_", "space": " ", "colon": ":"}

SMALL, LARGE = (80, 24), (120, 40)


async def no_csv(_: Client, __: ledger_wire.Which) -> AsyncIterator[bytes]:
    yield b"at,key\r\n"


TOOLS = Tools(verify=verdict, export=no_csv, now=lambda: NOW)


def keys_of(text: str) -> list[str]:
    """As Textual names them."""
    names = {character: name for name, character in NAMED.items()}
    return [names.get(one, one) for one in text]


class Seat:
    """A person at the console. `press` takes keys as Textual names them; letters one by one."""

    def __init__(self, console: Console, pilot: Pilot[None]) -> None:
        self.console = console
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settled()

    async def type(self, text: str) -> None:
        """Into the field that has the focus."""
        await self.press(*keys_of(text))

    async def burst(self, *keys: str) -> None:
        """All at once, as a slow line or a paste brings them: nothing is waited for in between."""
        for key in keys:
            self.console.post_message(events.Key(key, NAMED.get(key, key if len(key) == 1 else None)))
        await self.pilot.pause()
        await self.settled()

    async def settled(self) -> None:
        """Everything that the last key began, but for what waits for a person, is done."""
        await self.console.all_typed()
        await self.pilot.pause()

    def lines(self) -> list[str]:
        """What is on the screen."""
        width, height = self.console.size
        compositor = self.console.screen._compositor  # pyright: ignore[reportPrivateUsage]  it has no other way to text
        strips = compositor.render_strips()
        del width
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips[:height]]

    def text(self) -> str:
        return "\n".join(self.lines())

    async def sees(self, *texts: str) -> None:
        """Waits until all of these are on the screen."""
        try:
            await until(lambda: all(text in self.text() for text in texts), PATIENCE_SECONDS)
        except TimeoutError:
            missing = [text for text in texts if text not in self.text()]
            raise AssertionError(f"not on the screen: {missing}\n{self.text()}") from None

    async def reads(self, *sentences: str) -> None:
        """As `sees`, wherever their lines are broken."""

        def unbroken() -> str:
            return " ".join(" ".join(line.strip(" │") for line in self.lines()).split())

        try:
            await until(lambda: all(sentence in unbroken() for sentence in sentences), 5)
        except TimeoutError:
            missing = [sentence for sentence in sentences if sentence not in unbroken()]
            raise AssertionError(f"not to be read: {missing}\n{self.text()}") from None

    def row_ids(self) -> list[str]:
        return [row.id for row in self.console.screen.query_one(Table).rows]

    def notice(self) -> str:
        return str(self.console.screen.query_one(Notice, Static).render())


@asynccontextmanager
async def seated(
    client: Client, *, size: tuple[int, int] = SMALL, tools: Tools = TOOLS, colour: bool = True
) -> AsyncGenerator[Seat]:
    """The console, once it has heard from the daemon."""
    with pytest.MonkeyPatch.context() as patch:
        if colour:
            patch.delenv("NO_COLOR", raising=False)
        else:
            patch.setenv("NO_COLOR", "1")
        console = Console(client, tools)
    async with console.run_test(size=size) as pilot:
        seat = Seat(console, pilot)
        await seat.sees("● live")
        yield seat
