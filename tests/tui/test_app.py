"""The console as a whole: pages, help, palette, and a daemon that goes away and comes back."""

from contextlib import aclosing
from dataclasses import replace

import pytest

from appliance.admin.api import create_app
from appliance.admin.client import Client
from appliance.admin.events import Events, Pace
from appliance.admin.peers import AdminListener
from tests.admin.played import Daemon
from tests.tui.seats import LARGE, TOOLS, Seat, seated
from tests.waiting import until
from tui import actions
from tui.app import Console


@pytest.mark.parametrize("page", actions.PAGES, ids=lambda page: page.name)
async def test_one_key_a_page(seat: Seat, page: actions.PageName):
    await seat.press(page.key)
    await seat.sees(f"{page.key} {page.short}")
    for action in actions.ON_PAGE[page.name]:
        await seat.sees(f"{action.shown_key} {action.label}")
    assert "✗" not in seat.notice()


async def test_the_help_of_a_page(seat: Seat):
    await seat.press("5", "question_mark")
    await seat.sees("Keys: keys", "n  Make a key for a tool. It is shown once.", "Asks first.")
    await seat.press("escape", "1")
    await seat.sees("Today (UTC)")


async def test_the_palette_finds_a_page_and_an_action(seat: Seat):
    await seat.press("ctrl+p")
    await seat.type("go to keys")
    await seat.sees("Go to Keys (5)")
    await seat.press("enter")
    await seat.sees("n new key")
    await seat.press("ctrl+p")
    await seat.type("new key")
    await seat.sees("New key (n)")
    await seat.press("enter")
    await seat.sees("Make a key")


async def test_over_a_form_there_is_no_palette(seat: Seat):
    await seat.press("5", "n", "ctrl+p")
    await seat.type("go to")
    await seat.sees("Make a key", "Name        go to")


async def test_a_daemon_that_dies_is_said_to_be_dead_and_one_that_comes_back_is_live(client: Client, daemon: Daemon):
    listener = await AdminListener.open(daemon.socket.with_suffix(".2"), create_app(daemon.service, daemon.events))
    async with Client(daemon.socket.with_suffix(".2")) as other, seated(other) as seat:
        await seat.press("5")
        await seat.sees("There is no key yet")
        daemon.events.close()
        await listener.close()
        await seat.sees("◌ stale since 18:57:03Z", "There is no key yet")
        await seat.sees("✗ The daemon is not running", "Start it")
        await seat.press("ctrl+r", "6", "5")
        await seat.sees("✗ The daemon is not running", "◌ stale since 18:57:03Z")
        events = Events(daemon.service.look, Pace(look=0.05, rest=0.01, alive=0.2))
        listener = await AdminListener.open(daemon.socket.with_suffix(".2"), create_app(daemon.service, events))
        await seat.sees("● live")
        await until(lambda: "✗" not in seat.text())
        events.close()
    await listener.close()


async def test_what_comes_before_a_page_is_there_is_on_it_once_it_is(seat: Seat):
    before = seat.console._desk.picture  # pyright: ignore[reportPrivateUsage]  what the feed does, at its worst moment
    seat.console.action_page("models")
    seat.console._changed(before, replace(before, problem="The disk is full."))  # pyright: ignore[reportPrivateUsage]
    await seat.sees("✗ daemon in trouble", "ROLE")


async def test_a_console_that_finds_no_daemon_says_what_to_do(daemon: Daemon):
    async with Client(daemon.socket.with_suffix(".none")) as nobody:
        console = Console(nobody, TOOLS)
        async with console.run_test(size=(80, 24)) as pilot:
            seat = Seat(console, pilot)
            await seat.sees("✗ no daemon", "The daemon is not running", "Start it", "Nothing is known yet.")
            for page in ("5", "7", "8", "9"):
                await seat.press(page)
                await seat.sees("✗ The daemon is not running", "Nothing is known yet.")


async def test_a_larger_window_has_the_whole_titles(client: Client):
    async with seated(client, size=LARGE) as seat:
        await seat.sees("7 Certificates")


async def test_it_quits_and_the_daemon_goes_on(seat: Seat, client: Client):
    await seat.press("q")
    assert not seat.console.is_running
    async with aclosing(client.events()) as events:
        assert (await anext(events)).status is not None
