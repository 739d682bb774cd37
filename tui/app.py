"""The console itself: its pages, the feed that keeps them fresh, and what holds on every page.

Must not know what a page shows.
"""

import asyncio
import signal
from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar, cast

from textual.app import SystemCommand
from textual.binding import BindingType
from textual.screen import Screen

from appliance.admin.client import Client
from tui import actions, palette
from tui.desk import Desk
from tui.driver import ForgivingDriver
from tui.feed import Feed, Picture
from tui.screens.audit import AuditPage
from tui.screens.certificates import CertificatesPage
from tui.screens.keys import KeysPage
from tui.screens.ledger import LedgerPage
from tui.screens.models import ModelsPage
from tui.screens.nodes import NodesPage
from tui.screens.overview import OverviewPage
from tui.screens.page import Page
from tui.screens.providers import ProvidersPage
from tui.screens.shield import ShieldPage
from tui.tools import Tools
from tui.typed import TypedApp
from tui.widgets.dialogs import Copy, Show

FIRST_PAGE = "overview"

_PAGES: tuple[type[Page], ...] = (
    OverviewPage,
    NodesPage,
    ShieldPage,
    ProvidersPage,
    KeysPage,
    LedgerPage,
    CertificatesPage,
    ModelsPage,
    AuditPage,
)


class Console(TypedApp):
    """`client` is open as long as the console runs."""

    CSS_PATH = "styles.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*actions.app_bindings()]
    TITLE = "Synapse"
    ENABLE_COMMAND_PALETTE = True
    DEFAULT_MODE = FIRST_PAGE

    def __init__(self, client: Client, tools: Tools) -> None:
        # The terminal's own sixteen colours: half the bytes of the other themes. Said to Textual before it looks at
        # NO_COLOR, or that would be black on black.
        super().__init__(driver_class=ForgivingDriver, ansi_color=True)
        self.theme = "ansi-dark"
        self.animation_level = "none"
        self._desk = Desk(client, tools, self.action_page)
        self._feed = Feed(client.events, self._changed, tools.now)
        for page in _PAGES:
            # Textual types it without what its screens return.
            self.add_mode(page.NAME, _maker(page, self._desk))  # pyright: ignore[reportUnknownMemberType]

    def on_mount(self) -> None:
        # The terminal is left as it was found. After SIGHUP there is none, and the process ends at once.
        leave = partial(self.exit, return_code=128 + signal.SIGTERM)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leave)
        self.run_worker(self._feed.run, group="feed")

    def action_page(self, name: str) -> None:
        if name != self._page.NAME:
            self._page.left()
        self.switch_mode(name)

    def action_reload(self) -> None:
        self._page.reload()

    def action_command_palette(self) -> None:
        # Over a dialog it would open another one, and what the dialog ends with would close the palette.
        if self.screen is self._page:
            super().action_command_palette()

    def action_help(self) -> None:
        keys = list(actions.help_lines(self._page.NAME))
        width = max(len(key) for key, _ in keys)
        title = next(page.title for page in actions.PAGES if page.name == self._page.NAME)
        self.push_screen(Show(f"{title}: keys", [f"{key:>{width}}  {sentence}" for key, sentence in keys]))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        del screen  # the page below it decides
        return palette.commands(self._page.NAME, self._press, self.action_page)

    def on_copy(self, message: Copy) -> None:
        self.copy_to_clipboard(message.text)

    async def _run(self, name: str) -> None:
        where = "app" if any(action.name == name for action in actions.EVERYWHERE) else "screen"
        await self.run_action(f"{where}.{name}")

    def _press(self, name: str) -> None:
        self.run_worker(partial(self._run, name))

    def _changed(self, before: Picture, now: Picture) -> None:
        self._desk.picture = now
        if not self.is_running or not self.screen_stack:
            return  # the console is being left
        page = self._page
        if page.is_mounted:  # else it takes the picture from the desk, as soon as it is
            page.show_top()
            page.connection_changed(before, now)
            page.picture_changed(before, now)

    @property
    def _page(self) -> Page:
        """Below whatever dialog is open."""
        return cast(Page, self.screen_stack[0])


def _maker(page: type[Page], desk: Desk) -> Callable[[], Screen[None]]:
    return lambda: page(desk)
