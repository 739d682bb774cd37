"""The three flows of docs/console.md, pressed as they stand there: no key that the screen does not show."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.test_console import Office, office
from tests.e2e.tmux import is_shown

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "console.md"


def script(title: str) -> str:
    """The keystrokes of a section of the page."""
    (section,) = re.findall(rf"^### {title}\n(.*?)(?=^##|\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    blocks = re.findall(r"^```keys\n(.*?)^```", section, re.M | re.S)
    assert blocks, title
    return "".join(blocks)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Office]:
    async with office(tmp_path) as made:
        yield made


async def test_let_n8n_use_the_box(here: Office):
    await here.admin.revoke_key("e2e")  # as on the first day
    await here.person.run(script("Let n8n use the box"))
    assert [key.name for key in (await here.admin.keys()).keys if key.state == "active"] == ["n8n"]


async def test_keep_health_data_local(here: Office):
    await here.person.run(script("Keep health data local"))
    assert (await here.admin.shield()).mode == "medical"


async def test_see_what_left_the_building_yesterday(here: Office):
    assert (await here.ask()).status_code == 200
    await here.person.run(script("See what left the building yesterday"))
    await here.person.sees("There is no such call")  # the one of today has stayed


@pytest.mark.parametrize(
    ("key", "screen", "shown"),
    [
        ("n", "enter details  n new key  X revoke", True),
        ("n", "enter details  X revoke", False),
        ("5", "No tool has a key yet: press 5, then n, and make one.", True),
        ("3", "1 Overview 2 Nodes 3 Shield", True),
        ("3", "30 questions", False),
        ("enter", "│ enter: do it, if the word is right   esc: change nothing │", True),
        ("down", "↑ ↓ move   enter choose", True),
        ("^s", "^s make it   esc change nothing", True),
        ("s", "^s make it   esc change nothing", False),
        ("/", "X revoke  / filter", True),
    ],
)
def test_a_key_is_shown_where_the_screen_names_it(key: str, screen: str, shown: bool):
    assert is_shown(key, screen) is shown
