from textual.app import ComposeResult

from tui.typed import TypedApp
from tui.widgets.choice import Choice

FEW = ("one", "two", "three")
MANY = tuple(f"number {number}" for number in range(20))


class Bench(TypedApp):
    def __init__(self, choices: tuple[str, ...]) -> None:
        super().__init__()
        self._choices = choices
        self.taken = 0

    def compose(self) -> ComposeResult:
        yield Choice(self._choices, "", "choice", "Which")

    def on_choice_taken(self) -> None:
        self.taken += 1


async def chosen(choices: tuple[str, ...], *keys: str) -> tuple[str, int]:
    app = Bench(choices)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("tab", *keys)
        await app.all_typed()
        await pilot.pause()
        return app.query_one(Choice).value, app.taken


async def test_a_few_are_turned_through():
    assert await chosen(FEW, "right", "space", "enter") == ("three", 1)
    assert await chosen(FEW, "left") == ("three", 0)


async def test_many_are_looked_up():
    assert await chosen(MANY, "enter", "down", "down", "enter") == ("number 2", 1)
    assert await chosen(MANY, "space", "1", "7", "enter") == ("number 17", 0)
    assert await chosen(MANY, "enter", "down", "escape") == ("number 0", 0)


async def test_what_is_too_wide_is_cut_by_columns_and_says_so():
    app = Bench(("経理部" * 30, "b"))
    async with app.run_test(size=(40, 24)) as pilot:
        await pilot.pause()
        text = app.query_one(Choice).render()
        assert text.cell_len <= 40
        assert "…" in text.plain


async def test_what_can_be_chosen_becomes_known_later():
    app = Bench(FEW)
    async with app.run_test(size=(80, 24)) as pilot:
        choice = app.query_one(Choice)
        choice.offer(("two", "three"))
        assert choice.value == "one"
        await pilot.press("tab", "right")
        await app.all_typed()
        assert choice.value == "two"
