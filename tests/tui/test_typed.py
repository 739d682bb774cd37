"""Keys in a row, with nothing waited for in between, on an app that shows in which order they took effect."""

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Input

from tui.typed import TypedApp


class Box(ModalScreen[str]):
    def compose(self) -> ComposeResult:
        yield Input(id="first")
        yield Input(id="second")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id == "first":
            self.focus_next()
        else:
            self.dismiss("+".join(field.value for field in self.query(Input)))


class Bench(TypedApp):
    BINDINGS: ClassVar = [Binding("o", "box", "box"), Binding("x", "note", "note")]

    def __init__(self) -> None:
        super().__init__()
        self.did: list[str] = []

    def action_box(self) -> None:
        self.run_worker(self._box)

    def action_note(self) -> None:
        self.did.append("x")

    async def _box(self) -> None:
        self.did.append(await self.push_screen_wait(Box()))


async def did(*keys: str | events.Paste) -> list[str]:
    app = Bench()
    async with app.run_test() as pilot:
        for key in keys:
            one = key if isinstance(key, events.Paste) else events.Key(key, key if len(key) == 1 else None)
            app.post_message(one)
        await pilot.pause()
        await app.all_typed()
        await pilot.pause()
    return app.did


async def test_what_is_typed_behind_a_key_is_for_what_the_key_opens():
    assert await did("x", "o", "x", "o", "enter", "x", "enter", "x", "x") == ["x", "xo+x", "x", "x"]


async def test_what_is_pasted_comes_in_its_turn():
    assert await did("o", "a", events.Paste("bc"), "enter", events.Paste("d"), "e", "enter") == ["abc+de"]


async def test_what_was_typed_ahead_can_be_dropped():
    class Dropping(Bench):
        def action_note(self) -> None:
            super().action_note()
            self.drop_typed()

    app = Dropping()
    async with app.run_test() as pilot:
        for key in ("x", "x", "x"):
            app.post_message(events.Key(key, key))
        await pilot.pause()
        await app.all_typed()
        assert app.did == ["x"]
        await pilot.press("x")
        await app.all_typed()
        assert app.did == ["x", "x"]
