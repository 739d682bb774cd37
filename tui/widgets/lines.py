"""The lines around every page: who we speak to and how it is, the pages, what was last said, the keys.

Each is text that changes only when what it tells has changed.
"""

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.geometry import Size
from textual.widgets import Static

from appliance.admin.client import looks
from tui import actions
from tui.feed import Picture
from tui.look import STYLES, Tone
from tui.widgets.table import cut


class TopLine(Static):
    """`● live`, or since when it is not."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._picture = Picture()
        self._shown = Text()

    def show(self, picture: Picture) -> None:
        self._picture = picture
        text = top_text(picture, self.screen.size.width)
        if text != self._shown:
            self._shown = text
            self.update(text, layout=False)  # always one line: nothing else has to move

    def on_resize(self) -> None:
        self.show(self._picture)


def top_text(picture: Picture, width: int) -> Text:
    status = picture.status
    about = (
        "Synapse" if status is None else f"Synapse {status.version} · {status.app_mode} · shield {status.shield_mode}"
    )
    if picture.stale is not None:
        since = picture.stale.strftime("%H:%M:%SZ")
        how, tone = (f"◌ stale since {since}" if status else f"✗ no {picture.missing}"), STYLES["bad"]
    elif status is None:
        how, tone = "◌ connecting", STYLES["dim"]
    elif picture.problem:
        how, tone = "✗ daemon in trouble", STYLES["bad"]
    else:
        how, tone = "● live", STYLES["good"]
    about = cut(about, max(width - cell_len(how) - 1, 0))
    room = max(width - cell_len(about) - cell_len(how), 1)
    return Text.assemble((about, STYLES["strong"]), " " * room, (how, tone))


class PageLine(Static):
    """Every page with its key; the one that is shown stands out."""

    def __init__(self, page: str) -> None:
        super().__init__(markup=False)
        self._page = page

    def on_resize(self) -> None:
        self.update(page_text(self._page, self.screen.size.width))


def page_text(shown: str, width: int) -> Text:
    titles = [page.title for page in actions.PAGES]
    if sum(len(title) + 3 for title in titles) - 1 > width:
        titles = [page.short for page in actions.PAGES]
    text = Text()
    for page, title in zip(actions.PAGES, titles, strict=True):
        here = page.name == shown
        text.append(f"{page.key} {title}", Style(reverse=True, bold=True) if here else STYLES["plain"])
        text.append(" ")
    return text[:-1]


class KeyLine(Static):
    """The keys of the page; those of everywhere at the end."""

    def __init__(self, page: str) -> None:
        super().__init__(markup=False)
        self._page = page

    def render(self) -> Text:
        return key_text(self._page, self.size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Of as many lines as it takes, before it is shown for the first time."""
        del container, viewport  # the width is all that counts
        return key_text(self._page, width).plain.count("\n") + 1


def key_text(page: str, width: int) -> Text:
    """In as many lines as it takes; a key and its label are never parted."""
    text, used = Text(), 0
    everywhere = [one for one in actions.EVERYWHERE if one.name != "reload"]
    for action in (*actions.ON_PAGE[page], *everywhere):
        key, label = action.shown_key, action.label
        length = cell_len(key) + 1 + cell_len(label)
        if used and used + 2 + length > width:
            text.append("\n")
            used = 0
        elif used:
            text.append("  ")
            used += 2
        text.append(key, STYLES["strong"])
        text.append(f" {label}", STYLES["plain"])
        used += length
    return text


class Notice(Static):
    """What was last done, or what went wrong and what to do about it. Nothing at first."""

    def __init__(self) -> None:
        super().__init__(markup=False)

    def say(self, sentence: str, tone: Tone = "good") -> None:
        glyph = {"good": "✓ ", "bad": "✗ ", "warn": "! "}.get(tone, "")
        self.update(Text(f"{glyph}{looks.printable(sentence)}", STYLES[tone]))
        self.display = True

    def clear(self) -> None:
        self.update("")
        self.display = False


class Block(Static):
    """Lines of text above a list. Painted again only where they have changed."""

    DEFAULT_CLASSES = "block"

    def __init__(self, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, markup=False)
        self._shown = Text()

    def show(self, text: Text) -> None:
        if text != self._shown:
            self._shown = text
            self.update(text)
