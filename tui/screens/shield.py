"""Shield."""

from typing import ClassVar

from tui import actions
from tui.screens.page import Page


class ShieldPage(Page):
    NAME = "shield"
    BINDINGS: ClassVar = actions.bindings("shield")
