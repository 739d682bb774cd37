"""Models."""

from typing import ClassVar

from tui import actions
from tui.screens.page import Page


class ModelsPage(Page):
    NAME = "models"
    BINDINGS: ClassVar = actions.bindings("models")
