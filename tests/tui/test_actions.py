"""The registry is the one place of keys: it has to be complete, without doubles, and honest about what is dangerous."""

import inspect
from collections import Counter

import pytest

from tui import actions
from tui.app import Console
from tui.screens import page as pages
from tui.screens.page import Page

SCREENS = {screen.NAME: screen for screen in Page.__subclasses__()}


def test_every_page_has_a_screen_and_every_screen_a_page():
    assert [page.name for page in actions.PAGES] == list(actions.ON_PAGE)
    assert set(SCREENS) == set(actions.ON_PAGE)


@pytest.mark.parametrize("name", list(actions.ON_PAGE))
def test_no_key_means_two_things_on_a_page(name: str):
    keys = Counter(action.key for action in (*actions.ON_PAGE[name], *actions.EVERYWHERE))
    keys.update(page.key for page in actions.PAGES)
    assert [key for key, times in keys.items() if times > 1] == []


@pytest.mark.parametrize("name", list(actions.ON_PAGE))
def test_every_action_is_a_method_of_its_page(name: str):
    for action in actions.ON_PAGE[name]:
        assert callable(getattr(SCREENS[name], f"action_{action.name}", None)), action.name
    for action in actions.EVERYWHERE:
        assert callable(getattr(Console, f"action_{action.name}", None)), action.name


@pytest.mark.parametrize("name", list(actions.ON_PAGE))
def test_what_is_dangerous_asks_first(name: str):
    """A capital letter stands for it, and the method cannot do it without a question."""
    for action in actions.ON_PAGE[name]:
        if action.dangerous:
            source = inspect.getsource(getattr(SCREENS[name], f"action_{action.name}"))
            assert "self.ask(" in source, f"{name}: {action.name}"


def test_the_help_says_what_every_key_does_and_which_ask_first():
    lines = dict(actions.help_lines("keys"))
    assert lines["X"] == "Refuse the chosen key from the next request on. Asks first."
    assert lines["/"].startswith("Show only the lines that contain a text")
    assert lines["6"].startswith("Ledger: every call")
    assert all(sentence.endswith(".") for sentence in lines.values())


def test_the_rules_of_pages_are_kept_in_one_class():
    assert pages.Page.AUTO_FOCUS == ""  # a box that takes the focus by itself would take the keys of pages
