"""Every page as a picture, at two sizes, with data and without: as committed, whole, and told apart without colour.

The pictures are those of docs/console.md. After a change that is meant: scripts/gen-pictures, and look at them.
"""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.widget import Widget
from textual.widgets import Static

from tests.tui.office import NOW, TEXT, Office
from tests.tui.seats import LARGE, SMALL, TOOLS, Seat, seated
from tui import actions
from tui.look import STYLES

PICTURES = Path(__file__).resolve().parent.parent.parent / "docs" / "pictures"

WRITE = "SYNAPSE_WRITE_PICTURES" in os.environ

SIZES = {"80x24": SMALL, "120x40": LARGE}
MAIN_FOUR = ("overview", "nodes", "shield", "ledger")
DATA = {
    "overview": "desk-3",
    "nodes": "reception",
    "shield": "Masks EMAIL",
    "providers": "gpt-4o",
    "keys": "n8n",
    "ledger": "n8n",
    "certificates": "prf_7",
    "models": "qwen3:14b",
    "audit": "shield.set",
}
"""What is on each page once everything has come that it shows."""

EMPTY = {
    "overview": "What to do next",
    "nodes": "No machine",
    "shield": "Masks EMAIL",
    "providers": "No provider outside",
    "keys": "There is no key yet",
    "ledger": "No call",
    "certificates": "No certificate yet",
    "models": "full",
    "audit": "Nothing was changed yet",
}


def picture(svg: str) -> str:
    """The picture without what is different each time, or lies on somebody else's server."""
    svg = re.sub(r"@font-face \{.*?\}\n?", "", svg, flags=re.DOTALL)
    return re.sub(r"terminal-\d+-", "terminal-", svg)


def check(name: str, svg: str) -> None:
    file = PICTURES / f"{name}.svg"
    if WRITE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(svg, encoding="utf-8")
    assert file.is_file(), "scripts/gen-pictures makes it"
    assert svg == file.read_text(encoding="utf-8"), "another picture: where that is meant, scripts/gen-pictures"


async def taken(seat: Seat, page: actions.PageName, texts: dict[str, str]) -> str:
    await seat.press(page.key)
    if page.name == "shield" and texts is DATA:
        await seat.press("t")
        seat.console.screen.query_one("#box").load_text(TEXT)  # pyright: ignore[reportAttributeAccessIssue]
        await seat.press("escape")
        await seat.sees("number with a calling code")
    await seat.sees(texts[page.name])
    await seat.pilot.wait_for_scheduled_animations()
    await seat.settled()
    return picture(seat.console.export_screenshot(title="Synapse", simplify=True))


@pytest.mark.parametrize("texts", [DATA, EMPTY], ids=["data", "empty"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", actions.PAGES, ids=lambda page: page.name)
async def test_a_page(page: actions.PageName, size: str, texts: dict[str, str]):
    async with Office(empty=texts is EMPTY) as office, seated(office, size=SIZES[size], tools=AT_NOW) as seat:
        svg = await taken(seat, page, texts)
        assert_whole(seat)
        check(f"{page.name}-{size}-{'data' if texts is DATA else 'empty'}", svg)


@pytest.mark.parametrize("name", MAIN_FOUR)
async def test_a_page_without_colour(name: str, monkeypatch: pytest.MonkeyPatch):
    page = next(page for page in actions.PAGES if page.name == name)
    async with Office() as office, seated(office, tools=AT_NOW, colour=False) as seat:
        svg = await taken(seat, page, DATA)
        assert_whole(seat)
        assert coloured(svg) == []
        assert readable(svg)
        check(f"{name}-80x24-no-colour", svg)


AT_NOW = replace(TOOLS, now=lambda: NOW)


def coloured(svg: str) -> list[str]:
    """The colours of a picture's terminal that are no grey, nearly; its frame has three buttons of a window."""
    inside = svg[: svg.index("<circle")] if "<circle" in svg else svg
    found = re.findall(r"fill: #([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})", inside)
    return ["".join(one) for one in found if max(bytes.fromhex("".join(one))) - min(bytes.fromhex("".join(one))) > 8]


def readable(svg: str) -> bool:
    """Light text on the dark terminal, and dark text only where a light field lies under it (reversed)."""
    texts = {int(one[:2], 16) for one in re.findall(r"-r\d+ \{ fill: #([0-9a-f]{6})", svg)}
    fields = {int(one[:2], 16) for one in re.findall(r'<rect fill="#([0-9a-f]{6})"', svg[svg.index("<g transform") :])}
    dark, light = {one for one in texts if one < 0x60}, {one for one in fields if one > 0x80}
    return bool(texts - dark) and (not dark or bool(light)) and 0 not in fields


def assert_whole(seat: Seat) -> None:
    """Nothing is cut, and nothing lies over another: of every text on the screen all lines are there."""
    screen = seat.console.screen
    window = screen.region
    leaves = [widget for widget in screen.walk_children(Widget) if widget.display and not widget.children]
    shown = [widget for widget in leaves if widget.region.area]
    for widget in shown:
        assert window.contains_region(widget.region), widget
        if isinstance(widget, Static):
            size = widget.content_size
            needed = widget.get_content_height(size, seat.console.size, size.width)
            assert needed <= size.height, f"{widget} is cut: {needed} lines in {size.height}"
    for at, one in enumerate(shown):
        for other in shown[at + 1 :]:
            assert not one.region.intersection(other.region).area, f"{one} lies over {other}"
    assert all(cell_len(line) <= window.width for line in seat.lines())


def test_no_state_is_told_by_colour_alone():
    """Whoever sees no colour sees the glyph and the word (tests/tui/test_look.py); the tones add nothing but colour."""
    assert {style.color.name for style in STYLES.values() if style.color} == {"green", "yellow", "red"}
