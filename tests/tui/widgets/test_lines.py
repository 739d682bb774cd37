from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.cells import cell_len
from rich.text import Text
from textual.app import App, ComposeResult

from appliance.admin import wire
from tui import actions
from tui.feed import Picture
from tui.widgets.lines import Block, KeyLine, key_text, page_text, top_text

KEYS = wire.KeyCount(0, 0, 0)
STATUS = wire.Status("0.1.0", 1, "", "local", "http://x/v1", "medical", "ollama", (), (), KEYS, 0, ())
NOW = datetime(2026, 11, 29, 18, 57, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("picture", "about", "how"),
    [
        (Picture(), "Synapse", "◌ connecting"),
        (Picture(status=STATUS), "Synapse 0.1.0 · local · shield medical", "● live"),
        (Picture(status=STATUS, stale=NOW, why="x"), "shield medical", "◌ stale since 18:57:03Z"),
        (Picture(status=STATUS, stale=NOW, why="x", missing="access"), "shield medical", "◌ stale since 18:57:03Z"),
        (Picture(stale=NOW, why="x", missing="daemon"), "Synapse", "✗ no daemon"),
        (Picture(stale=NOW, why="x", missing="access"), "Synapse", "✗ no access"),
        (Picture(stale=NOW, why="x", missing="answer"), "Synapse", "✗ no answer"),
        (Picture(status=STATUS, problem="x"), "shield medical", "✗ daemon in trouble"),
    ],
)
def test_the_top_says_with_whom_we_speak_and_how_it_is(picture: Picture, about: str, how: str):
    line = top_text(picture, 80).plain
    assert about in line
    assert line.endswith(how)
    assert cell_len(line) == 80


@pytest.mark.parametrize("width", [30, 40, 60])
@pytest.mark.parametrize(
    ("picture", "how"),
    [(Picture(status=STATUS), "● live"), (Picture(status=STATUS, stale=NOW, why="x"), "◌ stale since 18:57:03Z")],
)
def test_however_narrow_the_state_is_on_the_screen(picture: Picture, how: str, width: int):
    line = top_text(picture, width).plain
    assert cell_len(line) == width
    assert line.startswith("Syn")
    assert line.endswith(f" {how}")


def test_a_long_version_does_not_push_the_state_out():
    line = top_text(Picture(status=replace(STATUS, version="0.1.0.dev12345+g0123456789")), 80).plain
    assert cell_len(line) == 80


@pytest.mark.parametrize("width", [80, 90, 120])
@pytest.mark.parametrize("page", [page.name for page in actions.PAGES])
def test_every_page_is_on_its_line(page: str, width: int):
    line = page_text(page, width).plain
    assert cell_len(line) <= width
    assert [one.key for one in actions.PAGES if f"{one.key} {one.short}" not in line and one.title not in line] == []


@pytest.mark.parametrize("page", list(actions.ON_PAGE))
def test_keys_take_three_lines_at_80_columns_at_most_and_are_never_parted(page: str):
    lines = key_text(page, 80).plain.split("\n")
    assert len(lines) <= 3
    assert all(cell_len(line) <= 80 for line in lines)
    together = "  ".join(lines)
    for action in actions.ON_PAGE[page]:
        assert f"{action.shown_key} {action.label}" in together


class Lines(App[None]):
    def compose(self) -> ComposeResult:
        yield Block()
        yield KeyLine("nodes")


async def test_the_key_line_is_as_high_as_it_must_be():
    app = Lines()
    async with app.run_test(size=(80, 24)) as pilot:
        assert app.query_one(KeyLine).size.height == 2
        await pilot.resize_terminal(200, 24)
        await pilot.pause()
        assert app.query_one(KeyLine).size.height == 1


async def test_a_block_is_painted_again_only_when_it_says_something_else():
    app = Lines()
    async with app.run_test() as pilot:
        block = app.query_one(Block)
        for said, layouts in (("1 call waits.", 1), ("1 call waits.", 0), ("2 calls wait.", 1)):
            before = block._layout_updates  # pyright: ignore[reportPrivateUsage]  nothing else tells of it
            block.show(Text(said))
            assert block._layout_updates - before == layouts  # pyright: ignore[reportPrivateUsage]
            await pilot.pause()
            assert str(block.render()) == said
