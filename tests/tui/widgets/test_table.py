"""Which lines a table repaints, and that what it shows fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.geometry import Region

from tui.widgets.table import Column, Row, Table, fitted

COLUMNS = (Column("NAME"), Column("N", 5, right=True))


def rows(*numbers: int) -> list[Row]:
    return [Row(f"r{n}", (f"name {n}", str(n))) for n in numbers]


class Recorder(Table):
    def __init__(self) -> None:
        super().__init__(COLUMNS, empty="Nothing is here.")
        self.painted: list[Region | None] = []

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False):
        self.painted += list(regions) or [None]
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


class Bench(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.table = Recorder()
        self.near: int = 0
        self.moved: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.table

    def on_table_near_end(self) -> None:
        self.near += 1

    def on_table_moved(self) -> None:
        assert self.table.chosen is not None
        self.moved.append(self.table.chosen.id)

    def lines(self) -> list[str]:
        return [self.table.render_line(y).text.rstrip() for y in range(self.table.size.height)]


@pytest.fixture
async def bench():
    app = Bench()
    async with app.run_test(size=(30, 8)) as pilot:
        app.table.focus()
        await pilot.pause()
        yield app, pilot


async def test_a_line_a_row_with_the_cursor_marked_without_colour(bench):
    app, _ = bench
    app.table.show(rows(1, 2))
    assert app.lines()[:3] == [
        "  NAME                       N",
        "▸ name 1                     1",
        "  name 2                     2",
    ]


async def test_nothing_there_is_said_once_it_is_known(bench):
    app, _ = bench
    assert "  Nothing is known yet." in app.lines()
    app.table.show([])
    assert "  Nothing is here." in app.lines()


async def test_only_changed_lines_are_painted(bench):
    app, _ = bench
    app.table.show(rows(1, 2, 3, 4))
    app.table.painted.clear()
    app.table.show(rows(1, 2, 3, 4))
    assert app.table.painted == []
    app.table.show([*rows(1, 2), Row("r3", ("other", "3")), *rows(4)])
    assert [region.y for region in app.table.painted if region] == [3]
    assert [region.height for region in app.table.painted if region] == [1]


async def test_the_cursor_stays_on_its_row_wherever_that_goes(bench):
    app, pilot = bench
    app.table.show(rows(1, 2, 3))
    await pilot.press("down")
    app.table.show(rows(9, 8, 1, 2, 3))
    assert app.table.chosen == rows(2)[0]
    app.table.show(rows(9, 8))
    assert app.table.chosen == rows(8)[0]
    app.table.show([])
    assert app.table.chosen is None


async def test_keys_move_the_cursor_and_the_lines_below_the_window_come(bench):
    app, pilot = bench
    app.table.show(rows(*range(40)))
    for key, chosen in (
        ("down", 1),
        ("pagedown", 7),
        ("end", 39),
        ("down", 39),
        ("pageup", 33),
        ("home", 0),
        ("up", 0),
    ):
        await pilot.press(key)
        assert app.table.chosen == rows(chosen)[0], key
        assert any(line.startswith(f"▸ name {chosen} ") for line in app.lines()), key
    assert app.lines()[0].startswith("  NAME")  # the header never scrolls away
    assert app.moved == ["r1", "r7", "r39", "r33", "r0"]


async def test_more_is_asked_for_before_the_end_is_reached(bench):
    app, pilot = bench
    app.table.show(rows(*range(40)))
    await pilot.press("down")
    assert app.near == 0
    await pilot.press("end")
    assert app.near == 1


async def test_choosing_by_id(bench):
    app, _ = bench
    app.table.show(rows(*range(40)))
    app.table.choose("r30")
    assert app.table.chosen == rows(30)[0]
    app.table.choose("nobody")
    assert app.table.chosen == rows(30)[0]


async def test_a_smaller_window_keeps_the_cursor_in_sight(bench):
    app, pilot = bench
    app.table.show(rows(*range(40)))
    await pilot.press("end")
    await pilot.resize_terminal(20, 5)
    await pilot.pause()
    assert app.table.chosen == rows(39)[0]
    assert app.lines()[-1].startswith("▸ name 39")
    assert all(cell_len(line) <= 20 for line in app.lines())


@given(st.text(), st.integers(0, 30), st.booleans())
def test_a_cell_takes_exactly_its_width(text: str, width: int, right: bool):
    assert cell_len(fitted(text, width, right=right)) == width


def test_what_is_cut_says_so():
    assert fitted("abcdef", 4) == "abc…"
    assert fitted("日本語", 4) == "日 …"
    assert fitted("ab", 4, right=True) == "  ab"
