import asyncio
from collections.abc import Awaitable, Callable, Mapping

from textual import events
from textual.widgets import Static

from appliance.admin.client import AdminError
from tests.waiting import until
from tui.typed import TypedApp
from tui.widgets.form import Check, Field, Form, as_given

Given = Mapping[str, str]

FIELDS = (
    Field("name", "Name"),
    Field("kind", "Kind", choices=("one", "two", "three")),
    Field("key", "Key", secret=True),
)


async def filled(
    *keys: str,
    check: Check | None = None,
    submit: Callable[[Given], Awaitable[Given | None]] = as_given,
    at_once: bool = False,
) -> list[Given | None]:
    app = TypedApp()
    answers: list[Given | None] = []
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(Form("Make it", FIELDS, done="make it", check=check, submit=submit), answers.append)
        await pilot.pause()
        if at_once:
            for key in keys:
                app.post_message(events.Key(key, key if len(key) == 1 else None))
            await pilot.pause()
            await app.all_typed()
        else:
            await pilot.press(*keys)
            await app.all_typed()
        await pilot.pause()
    return answers


async def test_enter_goes_from_field_to_field_and_makes_it_at_the_last():
    assert await filled("a", "enter", "right", "enter", "k", "enter") == [{"name": "a", "kind": "two", "key": "k"}]


async def test_keys_that_come_at_once_are_taken_in_their_order():
    keys = ("a", "b", "enter", "right", "enter", "k", "enter", "x", "escape")
    assert await filled(*keys, at_once=True) == [{"name": "ab", "kind": "two", "key": "k"}]


async def test_what_is_erased_is_erased_before_what_is_typed_then():
    keys = ("a", "b", "ctrl+u", "c", "down", "down", "k", "up", "up", "d", "ctrl+s", "e")
    assert await filled(*keys, at_once=True) == [{"name": "cd", "kind": "one", "key": "k"}]


async def test_choices_turn_around():
    assert await filled("enter", "left", "enter", "enter") == [{"name": "", "kind": "three", "key": ""}]
    assert await filled("enter", "space", "space", "space", "ctrl+s") == [{"name": "", "kind": "one", "key": ""}]


async def test_arrows_go_between_fields():
    assert await filled("down", "down", "k", "up", "up", "n", "ctrl+s") == [{"name": "n", "kind": "one", "key": "k"}]


async def test_escape_makes_nothing():
    assert await filled("a", "escape") == [None]


async def test_what_is_wrong_is_said_and_nothing_is_made():
    asked: list[str] = []

    def check(given: Given) -> str:
        asked.append(given["name"])
        return "" if given["name"] == "ab" else "Two letters."

    assert await filled("a", "ctrl+s", "b", "ctrl+s", check=check) == [{"name": "ab", "kind": "one", "key": ""}]
    assert asked == ["a", "ab"]


async def test_what_is_refused_stays_typed():
    asked: list[str] = []

    async def submit(given: Given) -> Given:
        asked.append(given["name"])
        if given["name"] == "a":
            raise AdminError("Two letters.")
        return given

    assert await filled("a", "ctrl+s", "b", "ctrl+s", submit=submit) == [{"name": "ab", "kind": "one", "key": ""}]
    assert asked == ["a", "ab"]


async def test_what_was_thought_better_of_stays_typed():
    answers: list[Given | None] = [None]

    async def submit(given: Given) -> Given | None:
        return answers.pop() if answers else given

    assert await filled("a", "ctrl+s", "b", "ctrl+s", submit=submit) == [{"name": "ab", "kind": "one", "key": ""}]


async def test_it_says_that_it_asks_and_waits_for_nothing_else():
    go_on = asyncio.Event()

    async def submit(given: Given) -> Given:
        await go_on.wait()
        return given

    app = TypedApp()
    answers: list[Given | None] = []
    async with app.run_test(size=(80, 24)) as pilot:
        form = Form("Make it", FIELDS, done="make it", submit=submit)
        app.push_screen(form, answers.append)
        await pilot.press("a", "ctrl+s", "b", "escape", "tab", "c", "ctrl+s")
        assert str(form.query_one(".wrong", Static).render()) == "Asking the daemon …"
        assert answers == []
        go_on.set()
        await until(lambda: bool(answers))
    assert answers == [{"name": "a", "kind": "one", "key": ""}]


async def test_spaces_around_a_value_are_none_of_it():
    (given,) = await filled("space", "a", "space", "ctrl+s")
    assert given is not None
    assert given["name"] == "a"
