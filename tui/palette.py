"""The command palette: the actions of the page that is shown and all pages, by their names."""

from collections.abc import Callable, Iterable
from functools import partial

from textual.app import SystemCommand

from tui import actions


def commands(page: str, press: Callable[[str], None], go: Callable[[str], None]) -> Iterable[SystemCommand]:
    """What can be found. `press` runs an action of the page by its name, `go` shows a page."""
    for action in (*actions.ON_PAGE[page], *actions.EVERYWHERE):
        if action.name != "command_palette":
            title = f"{action.label.capitalize()} ({action.shown_key})"
            yield SystemCommand(title, action.help, partial(press, action.name))
    for other in actions.PAGES:
        yield SystemCommand(f"Go to {other.title} ({other.key})", other.help, partial(go, other.name))
