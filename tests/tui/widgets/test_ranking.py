import pytest
from textual.app import App

from tui.widgets.ranking import Ranking


async def ranked(before: tuple[str, ...], *keys: str) -> list[tuple[str, ...] | None]:
    app: App[None] = App()
    answers: list[tuple[str, ...] | None] = []
    candidates = [("ollama", "ours"), ("openai", "outside"), ("rack", "outside")]
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(Ranking("Whom?", candidates, before), answers.append)
        await pilot.press(*keys)
        await pilot.pause()
    return answers


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ((), ("space", "enter"), ("ollama",)),
        (("openai", "rack"), ("enter",), ("openai", "rack")),
        (("openai", "rack"), ("d", "enter"), ("rack", "openai")),
        (("openai", "rack"), ("down", "u", "u", "enter"), ("rack", "openai")),
        (("openai", "rack"), ("space", "enter"), ("rack",)),
        (("openai",), ("space", "space", "enter"), ("openai",)),
        (("openai",), ("end", "u", "enter"), ("openai",)),  # one that is out has no place to move from
        (("gone", "rack"), ("enter",), ("rack",)),
    ],
)
async def test_the_order_is_what_was_made_of_it(before: tuple[str, ...], keys: tuple[str, ...], after: tuple[str, ...]):
    assert await ranked(before, *keys) == [after]


async def test_escape_changes_nothing():
    assert await ranked(("openai",), "space", "escape") == [None]
