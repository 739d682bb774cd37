"""The keys of a dialog are on the screen however small that is, and however much there is to say."""

from pathlib import Path

import pytest
from textual.widgets import Input, Static

import tui
from tests.waiting import until
from tui.typed import TypedApp
from tui.widgets.dialogs import Ask, Pick, Show, TypeToConfirm
from tui.widgets.form import Field, Form, as_given
from tui.widgets.frame import Dialog
from tui.widgets.ranking import Ranking

STYLES = Path(tui.__file__).parent / "styles.tcss"

LONG = [f"Line {number} of a text that says a lot about something." for number in range(40)]
FIELDS = tuple(Field(f"field{number}", f"Field {number}") for number in range(9))
OPTIONS = [(f"id{number}", f"option {number}", "meaning") for number in range(30)]


class Bench(TypedApp):
    CSS_PATH = STYLES


async def test_the_field_that_is_typed_into_is_on_the_screen():
    app = Bench()
    async with app.run_test(size=(60, 15)) as pilot:
        form = Form("Make it", FIELDS[:1], done="make it", lines=LONG[:12], submit=as_given)
        app.push_screen(form)
        await pilot.pause()
        field, part = form.query_one(Input), form.query_one(".fits")
        await until(lambda: part.region.contains_region(field.region))


async def test_what_has_no_room_is_scrolled_and_the_key_for_that_is_shown():
    app = Bench()
    async with app.run_test(size=(60, 15)) as pilot:
        ask = Ask("Do it?", [*LONG[:20], "The end."], "do it")
        app.push_screen(ask)
        await pilot.pause()
        keys, part = ask.query_one(".keys", Static), ask.query_one(".fits")
        await until(lambda: "pgup pgdn scroll" in str(keys.render()))
        await until(lambda: keys.region.bottom <= 14)
        before = part.scroll_offset.y
        await pilot.press("pagedown")
        await until(lambda: part.scroll_offset.y > before)
        await pilot.resize_terminal(100, 50)
        await until(lambda: "pgup" not in str(keys.render()))


@pytest.mark.parametrize("size", [(60, 15), (80, 24)])
@pytest.mark.parametrize(
    "dialog",
    [
        lambda: Ask("Do it?", LONG, "do it"),
        lambda: TypeToConfirm("Do it?", LONG, "it"),
        lambda: Show("All of it", LONG, copy="id"),
        lambda: Pick("Which?", OPTIONS),
        lambda: Ranking("Whom?", [(one, about) for one, _, about in OPTIONS], ()),
        lambda: Form("Make it", FIELDS, done="make it", lines=LONG[:3], submit=as_given),
    ],
    ids=["ask", "type", "show", "pick", "ranking", "form"],
)
async def test_the_keys_are_on_the_screen(dialog, size: tuple[int, int]):
    app = Bench()
    async with app.run_test(size=size) as pilot:
        made: Dialog[object] = dialog()
        app.push_screen(made)
        await pilot.pause()
        await pilot.pause()
        keys = made.query_one(".keys", Static)
        assert keys.region.height > 0
        assert keys.region.bottom <= size[1] - 1
        assert all(part.region.height >= 2 for part in made.query(".fits"))
