"""Providers."""

from typing import ClassVar

from tui import actions
from tui.screens.page import Page


class ProvidersPage(Page):
    NAME = "providers"
    BINDINGS: ClassVar = actions.bindings("providers")
