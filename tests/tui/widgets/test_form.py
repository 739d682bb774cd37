from textual.app import App

from tui.widgets.form import Field, Form

FIELDS = (
    Field("name", "Name"),
    Field("kind", "Kind", choices=("one", "two", "three")),
    Field("key", "Key", secret=True),
)


async def filled(*keys: str, check=None) -> list[dict[str, str] | None]:
    app: App[None] = App()
    answers: list[dict[str, str] | None] = []
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(Form("Make it", FIELDS, done="make it", check=check), answers.append)
        await pilot.press(*keys)
        await pilot.pause()
    return answers


async def test_enter_goes_from_field_to_field_and_makes_it_at_the_last():
    assert await filled("a", "enter", "right", "enter", "k", "enter") == [{"name": "a", "kind": "two", "key": "k"}]


async def test_choices_turn_around():
    assert await filled("enter", "left", "enter", "enter") == [{"name": "", "kind": "three", "key": ""}]
    assert await filled("enter", "space", "space", "space", "ctrl+s") == [{"name": "", "kind": "one", "key": ""}]


async def test_arrows_go_between_fields():
    assert await filled("down", "down", "k", "up", "up", "n", "ctrl+s") == [{"name": "n", "kind": "one", "key": "k"}]


async def test_escape_makes_nothing():
    assert await filled("a", "escape") == [None]


async def test_what_is_wrong_is_said_and_nothing_is_made():
    asked: list[str] = []

    def check(given) -> str:
        asked.append(given["name"])
        return "" if given["name"] == "ab" else "Two letters."

    assert await filled("a", "ctrl+s", "b", "ctrl+s", check=check) == [{"name": "ab", "kind": "one", "key": ""}]
    assert asked == ["a", "ab"]


async def test_spaces_around_a_value_are_none_of_it():
    (given,) = await filled("space", "a", "space", "ctrl+s")
    assert given is not None
    assert given["name"] == "a"
