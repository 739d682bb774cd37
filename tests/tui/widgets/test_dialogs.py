"""What each dialog answers to which keys. The answer that changes nothing is the one of Enter and Escape."""

from typing import Any

import pytest
from textual.app import App
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.actions import Action
from tui.widgets.dialogs import Ask, Copy, Pick, Show, TypeToConfirm
from tui.widgets.table import Table


class Bench(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Any] = []
        self.copied: list[str] = []

    def on_copy(self, message: Copy) -> None:
        self.copied.append(message.text)


async def answered(dialog: ModalScreen[Any], *keys: str) -> list[Any]:
    app = Bench()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(dialog, app.answers.append)
        await pilot.press(*keys)
        await pilot.pause()
    return app.answers


@pytest.mark.parametrize(("key", "answer"), [("y", True), ("n", False), ("enter", False), ("escape", False)])
async def test_yes_is_only_yes(key: str, answer: bool):
    assert await answered(Ask("Remove it?", ["For ever."], "remove"), key) == [answer]


async def test_other_keys_are_no_answer():
    assert await answered(Ask("Remove it?", ["For ever."], "remove"), "space", "Y", "1", "x") == []


@pytest.mark.parametrize(
    ("keys", "answers"),
    [
        (("o", "f", "f", "enter"), [True]),
        (("o", "f", "enter"), []),  # it says that this is another word, and waits
        (("enter",), [False]),
        (("o", "f", "f", "escape"), [False]),
    ],
)
async def test_the_word_has_to_be_typed(keys: tuple[str, ...], answers: list[bool]):
    assert await answered(TypeToConfirm("Off?", [], "off"), *keys) == answers


OPTIONS = (("a", "first", "meaning"), ("b", "second", ""), ("c", "third", ""))


@pytest.mark.parametrize(
    ("keys", "answer"),
    [(("enter",), "b"), (("down", "enter"), "c"), (("up", "enter"), "a"), (("escape",), None)],
)
async def test_one_of_several_beginning_with_what_is(keys: tuple[str, ...], answer: str | None):
    assert await answered(Pick("Which?", OPTIONS, chosen="b"), *keys) == [answer]


async def test_nothing_to_choose_from_is_no_choice():
    assert await answered(Pick("Which?", ()), "enter") == [None]


async def test_what_is_shown_can_be_copied_and_is_closed_by_an_action():
    app = Bench()
    more = Action("verify", "v", "verify", "Check it.")
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(Show("Title", ["[b]text[/b]"], copy="prf_1", actions=(more,)), app.answers.append)
        await pilot.press("y", "v")
        await pilot.pause()
    assert (app.copied, app.answers) == (["prf_1"], ["verify"])


async def test_what_is_shown_once_is_closed_by_escape_alone():
    secret = Show("Key", ["sk_live_1"], copy="sk_live_1", once=True)
    assert await answered(secret, "enter", "q", "space", "enter") == []
    assert await answered(Show("Key", ["sk_live_1"], once=True), "enter", "escape") == [None]


MANY = [(f"id-{number}", f"title {number}", "") for number in range(30)]


async def test_one_of_many_is_found_by_typing():
    assert await answered(Pick("Which?", MANY), "2", "7", "enter") == ["id-27"]
    assert await answered(Pick("Which?", MANY), "9", "x", "enter") == [None]
    assert await answered(Pick("Which?", MANY), "9", "x", "backspace", "down", "enter") == ["id-19"]


async def test_wide_characters_take_their_two_columns():
    app = Bench()
    wide = "経理部" * 9
    async with app.run_test(size=(80, 24)) as pilot:
        pick = Pick("Which?", [(wide, wide, "x"), ("b", "b", "y")])
        app.push_screen(pick)
        await pilot.pause()
        table = pick.query_one(Table)
        assert wide in table.render_line(1).text


async def test_a_name_that_is_too_long_for_its_line_is_shown_whole_below():
    app = Bench()
    long = "machine-" * 12
    async with app.run_test(size=(60, 24)) as pilot:
        pick = Pick("Which?", [("a", "a", ""), (long, long, "")])
        app.push_screen(pick)
        await pilot.press("down")
        await pilot.pause()
        assert str(pick.query_one(".said", Static).render()) == long


async def test_without_anything_to_copy_y_does_nothing():
    app = Bench()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(Show("Title", ["text"]), app.answers.append)
        await pilot.press("y", "enter")
        await pilot.pause()
    assert (app.copied, app.answers) == ([], [None])
